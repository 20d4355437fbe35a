/* Golden pictures: files of tests/golden/pictures and what expected.txt says of them. */
#ifndef STK_TEST_GOLDEN_H
#define STK_TEST_GOLDEN_H

#include <sys/mman.h>
#include <unistd.h>

#include <stoker/codec.h>

#include "base/hash.h"
#include "codec/codec_table.h"
#include "support/test.h"

#define GOLDEN_PICTURES STK_TEST_SOURCE_DIR "/tests/golden/pictures/"

/* A file that ends where its page ends, with a page behind it that may not be touched: libraries
 * that no sanitizer looks into fault on one byte too far, too. */
typedef struct blob {
    uint8_t *data;
    size_t size;
    void *pages;
    size_t pages_bytes;
} blob;

static inline blob blob_new(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (size + page - 1) / page * page;
    blob b = {.size = size, .pages_bytes = whole + page};

    b.pages = mmap(NULL, b.pages_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(b.pages != MAP_FAILED);
    b.data = (uint8_t *)b.pages + whole - size;
    assert_int_equal(mprotect((uint8_t *)b.pages + whole, page, PROT_NONE), 0);
    return b;
}

static inline void blob_free(blob b)
{
    assert_int_equal(munmap(b.pages, b.pages_bytes), 0);
}

static inline blob blob_read(const char *name)
{
    char path[512];
    blob b;
    FILE *file;
    long size;

    snprintf(path, sizeof path, GOLDEN_PICTURES "%s", name);
    file = fopen(path, "rb");
    if (file == NULL)
        fail_msg("cannot open %s", path);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size = ftell(file);
    assert_true(size >= 0);
    rewind(file);
    b = blob_new((size_t)size);
    assert_int_equal(fread(b.data, 1, b.size, file), b.size);
    fclose(file);
    return b;
}

/* The first bytes of another one. */
static inline blob blob_prefix(blob from, size_t size)
{
    blob b = blob_new(size);

    memcpy(b.data, from.data, size);
    return b;
}

static inline stk_view blob_view(blob b)
{
    return (stk_view){b.data, b.size};
}

/* Is the library for a format part of this build? Told by the end of a file's name. */
static inline bool golden_is_built(const char *name)
{
    const char *dot = strrchr(name, '.');

    for (size_t i = 0; i < STK__CODEC_COUNT; i++) {
        const stk__codec *codec = stk__codecs[i];
        bool its_own = strcmp(codec->name, "jpeg") == 0 ? strcmp(dot + 1, "jpg") == 0
                                                        : strcmp(dot + 1, codec->name) == 0;

        if (its_own)
            return codec->missing == NULL;
    }
    return true;
}

/* Pixels that a decoder hands out, packed. */
typedef struct pixels {
    uint8_t *data;
    stk_rect rect;
    stk__pixels kind;
    uint32_t rows; /* so far */
    uint32_t calls;
} pixels;

static inline stk_status pixels_take(
    void *ctx, const uint8_t *rows, size_t pitch_bytes, uint32_t count, stk_error *err)
{
    pixels *p = ctx;
    size_t row_bytes = (size_t)p->rect.width * p->kind;
    (void)err;

    assert_true(count > 0 && count <= p->rect.height - p->rows);
    for (uint32_t i = 0; i < count; i++)
        memcpy(p->data + (p->rows + i) * row_bytes, rows + i * pitch_bytes, row_bytes);
    p->rows += count;
    p->calls++;
    return STK_OK;
}

static inline pixels pixels_new(stk_rect rect, stk__pixels kind)
{
    pixels p = {.rect = rect, .kind = kind};

    p.data = malloc((size_t)rect.width * rect.height * kind);
    assert_non_null(p.data);
    return p;
}

/* begin and read of one picture; `rect` of width 0: all of it. data is NULL after a failure. */
static inline stk_status pixels_decode(stk__decoder *decoder, stk_view encoded, stk_rect rect,
    stk__pixels kind, pixels *out, stk_error *err)
{
    stk_image_info info;
    stk__row_sink sink;
    stk_status st = stk__decoder_begin(decoder, encoded, &info, err);

    *out = (pixels){0};
    if (st < 0)
        return st;
    if (rect.width == 0)
        rect = (stk_rect){.width = info.width, .height = info.height};
    *out = pixels_new(rect, kind);
    sink = (stk__row_sink){.ctx = out, .rows = pixels_take};
    st = stk__decoder_read(decoder, &rect, kind, &sink, err);
    if (st < 0) {
        free(out->data);
        out->data = NULL;
    } else {
        assert_int_equal(out->rows, rect.height);
    }
    return st;
}

/* A rectangle inside width x height; often small, often at an edge. */
static inline stk_rect rect_random(rng *r, uint32_t width, uint32_t height)
{
    stk_rect rect;

    rect.width = 1 + (uint32_t)rng_below(r, rng_below(r, 3) > 0 || width < 9 ? width : 9);
    rect.height = 1 + (uint32_t)rng_below(r, rng_below(r, 3) > 0 || height < 9 ? height : 9);
    rect.left = (uint32_t)rng_below(r, width - rect.width + 1);
    rect.top = (uint32_t)rng_below(r, height - rect.height + 1);
    return rect;
}

/* Are the pixels of `part` those of the same place in `whole`? The fourth byte is not compared. */
static inline bool pixels_same(const pixels *part, const pixels *whole)
{
    for (uint32_t y = 0; y < part->rect.height; y++) {
        for (uint32_t x = 0; x < part->rect.width; x++) {
            const uint8_t *a = part->data + ((size_t)y * part->rect.width + x) * part->kind;
            const uint8_t *b = whole->data + ((size_t)(part->rect.top + y) * whole->rect.width +
                                                 part->rect.left + x) *
                                                 whole->kind;
            if (memcmp(a, b, 3) != 0)
                return false;
        }
    }
    return true;
}

/* Crops of all sizes, in both kinds of pixels, have the pixels of the whole picture. */
static inline void check_crops(stk__decoder *decoder, const char *name, rng *r, int count)
{
    blob file = blob_read(name);
    pixels whole, part;

    assert_int_equal(
        pixels_decode(decoder, blob_view(file), (stk_rect){0}, STK__RGB8, &whole, NULL), STK_OK);
    for (int i = 0; i < count; i++) {
        stk_rect rect = rect_random(r, whole.rect.width, whole.rect.height);
        stk__pixels kind = rng_below(r, 2) > 0 ? STK__RGBX8 : STK__RGB8;

        assert_int_equal(pixels_decode(decoder, blob_view(file), rect, kind, &part, NULL), STK_OK);
        if (!pixels_same(&part, &whole))
            fail_msg("%s: crop of %u x %u at (%u, %u) differs", name, rect.width, rect.height,
                rect.left, rect.top);
        free(part.data);
    }
    free(whole.data);
    blob_free(file);
}

/*
 * Every beginning of a file is an error, or (from `enough` bytes on) the whole picture; both for
 * all of it and for its first row alone.
 */
static inline void check_prefixes(stk__decoder *decoder, const char *name, size_t enough)
{
    blob file = blob_read(name);
    pixels whole, part;

    assert_int_equal(
        pixels_decode(decoder, blob_view(file), (stk_rect){0}, STK__RGB8, &whole, NULL), STK_OK);
    for (size_t size = 0; size < file.size; size++) {
        blob prefix = blob_prefix(file, size);
        stk_rect rects[] = {{0}, {.width = whole.rect.width, .height = 1}};

        for (size_t i = 0; i < COUNT_OF(rects); i++) {
            stk_error err = STK_ERROR_INIT;
            stk_status st =
                pixels_decode(decoder, blob_view(prefix), rects[i], STK__RGB8, &part, &err);

            if (st >= 0 && (size < enough || !pixels_same(&part, &whole)))
                fail_msg("%s: %zu of %zu bytes were taken for whole", name, size, file.size);
            if (st < 0)
                assert_int_equal(st, STK_ECORRUPT);
            if (st < 0 && err.offset > size)
                fail_msg("%s: %zu bytes, error at %zu", name, size, (size_t)err.offset);
            free(part.data);
        }
        blob_free(prefix);
    }
    free(whole.data);
    blob_free(file);
}

/* Any bit may be wrong: whatever comes of it, nothing is read or written out of place, nothing is
 * lost, and a failure has a text. Sizes that a flip makes enormous are not tried. */
static inline void check_flips(const char *name, rng *r, int count)
{
    stk_limits limits = STK_LIMITS_INIT;
    blob file = blob_read(name);
    stk__heap heap = {0};
    stk__decoder *decoder;

    limits.max_pixels = 1u << 20;
    assert_int_equal(stk__decoder_new(&heap, &limits, &decoder, NULL), STK_OK);
    for (int i = 0; i < count; i++) {
        blob copy = blob_prefix(file, file.size);
        stk_error err = STK_ERROR_INIT;
        pixels part;

        for (uint64_t flips = 1 + rng_below(r, 3); flips > 0; flips--)
            copy.data[rng_below(r, copy.size)] ^= (uint8_t)(1u << rng_below(r, 8));
        if (pixels_decode(decoder, blob_view(copy), (stk_rect){0}, STK__RGBX8, &part, &err) < 0)
            assert_true(err.text[0] != '\0');
        free(part.data);
        blob_free(copy);
    }
    stk__decoder_free(decoder);
    assert_true(stk__load_relaxed_u64(&heap.used_bytes) == 0);
    blob_free(file);
}

/* For group set-up and tear-down: a decoder on a heap of its own, and the seed of the group. */
typedef struct bench {
    stk__heap heap;
    stk__decoder *decoder;
    rng random;
} bench;

static inline int bench_set_up(void **state)
{
    static bench b;

    b = (bench){.random = rng_seed()};
    assert_int_equal(stk__decoder_new(&b.heap, NULL, &b.decoder, NULL), STK_OK);
    *state = &b;
    return 0;
}

static inline int bench_tear_down(void **state)
{
    bench *b = *state;

    stk__decoder_free(b->decoder);
    assert_true(stk__load_relaxed_u64(&b->heap.used_bytes) == 0);
    return 0;
}

#endif
