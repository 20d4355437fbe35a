/* Without these: a pass over a shard hands out the bytes of another member, or ends early without a
 * word when the shard is cut. */
#include <stoker/dataset.h>

#include "support/describe.h"
#include "support/make_tar.h"
#include "support/temp_tree.h"
#include "support/test.h"

static int make_place(void **state)
{
    *state = make_temp_folder();
    setenv("XDG_CACHE_HOME", in_folder(*state, ".cache"), 1);
    return 0;
}

static int remove_place(void **state)
{
    remove_tree(*state);
    return 0;
}

static stk_dataset *open_all(const char *const *where, size_t count)
{
    stk_error err = STK_ERROR_INIT;
    stk_dataset *ds = NULL;
    char line[1024];

    if (stk_dataset_open(where, count, NULL, &ds, &err) < 0) {
        stk_error_format(&err, line, sizeof line);
        fail_msg("%s", line);
    }
    return ds;
}

/* Bytes that tell a member from all others and from its own shifted self. */
static void fill(unsigned char *data, size_t size, uint64_t seed)
{
    rng r = {seed};

    rng_fill(&r, data, size);
}

/* A shard of `samples` with bin fields of up to `most` bytes, of which `seed` knows the contents.
 */
static void save_shard(const char *path, uint64_t seed, int samples, size_t most)
{
    unsigned char *data = malloc(most + 1);
    rng r = {seed};
    made_tar t = {0};
    char name[32];

    for (int i = 0; i < samples; i++) {
        for (int k = 0; k < 3; k++) {
            size_t size = rng_below(&r, 4) == 0 ? 0 : rng_below(&r, most + 1);

            fill(data, size, seed * 1000003 + (uint64_t)i * 10 + (uint64_t)k);
            snprintf(name, sizeof name, "%06d.%d", i, k);
            if (k < 2 || i % 3 == 0)
                tar_file(&t, name, data, size);
        }
    }
    tar_end(&t);
    save_file(path, t.data, t.size);
    tar_free(&t);
    free(data);
}

/* A pass must hand out what one read after the other does. */
static void assert_scans(stk_dataset *ds, uint64_t first, uint64_t last)
{
    stk_scan *scan;
    stk_sample sample, expected;
    const stk_sample_field *fields;
    const stk_view *data;
    stk_sample_field field;

    assert_int_equal(stk_scan_open(ds, first, last, &scan, NULL), STK_OK);
    for (uint64_t i = first; i < last; i++) {
        assert_int_equal(stk_scan_next(scan, &sample, &fields, &data, NULL), STK_OK);
        assert_int_equal(stk_dataset_sample(ds, i, &expected, NULL), STK_OK);
        assert_int_equal(sample.index, i);
        assert_int_equal(sample.shard, expected.shard);
        assert_int_equal(sample.label, expected.label);
        assert_int_equal(sample.field_count, expected.field_count);
        assert_int_equal(sample.key.size, expected.key.size);
        assert_memory_equal(sample.key.data, expected.key.data, sample.key.size);
        for (uint32_t k = 0; k < sample.field_count; k++) {
            unsigned char *bytes;

            assert_int_equal(stk_dataset_sample_field(ds, i, k, &field, NULL), STK_OK);
            assert_int_equal(fields[k].field_id, field.field_id);
            assert_int_equal(fields[k].offset, field.offset);
            assert_int_equal(data[k].size, field.size_bytes);
            bytes = malloc(data[k].size + 1);
            assert_int_equal(stk_dataset_read(ds, field.source, field.offset,
                                 (stk_span){bytes, data[k].size}, NULL),
                STK_OK);
            assert_memory_equal(bytes, data[k].data, data[k].size);
            free(bytes);
        }
    }
    assert_int_equal(stk_scan_next(scan, &sample, &fields, &data, NULL), STK_END);
    assert_int_equal(stk_scan_next(scan, &sample, &fields, &data, NULL), STK_END);
    stk_scan_close(scan);
}

static void hands_out_what_single_reads_do(void **state)
{
    const char *where[4] = {in_folder(*state, "0.tar"), in_folder(*state, "1.tar"),
        in_folder(*state, "2.tar"), in_folder(*state, "3.tar")};
    rng r = rng_seed();
    stk_dataset *ds;
    uint64_t count;

    save_shard(where[0], 1, 300, 2000);
    save_shard(where[1], 2, 0, 10);      /* no sample at all */
    save_shard(where[2], 3, 8, 3 << 20); /* samples longer than a window */
    save_shard(where[3], 4, 2000, 1500); /* more than a window */
    ds = open_all(where, 4);
    count = stk_dataset_count(ds);
    assert_scans(ds, 0, count);
    for (int round = 0; round < 30; round++) {
        uint64_t first = rng_below(&r, count + 1);
        assert_scans(
            ds, first, first + rng_below(&r, (count - first < 400 ? count - first : 400) + 1));
    }
    stk_dataset_unref(ds);
}

static void links_that_lead_far_back_are_followed(void **state)
{
    const char *path = in_folder(*state, "x.tar");
    unsigned char *data = malloc(400000);
    made_tar t = {0};
    char name[32];
    stk_dataset *ds;

    for (int i = 0; i < 12; i++) {
        fill(data, 400000, (uint64_t)i);
        snprintf(name, sizeof name, "%02d.bin", i);
        tar_file(&t, name, data, 400000);
        snprintf(name, sizeof name, "%02d.same", i);
        tar_link(&t, name, '1', i % 2 == 0 ? "00.bin" : "01.bin");
    }
    tar_end(&t);
    save_file(path, t.data, t.size);
    tar_free(&t);
    free(data);
    ds = open_all(&path, 1);
    assert_int_equal(stk_dataset_count(ds), 12);
    assert_scans(ds, 0, 12);
    stk_dataset_unref(ds);
}

static void folders_are_scanned_too(void **state)
{
    const char *folder = in_folder(*state, "d");
    char path[600];
    stk_dataset *ds;

    make_folder(folder);
    make_folder(in_folder(*state, "d/a"));
    make_folder(in_folder(*state, "d/b"));
    for (int i = 0; i < 100; i++) {
        snprintf(path, sizeof path, "%s/%c/%d.%s", folder, i % 3 == 0 ? 'a' : 'b', i / 2,
            i % 2 == 0 ? "jpg" : "txt");
        save_file(path, path, (size_t)i);
    }
    ds = open_all(&folder, 1);
    assert_scans(ds, 0, stk_dataset_count(ds));
    stk_dataset_unref(ds);
}

/* What stands before the cut is delivered; each sample behind it fails by itself, with its name. */
static void a_shard_that_was_cut_meanwhile_fails_sample_by_sample(void **state)
{
    const char *path = in_folder(*state, "x.tar");
    stk_error err = STK_ERROR_INIT;
    stk_sample sample;
    const stk_sample_field *fields;
    const stk_view *data;
    stk_dataset *ds;
    stk_scan *scan;
    made_tar t = {0};

    tar_text(&t, "a.txt", "A");
    tar_text(&t, "b.txt", "B");
    tar_text(&t, "c.txt", "C");
    tar_text(&t, "d.txt", "");
    tar_end(&t);
    save_file(path, t.data, t.size);
    tar_free(&t);
    ds = open_all(&path, 1);
    assert_int_equal(truncate(path, 1024 + 512 + 1), 0);
    assert_int_equal(stk_scan_open(ds, 0, 4, &scan, NULL), STK_OK);
    assert_int_equal(stk_scan_next(scan, &sample, &fields, &data, NULL), STK_OK);
    assert_int_equal(stk_scan_next(scan, &sample, &fields, &data, NULL), STK_OK);
    assert_memory_equal(data[0].data, "B", 1);
    assert_int_equal(stk_scan_next(scan, &sample, &fields, &data, &err), STK_ECORRUPT);
    assert_string_equal(err.key, "c");
    assert_string_equal(err.source, path);
    assert_string_equal(err.shard, "x.tar");
    assert_int_equal(err.sample, 2);
    assert_int_equal(stk_scan_next(scan, &sample, &fields, &data, NULL), STK_OK); /* no bytes */
    assert_int_equal(data[0].size, 0);
    assert_int_equal(stk_scan_next(scan, &sample, &fields, &data, NULL), STK_END);
    stk_scan_close(scan);
    stk_dataset_unref(ds);
}

static void a_field_over_the_limit_is_refused_before_it_is_read(void **state)
{
    const char *path = in_folder(*state, "x.tar");
    stk_dataset_options options = STK_DATASET_OPTIONS_INIT;
    stk_limits limits = STK_LIMITS_INIT;
    stk_error err = STK_ERROR_INIT;
    stk_sample sample;
    const stk_sample_field *fields;
    const stk_view *data;
    stk_dataset *ds;
    stk_scan *scan;

    save_shard(path, 5, 1, 0);
    {
        made_tar t = {0};
        tar_text(&t, "a.txt", "0123456789");
        tar_text(&t, "b.txt", "01234567890");
        tar_end(&t);
        save_file(path, t.data, t.size);
        tar_free(&t);
    }
    limits.max_member_bytes = 10;
    options.limits = &limits;
    assert_int_equal(stk_dataset_open(&path, 1, &options, &ds, NULL), STK_OK);
    assert_int_equal(stk_scan_open(ds, 0, 2, &scan, NULL), STK_OK);
    assert_int_equal(stk_scan_next(scan, &sample, &fields, &data, NULL), STK_OK);
    assert_int_equal(stk_scan_next(scan, &sample, &fields, &data, &err), STK_ELIMIT);
    assert_non_null(strstr(err.text, "max_member_bytes"));
    stk_scan_close(scan);
    stk_dataset_unref(ds);
}

static void the_range_must_lie_in_the_dataset(void **state)
{
    const char *path = in_folder(*state, "x.tar");
    stk_dataset *ds;
    stk_scan *scan = NULL;

    save_shard(path, 1, 3, 10);
    ds = open_all(&path, 1);
    assert_int_equal(stk_scan_open(ds, 0, 4, &scan, NULL), STK_ERANGE);
    assert_int_equal(stk_scan_open(ds, 2, 1, &scan, NULL), STK_ERANGE);
    assert_null(scan);
    assert_int_equal(stk_scan_open(ds, 3, 3, &scan, NULL), STK_OK);
    stk_dataset_unref(ds); /* the scan has a reference of its own */
    {
        stk_sample sample;
        const stk_sample_field *fields;
        const stk_view *data;
        assert_int_equal(stk_scan_next(scan, &sample, &fields, &data, NULL), STK_END);
    }
    stk_scan_close(scan);
    stk_scan_close(NULL);
}

#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PLACE(hands_out_what_single_reads_do),
        WITH_PLACE(links_that_lead_far_back_are_followed),
        WITH_PLACE(folders_are_scanned_too),
        WITH_PLACE(a_shard_that_was_cut_meanwhile_fails_sample_by_sample),
        WITH_PLACE(a_field_over_the_limit_is_refused_before_it_is_read),
        WITH_PLACE(the_range_must_lie_in_the_dataset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
