/*
 * PNG through libpng; the only file that includes it.
 *
 * The library is given signature and critical chunks alone (png_chunks.h) and all its memory comes
 * from an arena, also that of zlib inside it. It has no way to be used for a second picture, so it
 * is made anew for each; that costs some microseconds and no allocation.
 *
 * All rows are decoded, those of the crop are handed on: what is damaged below a crop is found, and
 * the sums over the data are checked. A file that ends right after its image data, without IEND, is
 * taken: all rows are there. 16 bits become 8 by their high byte.
 */
#include <png.h>
#include <setjmp.h>
#include <stdio.h>

#include "base/error.h"
#include "base/size.h"
#include "codec/codec_table.h"
#include "codec/decode_arena.h"
#include "codec/png_chunks.h"
#include "codec/sniff.h"

enum {
    STRIP_ROWS = 16,
    STRIP_BYTES = 32 << 10,
    DEFLATE_RATIO = 1032, /* the most that deflate can do: 258 bytes for 2 bits */
};

typedef struct png {
    stk__heap *heap;
    stk_limits limits;
    stk__arena arena;
    jmp_buf trap;    /* where the library leaves to */
    stk_status st;   /* of the call in progress */
    stk_error *err;  /* of the call in progress */
    bool refused;    /* memory, in the call in progress */
    png_structp lib; /* NULL between pictures */
    png_infop info;
    stk__png_stream stream;
    uint64_t data_bytes;
    uint32_t width, height;
    uint32_t row; /* being decoded */
    bool in_header;

    /* Of the read in progress. */
    stk_rect crop;
    stk__pixels pixels;
    const stk__row_sink *sink;
} png;

/* ---- Failures ------------------------------------------------------------------------------ */

static _Noreturn void leave(png *p, stk_status st)
{
    p->st = st;
    longjmp(p->trap, 1);
}

static const char *place(const png *p, char *text, size_t capacity)
{
    if (p->in_header)
        return "its header";
    STK_IGNORE(snprintf(text, capacity, "row %u of %u", p->row + 1, p->height) < 0);
    return text;
}

static void on_error(png_structp lib, png_const_charp message)
{
    png *p = png_get_error_ptr(lib);
    char where[64];

    if (p->refused)
        leave(p, STK_FAIL(p->err, STK_ENOMEM, "no memory to decode a PNG of %u x %u pixels",
                     p->width, p->height));
    leave(p, STK_FAIL_AT(p->err, STK_ECORRUPT, p->stream.at, "PNG damaged in %s: %s",
                 place(p, where, sizeof where), message));
}

static void on_warning(png_structp lib, png_const_charp message)
{
    (void)lib;
    (void)message; /* about side matters only: what spoils pixels is an error */
}

/* Call into the library. false: it left through the trap, and p->st says why. */
static bool guarded(png *p, void (*body)(png *p))
{
    if (setjmp(p->trap) != 0)
        return false;
    body(p);
    return true;
}

/* ---- Memory and bytes for the library -------------------------------------------------------- */

static void *take(png *p, size_t size_bytes)
{
    void *piece = stk__arena_take(&p->arena, size_bytes);

    if (piece == NULL)
        p->refused = true;
    return piece;
}

static png_voidp take_for_lib(png_structp lib, png_alloc_size_t size)
{
    return take(png_get_mem_ptr(lib), size);
}

static void free_nothing(png_structp lib, png_voidp memory)
{
    (void)lib;
    (void)memory; /* the arena takes it back with all the rest */
}

static void read_bytes(png_structp lib, png_bytep to, size_t size_bytes)
{
    png *p = png_get_io_ptr(lib);
    char where[64];

    if (!stk__png_stream_read(&p->stream, to, size_bytes))
        leave(p, STK_FAIL_AT(p->err, STK_ECORRUPT, p->stream.at, "PNG data ended in %s",
                     place(p, where, sizeof where)));
}

/* ---- The header ------------------------------------------------------------------------------ */

static void let_go(png *p)
{
    if (p->lib != NULL)
        png_destroy_read_struct(&p->lib, &p->info, NULL);
    stk__arena_reset(&p->arena);
}

static void check_size(png *p)
{
    uint64_t pixels = (uint64_t)p->width * p->height;
    uint64_t raw = (uint64_t)png_get_rowbytes(p->lib, p->info) * p->height;

    if (pixels > p->limits.max_pixels)
        leave(p, STK_FAIL_AT(p->err, STK_ELIMIT, 0,
                     "PNG of %u x %u pixels: more than %llu (limit max_pixels)", p->width,
                     p->height, (unsigned long long)p->limits.max_pixels));
    /* An interlaced picture may hold more bytes of padding, never fewer bytes of pixels. */
    if (raw / DEFLATE_RATIO > p->data_bytes)
        leave(p, STK_FAIL_AT(p->err, STK_ECORRUPT, p->stream.encoded.size,
                     "PNG of %u x %u pixels in %llu bytes of data: cut short, or a false size",
                     p->width, p->height, (unsigned long long)p->data_bytes));
}

static void begin_body(png *p)
{
    p->lib = png_create_read_struct_2(
        PNG_LIBPNG_VER_STRING, p, on_error, on_warning, p, take_for_lib, free_nothing);
    if (p->lib == NULL)
        leave(p, p->refused ? STK_FAIL(p->err, STK_ENOMEM, "no memory for a PNG decoder")
                            : STK_FAIL(p->err, STK_ENOTSUP,
                                  "libpng %s, but this build was made for " PNG_LIBPNG_VER_STRING,
                                  png_get_libpng_ver(NULL)));
    p->info = png_create_info_struct(p->lib);
    if (p->info == NULL)
        leave(p, STK_FAIL(p->err, STK_ENOMEM, "no memory for a PNG decoder"));
    png_set_read_fn(p->lib, p, read_bytes);
    png_set_benign_errors(p->lib, 1);
    png_set_user_limits(p->lib, PNG_UINT_31_MAX, PNG_UINT_31_MAX); /* ours is on pixels */
    png_read_info(p->lib, p->info);
    p->width = png_get_image_width(p->lib, p->info);
    p->height = png_get_image_height(p->lib, p->info);
    check_size(p);
}

static uint32_t channels_of(int colour_type)
{
    switch (colour_type) {
    case PNG_COLOR_TYPE_GRAY_ALPHA:
        return 2;
    case PNG_COLOR_TYPE_RGB:
        return 3;
    case PNG_COLOR_TYPE_RGB_ALPHA:
        return 4;
    default: /* grey, and palette: one index */
        return 1;
    }
}

static stk_status png_begin(void *state, stk_view encoded, stk_image_info *info_out, stk_error *err)
{
    png *p = state;
    stk__png_survey survey = stk__png_walk(encoded);

    let_go(p);
    p->st = STK_OK;
    p->err = err;
    p->refused = false;
    p->in_header = true;
    p->width = p->height = p->row = 0;
    p->stream = (stk__png_stream){.encoded = encoded};
    p->data_bytes = survey.data_bytes;
    if (!guarded(p, begin_body)) {
        let_go(p);
        return p->st;
    }
    info_out->width = p->width;
    info_out->height = p->height;
    info_out->orientation = survey.orientation;
    info_out->channels = channels_of(png_get_color_type(p->lib, p->info));
    info_out->depth = png_get_bit_depth(p->lib, p->info);
    info_out->progressive = png_get_interlace_type(p->lib, p->info) != PNG_INTERLACE_NONE;
    return STK_OK;
}

/* ---- The rows -------------------------------------------------------------------------------- */

/* Whatever the file holds, rows of RGB or RGBX come out. Transparency keys never reach the library;
 * where the file has alpha, it is the fourth byte or is dropped, unblended in both cases. */
static void ask_for_rgb(const png *p)
{
    int colour_type = png_get_color_type(p->lib, p->info);

    if (colour_type == PNG_COLOR_TYPE_PALETTE)
        png_set_palette_to_rgb(p->lib);
    else if (png_get_bit_depth(p->lib, p->info) < 8)
        png_set_expand_gray_1_2_4_to_8(p->lib);
    png_set_strip_16(p->lib);
    if ((colour_type & PNG_COLOR_MASK_COLOR) == 0)
        png_set_gray_to_rgb(p->lib);
    if (p->pixels == STK__RGB8 && (colour_type & PNG_COLOR_MASK_ALPHA) != 0)
        png_set_strip_alpha(p->lib);
    if (p->pixels == STK__RGBX8 && (colour_type & PNG_COLOR_MASK_ALPHA) == 0)
        png_set_filler(p->lib, 0xff, PNG_FILLER_AFTER);
}

static uint8_t *take_pixels(png *p, size_t pitch_bytes, uint32_t rows)
{
    size_t bytes;
    uint8_t *memory = stk__size_mul(pitch_bytes, rows, &bytes) ? take(p, bytes) : NULL;

    if (memory == NULL)
        leave(p, STK_FAIL(p->err, STK_ENOMEM, "no memory to decode a PNG of %u x %u pixels",
                     p->width, p->height));
    return memory;
}

static void hand_on(png *p, const uint8_t *rows, size_t pitch_bytes, uint32_t count)
{
    p->st = p->sink->rows(
        p->sink->ctx, rows + (size_t)p->crop.left * p->pixels, pitch_bytes, count, p->err);
}

static void read_in_order(png *p, size_t pitch_bytes)
{
    uint32_t strip_rows =
        (uint32_t)stk__size_min(stk__size_max(STRIP_BYTES / pitch_bytes, 1), STRIP_ROWS);
    uint8_t *strip = take_pixels(p, pitch_bytes, strip_rows);
    uint32_t bottom = p->crop.top + p->crop.height;
    uint32_t filled = 0;

    for (p->row = 0; p->row < p->height && p->st >= 0; p->row++) {
        if (p->row < p->crop.top || p->row >= bottom) {
            png_read_row(p->lib, NULL, NULL);
            continue;
        }
        png_read_row(p->lib, strip + filled * pitch_bytes, NULL);
        filled++;
        if (filled == strip_rows || p->row + 1 == bottom) {
            hand_on(p, strip, pitch_bytes, filled);
            filled = 0;
        }
    }
}

/* Adam7: seven passes over the whole picture. */
static void read_interlaced(png *p, size_t pitch_bytes, int passes)
{
    uint8_t *picture = take_pixels(p, pitch_bytes, p->height);

    for (int pass = 0; pass < passes; pass++) {
        for (p->row = 0; p->row < p->height; p->row++)
            png_read_row(p->lib, picture + p->row * pitch_bytes, NULL);
    }
    hand_on(p, picture + p->crop.top * pitch_bytes, pitch_bytes, p->crop.height);
}

static void read_body(png *p)
{
    int passes;
    size_t pitch_bytes;

    ask_for_rgb(p);
    passes = png_set_interlace_handling(p->lib);
    png_read_update_info(p->lib, p->info);
    pitch_bytes = stk__size_align(png_get_rowbytes(p->lib, p->info), STK_ALIGN_BYTES);
    if (passes == 1)
        read_in_order(p, pitch_bytes);
    else
        read_interlaced(p, pitch_bytes, passes);
}

static stk_status png_read(void *state, const stk_rect *crop, stk__pixels pixels,
    const stk__row_sink *sink, stk_error *err)
{
    png *p = state;

    p->st = STK_OK;
    p->err = err;
    p->in_header = false;
    p->crop = *crop;
    p->pixels = pixels;
    p->sink = sink;
    STK_IGNORE(!guarded(p, read_body)); /* either way p->st is how it went */
    let_go(p);
    return p->st;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void png_close(void *state)
{
    png *p = state;

    if (p == NULL)
        return;
    let_go(p);
    stk__arena_fini(&p->arena);
    stk__heap_free(p->heap, p, 1, sizeof *p);
}

static stk_status png_open(
    stk__heap *heap, const stk_limits *limits, void **state_out, stk_error *err)
{
    png *p = stk__heap_zalloc(heap, 1, sizeof *p);

    if (p == NULL)
        return STK_FAIL(err, STK_ENOMEM, "no memory for a PNG decoder");
    p->heap = heap;
    p->limits = *limits;
    stk__arena_init(&p->arena, heap);
    *state_out = p;
    return STK_OK;
}

const stk__codec stk__codec_png = {
    .name = "png",
    .bid = stk__sniff_png,
    .open = png_open,
    .close = png_close,
    .begin = png_begin,
    .read = png_read,
};
