/* Without these: a transposed or big-endian array has the right shape and wrong places, and a short
 * file is read past its end. Files are those of tests/golden/arrays, made by NumPy. */
#include <stoker/codec.h>

#include "base/hash.h"
#include "support/test.h"

#define GOLDEN_ARRAYS STK_TEST_SOURCE_DIR "/tests/golden/arrays/"

static uint8_t *read_file(const char *name, size_t *size_out)
{
    char path[512];
    FILE *file;
    uint8_t *data;
    long size;

    snprintf(path, sizeof path, GOLDEN_ARRAYS "%s", name);
    file = fopen(path, "rb");
    if (file == NULL)
        fail_msg("cannot open %s", path);
    fseek(file, 0, SEEK_END);
    size = ftell(file);
    rewind(file);
    data = malloc(size > 0 ? (size_t)size : 1);
    assert_int_equal(fread(data, 1, (size_t)size, file), size);
    fclose(file);
    *size_out = (size_t)size;
    return data;
}

/* "name STK_OK dtype (shape) crc" */
static void check_good(const char *name, const char *dtype, const char *shape, uint32_t crc)
{
    stk_error err = STK_ERROR_INIT;
    stk_npy_info info;
    char got[128];
    size_t size, bytes;
    uint8_t *file = read_file(name, &size);
    uint8_t *data;
    int used = snprintf(got, sizeof got, "(");

    if (stk_npy_probe((stk_view){file, size}, NULL, &info, &err) < 0)
        fail_msg("%s: %s", name, err.text);
    assert_string_equal(stk_dtype_name(info.dtype), dtype);
    for (uint32_t i = 0; i < info.ndim; i++)
        used += snprintf(
            got + used, sizeof got - (size_t)used, "%llu,", (unsigned long long)info.shape[i]);
    snprintf(got + used, sizeof got - (size_t)used, ")");
    assert_string_equal(got, shape);

    bytes = (size_t)info.count * stk_dtype_bytes(info.dtype);
    data = malloc(bytes + 1); /* one byte off, so that no alignment is relied on */
    if (bytes > 0)
        assert_int_equal(
            stk_npy_read((stk_view){file, size}, NULL, (stk_span){data + 1, bytes - 1}, &err),
            STK_ESHAPE);
    assert_int_equal(
        stk_npy_read((stk_view){file, size}, NULL, (stk_span){data + 1, bytes}, &err), STK_OK);
    if (stk__crc32c(0, data + 1, bytes) != crc)
        fail_msg("%s: elements have CRC %08x", name, stk__crc32c(0, data + 1, bytes));
    free(data);
    free(file);
}

static void check_bad(const char *name, const char *status, long offset, const char *words)
{
    stk_error err = STK_ERROR_INIT;
    stk_npy_info info;
    size_t size;
    uint8_t *file = read_file(name, &size);
    stk_status st = stk_npy_probe((stk_view){file, size}, NULL, &info, &err);

    if (strcmp(stk_status_name(st), status) != 0 || strstr(err.text, words) == NULL ||
        err.offset != (uint64_t)offset)
        fail_msg("%s: %s at %u: %s", name, stk_status_name(st), (unsigned)err.offset, err.text);
    free(file);
}

static void every_golden_array_is_as_expected(void **state)
{
    FILE *list = fopen(GOLDEN_ARRAYS "expected.txt", "r");
    char line[512], name[64], status[24], dtype[24], shape[64];
    int count = 0;
    (void)state;

    assert_non_null(list);
    while (fgets(line, sizeof line, list) != NULL) {
        unsigned crc;
        long offset;

        if (line[0] == '#')
            continue;
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%63s STK_OK %23s %63s %x", name, dtype, shape, &crc) == 4) {
            check_good(name, dtype, shape, crc);
        } else {
            assert_int_equal(sscanf(line, "%63s %23s %ld", name, status, &offset), 3);
            check_bad(name, status, offset, strstr(line, " :") + 2);
        }
        count++;
    }
    fclose(list);
    assert_true(count > 20);
}

static void every_cut_is_an_error_with_its_place(void **state)
{
    size_t size;
    uint8_t *file = read_file("c63.npy", &size);
    (void)state;

    for (size_t there = 0; there < size; there++) {
        stk_error err = STK_ERROR_INIT;
        stk_npy_info info;
        uint8_t *prefix = malloc(there > 0 ? there : 1);

        memcpy(prefix, file, there);
        assert_int_equal(stk_npy_probe((stk_view){prefix, there}, NULL, &info, &err), STK_ECORRUPT);
        assert_int_equal(err.offset, there < 6 ? 0 : there);
        free(prefix);
    }
    free(file);
}

/* All axes up to 4, against an index computed for each element. */
static void fortran_order_is_turned(void **state)
{
    rng r = rng_seed();
    (void)state;

    for (int round = 0; round < 200; round++) {
        char file[512 + 5 * 5 * 5 * 5 * 2];
        uint64_t shape[4] = {1, 1, 1, 1};
        uint16_t got[5 * 5 * 5 * 5];
        uint32_t ndim = 2 + (uint32_t)rng_below(&r, 3);
        uint64_t count = 1;
        bool big = rng_below(&r, 2) > 0;
        int used;

        for (uint32_t i = 0; i < ndim; i++)
            count *= shape[i] = 1 + rng_below(&r, 5);
        memcpy(file, "\x93NUMPY\1\0", 8);
        used = snprintf(file + 10, 200, "{'descr': '%cu2', 'fortran_order': True, 'shape': (%u, %u",
            big ? '>' : '<', (unsigned)shape[0], (unsigned)shape[1]);
        for (uint32_t i = 2; i < ndim; i++)
            used += snprintf(file + 10 + used, 100, ", %u", (unsigned)shape[i]);
        used += snprintf(file + 10 + used, 100, ")}");
        file[8] = (char)used;
        file[9] = 0;
        for (uint64_t i = 0; i < count; i++) {
            file[10 + used + 2 * (int)i] = (char)(big ? i >> 8 : i);
            file[11 + used + 2 * (int)i] = (char)(big ? i : i >> 8);
        }
        assert_int_equal(stk_npy_read((stk_view){file, 10 + (size_t)used + count * 2}, NULL,
                             (stk_span){got, sizeof got}, NULL),
            STK_OK);
        for (uint64_t i = 0; i < count; i++) {
            uint64_t rest = i, stored = 0, index[4];

            for (uint32_t axis = ndim; axis-- > 0; rest /= shape[axis])
                index[axis] = rest % shape[axis];
            for (uint32_t axis = ndim; axis-- > 0;)
                stored = stored * shape[axis] + index[axis];
            assert_int_equal(got[i], stored);
        }
    }
}

static void the_limit_on_headers_is_kept(void **state)
{
    stk_limits limits = STK_LIMITS_INIT;
    stk_error err = STK_ERROR_INIT;
    stk_npy_info info;
    size_t size;
    uint8_t *file = read_file("c63.npy", &size);
    (void)state;

    limits.max_header_bytes = 40;
    assert_int_equal(stk_npy_probe((stk_view){file, size}, &limits, &info, &err), STK_ELIMIT);
    assert_non_null(strstr(err.text, "max_header_bytes"));
    free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_golden_array_is_as_expected),
        cmocka_unit_test(every_cut_is_an_error_with_its_place),
        cmocka_unit_test(fortran_order_is_turned),
        cmocka_unit_test(the_limit_on_headers_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
