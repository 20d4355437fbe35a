/*
 * Fuzz target: the tar reader, over memory.
 *
 * Members lie one behind the other inside the input and their data are the bytes that stand there;
 * reading with data and without gives the same members; a reader that ended or failed stays so; no
 * more memory is taken than the input can account for.
 */
#include "archive/tar_head.h"
#include "archive/tar_read.h"
#include "base/hash.h"
#include "fuzz_target.h"

/* A member lies behind all before it, and its bytes inside the input. */
static void check_place(const stk_member *m, uint64_t end, size_t size)
{
    bool has_data =
        m->kind == STK_MEMBER_FILE || (m->kind == STK_MEMBER_HARD_LINK && m->data_offset != 0);

    FUZZ_CHECK(m->header_offset >= end && m->header_offset % STK__TAR_BLOCK == 0);
    FUZZ_CHECK(m->header_offset + STK__TAR_BLOCK <= size);
    if (!has_data) {
        FUZZ_CHECK(m->size_bytes == 0);
        return;
    }
    FUZZ_CHECK(m->data_offset <= size && m->size_bytes <= size - m->data_offset);
    FUZZ_CHECK(m->data_offset >= STK__TAR_BLOCK && m->data_offset % STK__TAR_BLOCK == 0);
    if (m->kind == STK_MEMBER_FILE)
        FUZZ_CHECK(m->data_offset >= m->header_offset + STK__TAR_BLOCK);
}

/* The first byte that the next header may stand at. */
static uint64_t end_of(const stk_member *m)
{
    if (m->size_bytes > 0 && m->data_offset > m->header_offset)
        return m->data_offset + m->size_bytes;
    return m->header_offset + STK__TAR_BLOCK;
}

static void check_names(const stk_member *m)
{
    stk_view key, field;

    FUZZ_CHECK(m->name.size == 0 || memchr(m->name.data, '\0', m->name.size) == NULL);
    FUZZ_CHECK(m->link.size == 0 || memchr(m->link.data, '\0', m->link.size) == NULL);
    if (!stk_name_split(m->name, &key, &field))
        return;
    FUZZ_CHECK(key.data == m->name.data && key.size > 0);
    FUZZ_CHECK(key.size + 1 + field.size == m->name.size);
    FUZZ_CHECK((const char *)field.data == (const char *)key.data + key.size + 1);
    FUZZ_CHECK(memchr(field.data, '/', field.size) == NULL);
}

static void check_data(const stk_member *m, const uint8_t *bytes, bool asked)
{
    bool expected = asked && (m->kind == STK_MEMBER_FILE ||
                                 (m->kind == STK_MEMBER_HARD_LINK && m->data_offset != 0));

    FUZZ_CHECK((m->data.data != NULL) == expected);
    FUZZ_CHECK(m->data.size == (expected ? m->size_bytes : 0));
    if (m->data.size > 0)
        FUZZ_CHECK(memcmp(m->data.data, bytes + m->data_offset, m->data.size) == 0);
}

/* After the end and after a failure: the same again. */
static void check_end(stk_tar *tar, stk_status st, const stk_error *err, size_t size)
{
    stk_error again = STK_ERROR_INIT;
    stk_member member;

    FUZZ_CHECK(stk_tar_next(tar, &member, &again) == st);
    if (st == STK_END)
        return;
    FUZZ_CHECK(st == STK_ECORRUPT || st == STK_ENOTSUP || st == STK_ELIMIT);
    FUZZ_CHECK(err->has_offset && err->offset <= size && err->text[0] != '\0');
    FUZZ_CHECK(again.offset == err->offset && strcmp(again.text, err->text) == 0);
}

/* A fingerprint of all that was told about the members. */
static stk__fingerprint read_all(stk_view bytes, stk_tar_options options)
{
    stk__heap heap = {0};
    stk_error err = STK_ERROR_INIT;
    stk__fingerprint print = {0};
    stk_tar *tar = NULL;
    stk_member m;
    uint64_t end = 0;
    stk_status st = stk__tar_open_memory(&heap, &bytes, "fuzz.tar", &options, &tar, &err);

    FUZZ_CHECK((st == STK_OK) == (tar != NULL));
    stk__fingerprint_add_u64(&print, (uint64_t)(int64_t)st);
    while (tar != NULL) {
        st = stk_tar_next(tar, &m, &err);
        if (st != STK_OK)
            break;
        check_place(&m, end, bytes.size);
        check_names(&m);
        check_data(&m, bytes.data, options.data);
        end = end_of(&m);
        stk__fingerprint_add(&print, m.name.data, m.name.size);
        stk__fingerprint_add(&print, m.link.data, m.link.size);
        stk__fingerprint_add_u64(&print, m.header_offset ^ (uint64_t)m.kind << 60);
        stk__fingerprint_add_u64(&print, m.data_offset);
        stk__fingerprint_add_u64(&print, m.size_bytes);
    }
    if (tar != NULL) {
        stk__fingerprint_add_u64(&print, (uint64_t)(int64_t)st);
        check_end(tar, st, &err, bytes.size);
    }
    stk_tar_close(tar);
    FUZZ_CHECK(heap.used_bytes == 0);
    FUZZ_CHECK(heap.peak_bytes <= 4 * (uint64_t)bytes.size + 65536);
    return print;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    stk_limits limits = STK_LIMITS_INIT;
    stk_tar_options options = STK_TAR_OPTIONS_INIT;
    uint8_t *exact = fuzz_exact(data, size);

    limits.max_header_bytes = 4096;
    options.limits = &limits;
    for (int concatenated = 0; concatenated < 2; concatenated++) {
        stk__fingerprint with, without;

        options.concatenated = concatenated == 1;
        options.data = true;
        with = read_all((stk_view){exact, size}, options);
        options.data = false;
        without = read_all((stk_view){exact, size}, options);
        FUZZ_CHECK(with.a == without.a && with.b == without.b);
    }
    free(exact);
    return 0;
}

#if defined(STK_LIBFUZZER)

#    include <stdio.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* A changed header nearly always fails at its checksum: make that of most of them good again. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    size = LLVMFuzzerMutate(data, size, max_size);
    if (seed % 8 == 0)
        return size;
    for (size_t at = 0; at + STK__TAR_BLOCK <= size; at += STK__TAR_BLOCK) {
        char number[16];

        if (!stk__tar_head_has_magic(data + at))
            continue;
        snprintf(number, sizeof number, "%06o", (unsigned)stk__tar_head_sum(data + at));
        memcpy(data + at + 148, number, 7);
        data[at + 155] = ' ';
    }
    return size;
}
#endif
