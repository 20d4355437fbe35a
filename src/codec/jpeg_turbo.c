/*
 * JPEG through libjpeg-turbo; the only file that includes it.
 *
 * One jpeg_decompress_struct serves all pictures of a decoder. The memory methods of the library
 * are replaced by an arena that is reset for each picture, so that steady state allocates nothing;
 * only what jpeg_create_decompress() itself takes stays with the library. Errors leave the library
 * by longjmp into guarded(), which owns nothing, so nothing is lost on the way.
 *
 * Only what a crop needs is decoded: rows above it are skipped (their entropy codes still have to
 * be read), columns beside it get no inverse DCT, and decoding stops after its last row. What lies
 * below is followed marker by marker to the end of the picture (jpeg_markers.h). Where the library
 * would round otherwise than in a decode of the whole picture, more than the crop is decoded:
 * see widen().
 *
 * Where a picture is of the common kind, its Huffman codes are decoded by jpeg_huff.h and the
 * library is given the coefficients: see start(). Nobody can tell from the result.
 *
 * Left out on purpose: lossless and 12-bit JPEG (named in the error), and the number of rows given
 * behind the first scan (DNL), which libjpeg lacks.
 */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

/* clang-format off: the list of errors depends on what the library was built with */
#include <jerror.h>
#include <jpeglib.h>
/* clang-format on */

#include "base/bytes.h"
#include "base/error.h"
#include "base/size.h"
#include "codec/codec_table.h"
#include "codec/decode_arena.h"
#include "codec/exif_orientation.h"
#include "codec/jpeg_huff.h"
#include "codec/jpeg_markers.h"
#include "codec/jpeg_turbo.h"
#include "codec/pixel_rows.h"
#include "codec/sniff.h"

/* What jpeg_create_decompress() takes from malloc, by and large (2,784 bytes in 2.1.5 and
 * in 3.1.0). */
#define LIBRARY_BYTES ((size_t)4096)

enum {
    STRIP_ROWS = 16,        /* at most; fewer where rows are long */
    STRIP_BYTES = 32 << 10, /* so that a strip is still in the nearest cache when it is used */
    APP1 = JPEG_APP0 + 1,

    /* start() was tried with 2.1.5 and 3.1.0; those before 2.1.5 decode everything themselves */
    CAN_SHOW_OURS = LIBJPEG_TURBO_VERSION_NUMBER >= 2001005,
};

typedef struct jpeg {
    struct jpeg_decompress_struct lib; /* first: the library hands its address back */
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    stk__heap *heap;
    stk_limits limits;
    stk__arena arena;
    bool created;
    bool in_header;   /* of the picture; rows mean nothing yet */
    jmp_buf trap;     /* where the library leaves to */
    stk_status st;    /* of the call in progress */
    stk_error *err;   /* of the call in progress */
    stk_view encoded; /* of the picture in progress; not ours */
    uint32_t orientation;

    stk__jpeg_huff huff; /* our own decoder of coefficients */
    bool huff_fits;      /* the picture in progress */
    stk__jpeg_counts counts;

    /* Of the read in progress. */
    bool ours; /* coefficients come from huff */
    JBLOCKARRAY blocks[STK__JPEG_PARTS];
    uint32_t blocks_count;
    uint32_t blocks_row;               /* MCU row that is in them; UINT32_MAX: none yet */
    uint32_t first_column, end_column; /* of MCUs that are needed */
    stk_rect crop;                     /* what of it is still to be handed on */
    stk__pixels pixels;
    const stk__row_sink *sink;
    stk_error *read_err; /* of the caller */
    uint32_t left;       /* first column that the library gives */
    uint8_t *strip;
    size_t pitch_bytes;
    uint32_t strip_rows;
} jpeg;

static jpeg *of(j_common_ptr lib)
{
    return (jpeg *)(void *)lib;
}

/* ---- Failures ---------------------------------------------------------------------------- */

static size_t position(const jpeg *j)
{
    const uint8_t *next = j->source.next_input_byte;

    return next != NULL && !j->ours ? (size_t)(next - (const uint8_t *)j->encoded.data) : 0;
}

/* "its header", "row 209 of 375", "scan 3, row 1 of 375": where the library reads at the moment. */
static const char *place(const jpeg *j, char *text, size_t capacity)
{
    const struct jpeg_decompress_struct *lib = &j->lib;
    uint64_t row = (uint64_t)lib->input_iMCU_row * (uint32_t)lib->max_v_samp_factor * DCTSIZE + 1;

    if (j->in_header)
        return "its header";
    if (row > lib->image_height)
        row = lib->image_height;
    if (lib->input_scan_number > 1)
        STK_IGNORE(snprintf(text, capacity, "scan %d, row %u of %u", lib->input_scan_number,
                       (unsigned)row, (unsigned)lib->image_height) < 0);
    else
        STK_IGNORE(snprintf(text, capacity, "row %u of %u", (unsigned)row,
                       (unsigned)lib->image_height) < 0);
    return text;
}

static _Noreturn void leave(jpeg *j, stk_status st)
{
    j->st = st;
    longjmp(j->trap, 1);
}

static _Noreturn void ended(jpeg *j)
{
    char where[64];

    leave(j, STK_FAIL_AT(j->err, STK_ECORRUPT, j->encoded.size, "JPEG data ended in %s",
                 place(j, where, sizeof where)));
}

static stk_status status_of(int code)
{
    switch (code) {
    case JERR_OUT_OF_MEMORY:
        return STK_ENOMEM;
    case JERR_BAD_PRECISION:
    case JERR_CCIR601_NOTIMPL:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_NOTIMPL:
    case JERR_NOT_COMPILED:
    case JERR_SOF_UNSUPPORTED:
        return STK_ENOTSUP;
    default:
        return STK_ECORRUPT;
    }
}

static _Noreturn void leave_with_message(j_common_ptr lib)
{
    static const char prefix[] = "Corrupt JPEG data: ";
    char message[JMSG_LENGTH_MAX], where[64];
    const char *text = message;
    jpeg *j = of(lib);
    stk_status st = status_of(lib->err->msg_code);

    lib->err->format_message(lib, message);
    if (strncmp(message, prefix, sizeof prefix - 1) == 0)
        text += sizeof prefix - 1;
    if (st == STK_ECORRUPT)
        leave(j, STK_FAIL_AT(j->err, st, position(j), "JPEG damaged in %s: %s",
                     place(j, where, sizeof where), text));
    leave(j, STK_FAIL_AT(j->err, st, position(j), "%s", text));
}

/*
 * Warnings of the library. What is about sloppy writers (bytes between segments, unknown versions
 * and transforms, an odd order of scans) is passed over, as viewers do; the rest means wrong pixels
 * and ends the decoding.
 */
static void on_message(j_common_ptr lib, int level)
{
    if (level >= 0 || of(lib)->ours) /* no warning, or about data that the library does not get */
        return;
    switch (lib->err->msg_code) {
    case JWRN_ADOBE_XFORM:
    case JWRN_BOGUS_PROGRESSION:
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_JFIF_MAJOR:
    case JWRN_NOT_SEQUENTIAL:
        lib->err->num_warnings++;
        break;
    default:
        leave_with_message(lib);
    }
}

static void print_nothing(j_common_ptr lib)
{
    (void)lib;
}

/* Call into the library. false: it left through the trap, and j->st says why. */
static bool guarded(jpeg *j, void (*body)(jpeg *j))
{
    if (setjmp(j->trap) != 0)
        return false;
    body(j);
    return true;
}

/* ---- The source: one piece of memory ------------------------------------------------------- */

static void do_nothing(j_decompress_ptr lib)
{
    (void)lib;
}

static boolean out_of_bytes(j_decompress_ptr lib)
{
    ended(of((j_common_ptr)lib));
}

/* In place of data that the library is not to decode. */
static void give_end_marker(jpeg *j)
{
    static const JOCTET end[] = {0xff, JPEG_EOI};

    j->source.next_input_byte = end;
    j->source.bytes_in_buffer = sizeof end;
}

static void skip_bytes(j_decompress_ptr lib, long count)
{
    if (count <= 0)
        return;
    if ((unsigned long)count > lib->src->bytes_in_buffer)
        ended(of((j_common_ptr)lib));
    lib->src->next_input_byte += count;
    lib->src->bytes_in_buffer -= (size_t)count;
}

/* A restart marker is missing or another one stands in its place: pixels were lost. */
static boolean refuse_to_resync(j_decompress_ptr lib, int desired)
{
    char where[64];
    jpeg *j = of((j_common_ptr)lib);

    if (j->ours) /* it finds none of those that it looks for */
        return TRUE;
    leave(j, STK_FAIL_AT(j->err, STK_ECORRUPT, position(j),
                 "JPEG damaged in %s: marker 0x%02x instead of restart %d",
                 place(j, where, sizeof where), (unsigned)lib->unread_marker, desired));
}

/* APP1 is read where it lies and never copied. */
static boolean read_app1(j_decompress_ptr lib)
{
    struct jpeg_source_mgr *source = lib->src;
    jpeg *j = of((j_common_ptr)lib);
    size_t length;

    if (source->bytes_in_buffer < 2)
        ended(j);
    length = stk__get_be16(source->next_input_byte);
    if (length < 2)
        leave(j, STK_FAIL_AT(j->err, STK_ECORRUPT, position(j), "JPEG segment of %u bytes",
                     (unsigned)length));
    if (length > source->bytes_in_buffer)
        ended(j);
    if (j->orientation == 1 && length >= 8 &&
        memcmp(source->next_input_byte + 2, "Exif\0\0", 6) == 0)
        j->orientation = stk__exif_orientation((stk_view){source->next_input_byte + 2, length - 2});
    source->next_input_byte += length;
    source->bytes_in_buffer -= length;
    return TRUE;
}

/* ---- Memory -------------------------------------------------------------------------------- */

static _Noreturn void out_of_memory(jpeg *j)
{
    leave(j, STK_FAIL(j->err, STK_ENOMEM, "no memory to decode a JPEG of %u x %u pixels",
                 (unsigned)j->lib.image_width, (unsigned)j->lib.image_height));
}

static void *take(j_common_ptr lib, size_t size)
{
    jpeg *j = of(lib);
    void *piece = stk__arena_take(&j->arena, size);

    if (piece == NULL)
        out_of_memory(j);
    return piece;
}

/*
 * Both pools of the library lie in the arena. What it puts into its permanent one after its
 * creation are the tables of quantisation and of Huffman codes; begin_body() forgets them, so that
 * a picture without tables never gets those of the picture before.
 */
static void *take_object(j_common_ptr lib, int pool, size_t size)
{
    (void)pool;
    return take(lib, size);
}

static void *take_rows(j_common_ptr lib, size_t row_bytes, uint32_t count)
{
    jpeg *j = of(lib);
    void *rows = stk__arena_rows(&j->arena, row_bytes, count);

    if (rows == NULL)
        out_of_memory(j);
    return rows;
}

static JSAMPARRAY take_samples(j_common_ptr lib, int pool, JDIMENSION width, JDIMENSION count)
{
    (void)pool;
    return take_rows(lib, (size_t)width * sizeof(JSAMPLE), count);
}

static JBLOCKARRAY take_blocks(j_common_ptr lib, int pool, JDIMENSION width, JDIMENSION count)
{
    (void)pool;
    return take_rows(lib, (size_t)width * sizeof(JBLOCK), count);
}

/* Arrays of a whole picture ("virtual" to the library, which could put them on disk; here they are
 * memory): the coefficients of pictures in several scans. */
struct jvirt_sarray_control {
    JSAMPARRAY rows;
};

struct jvirt_barray_control {
    JBLOCKARRAY rows;
};

static void *take_whole(j_common_ptr lib, size_t row_bytes, uint32_t count, bool zeroed)
{
    uint8_t **rows = take_rows(lib, row_bytes, count);

    for (uint32_t i = 0; zeroed && i < count; i++)
        memset(rows[i], 0, row_bytes);
    return rows;
}

static jvirt_sarray_ptr request_samples(j_common_ptr lib, int pool, boolean zeroed,
    JDIMENSION width, JDIMENSION count, JDIMENSION access)
{
    jvirt_sarray_ptr array = take(lib, sizeof *array);
    (void)pool;
    (void)access;

    array->rows = take_whole(lib, (size_t)width * sizeof(JSAMPLE), count, zeroed);
    return array;
}

/* With coefficients of our own only the rows of one MCU row are there at a time: `access` of them.
 * The library asks for one array a component, in their order. */
static jvirt_barray_ptr request_blocks(j_common_ptr lib, int pool, boolean zeroed, JDIMENSION width,
    JDIMENSION count, JDIMENSION access)
{
    jvirt_barray_ptr array = take(lib, sizeof *array);
    jpeg *j = of(lib);
    (void)pool;

    if (j->ours)
        count = access;
    array->rows = take_whole(lib, (size_t)width * sizeof(JBLOCK), count, zeroed);
    if (j->ours && j->blocks_count < STK__JPEG_PARTS)
        j->blocks[j->blocks_count++] = array->rows;
    return array;
}

static void realize_nothing(j_common_ptr lib)
{
    (void)lib; /* they were made when they were requested */
}

static JSAMPARRAY access_samples(
    j_common_ptr lib, jvirt_sarray_ptr array, JDIMENSION first, JDIMENSION count, boolean writable)
{
    (void)lib;
    (void)count;
    (void)writable;
    return array->rows + first;
}

/* Decode the MCU row whose blocks the library wants to see. */
static void make_blocks(jpeg *j, uint32_t row)
{
    if (row == j->blocks_row)
        return;
    if (!stk__jpeg_huff_row(&j->huff, row, j->first_column, j->end_column,
            (int16_t (*const *const *)[DCTSIZE2])j->blocks))
        leave(j, STK_ECORRUPT); /* why, the library will say: see jpeg_read() */
    j->blocks_row = row;
}

static JBLOCKARRAY access_blocks(
    j_common_ptr lib, jvirt_barray_ptr array, JDIMENSION first, JDIMENSION count, boolean writable)
{
    jpeg *j = of(lib);

    if (!j->ours)
        return array->rows + first;
    if (!writable) /* as many rows as an MCU has */
        make_blocks(j, first / count);
    return array->rows;
}

static void free_pool(j_common_ptr lib, int pool)
{
    if (pool == JPOOL_IMAGE)
        stk__arena_reset(&of(lib)->arena);
}

static void use_arena(jpeg *j)
{
    struct jpeg_memory_mgr *memory = j->lib.mem;

    memory->alloc_small = take_object;
    memory->alloc_large = take_object;
    memory->alloc_sarray = take_samples;
    memory->alloc_barray = take_blocks;
    memory->request_virt_sarray = request_samples;
    memory->request_virt_barray = request_blocks;
    memory->realize_virt_arrays = realize_nothing;
    memory->access_virt_sarray = access_samples;
    memory->access_virt_barray = access_blocks;
    memory->free_pool = free_pool;
}

/* ---- The header ---------------------------------------------------------------------------- */

static void limit_scans(j_common_ptr lib)
{
    jpeg *j = of(lib);

    if (j->lib.input_scan_number > 0 && (uint32_t)j->lib.input_scan_number > j->limits.max_scans)
        leave(j,
            STK_FAIL_AT(j->err, STK_ELIMIT, position(j),
                "too many scans in a JPEG: more than %u (limit max_scans)", j->limits.max_scans));
}

/* Would these bytes do for a picture of that size? Each block of each component takes one bit at
 * least; only arithmetic codes go below that. Asked before memory for whole pictures is. */
static void compare_with_bytes(jpeg *j)
{
    const struct jpeg_decompress_struct *lib = &j->lib;
    uint64_t blocks = 0;

    for (int i = 0; i < lib->num_components; i++) {
        const jpeg_component_info *part = &lib->comp_info[i];
        blocks = blocks > (uint64_t)part->width_in_blocks * part->height_in_blocks
                     ? blocks
                     : (uint64_t)part->width_in_blocks * part->height_in_blocks;
    }
    if (!lib->arith_code && blocks / 8 > j->source.bytes_in_buffer)
        leave(j, STK_FAIL_AT(j->err, STK_ECORRUPT, j->encoded.size,
                     "JPEG of %u x %u pixels in %zu bytes of data: cut short, or a false size",
                     (unsigned)lib->image_width, (unsigned)lib->image_height,
                     j->source.bytes_in_buffer));
}

static void check_kind(jpeg *j)
{
    const struct jpeg_decompress_struct *lib = &j->lib;
    uint64_t pixels = (uint64_t)lib->image_width * lib->image_height;
    uint8_t frame = stk__jpeg_frame(j->encoded);

    if (!stk__jpeg_frame_known(frame)) /* later versions of the library read some of them */
        leave(j, STK_FAIL_AT(
                     j->err, STK_ENOTSUP, 0, "Unsupported JPEG process: SOF type 0x%02x", frame));
    if (lib->data_precision != 8)
        leave(j, STK_FAIL_AT(j->err, STK_ENOTSUP, 0, "JPEG of precision %d", lib->data_precision));
    if (lib->num_components != 1 && lib->num_components != 3 && lib->num_components != 4)
        leave(j, STK_FAIL_AT(j->err, STK_ENOTSUP, 0, "JPEG of %d components", lib->num_components));
    if (pixels > j->limits.max_pixels)
        leave(j, STK_FAIL_AT(j->err, STK_ELIMIT, 0,
                     "JPEG of %u x %u pixels: more than %llu (limit max_pixels)",
                     (unsigned)lib->image_width, (unsigned)lib->image_height,
                     (unsigned long long)j->limits.max_pixels));
    compare_with_bytes(j);
}

static void begin_body(jpeg *j)
{
    struct jpeg_decompress_struct *lib = &j->lib;

    jpeg_abort_decompress(lib);
    memset(lib->quant_tbl_ptrs, 0, sizeof lib->quant_tbl_ptrs);
    memset(lib->dc_huff_tbl_ptrs, 0, sizeof lib->dc_huff_tbl_ptrs);
    memset(lib->ac_huff_tbl_ptrs, 0, sizeof lib->ac_huff_tbl_ptrs);
    j->source.next_input_byte = j->encoded.data;
    j->source.bytes_in_buffer = j->encoded.size;
    lib->err->num_warnings = 0;
    j->ours = false;
    STK_IGNORE(jpeg_read_header(lib, TRUE) != JPEG_HEADER_OK); /* anything else left by the trap */
    check_kind(j);
    j->huff_fits = CAN_SHOW_OURS && stk__jpeg_huff_begin(&j->huff, j->encoded);
}

static stk_status jpeg_begin(
    void *state, stk_view encoded, stk_image_info *info_out, stk_error *err)
{
    jpeg *j = state;

    j->st = STK_OK;
    j->err = err;
    j->encoded = encoded;
    j->in_header = true;
    j->orientation = 1;
    if (!guarded(j, begin_body))
        return j->st;
    info_out->width = j->lib.image_width;
    info_out->height = j->lib.image_height;
    info_out->orientation = j->orientation;
    info_out->channels = (uint32_t)j->lib.num_components;
    info_out->depth = 8;
    info_out->progressive = jpeg_has_multiple_scans(&j->lib);
    return STK_OK;
}

/* ---- The rows ------------------------------------------------------------------------------ */

/* Coefficients that never came are smoothed over by the library, from neighbours that a crop would
 * not have. */
static bool is_smoothed(const struct jpeg_decompress_struct *lib)
{
    if (!lib->progressive_mode || lib->coef_bits == NULL)
        return false;
    for (int i = 0; i < lib->num_components; i++) {
        for (int k = 0; k < DCTSIZE2; k++) {
            if (lib->coef_bits[i][k] != 0)
                return true;
        }
    }
    return false;
}

/*
 * Ask for the columns that the crop needs, so that they come out exactly as in the whole picture.
 *
 * Upsampling of chroma looks at the sample to the left and to the right, and takes the outermost
 * twice: two pixels more on each side keep that away from the crop. It also takes another way when
 * there are two chroma samples in a row or fewer: so at least LEAST columns.
 */
static void widen(jpeg *j)
{
    enum { MARGIN = 2, LEAST = 64 };

    const stk_rect *crop = &j->crop;
    uint32_t width = j->lib.output_width;
    uint32_t left = crop->left > MARGIN ? crop->left - MARGIN : 0;
    uint32_t right = crop->left + crop->width;
    JDIMENSION first, count;

    right = width - right > MARGIN ? right + MARGIN : width;
    if (right - left < LEAST)
        right = width - left > LEAST ? left + LEAST : width;
    if (right - left < LEAST)
        left = right > LEAST ? right - LEAST : 0;
    j->left = 0;
    if (right - left == width)
        return;
    first = left;
    count = right - left;
    jpeg_crop_scanline(&j->lib, &first, &count);
    j->left = first;
}

/* MCUs whose coefficients the library will ask for. */
static void need_columns(jpeg *j)
{
    uint32_t step = (uint32_t)j->lib.max_h_samp_factor * DCTSIZE;

    j->first_column = j->left / step;
    j->end_column = (j->left + j->lib.output_width + step - 1) / step;
}

static void make_strip(jpeg *j)
{
    j->pitch_bytes = stk__size_align(
        (size_t)j->lib.output_width * (size_t)j->lib.output_components, STK_ALIGN_BYTES);
    j->strip_rows = (uint32_t)stk__size_max(STRIP_BYTES / j->pitch_bytes, 2);
    if (j->strip_rows > STRIP_ROWS)
        j->strip_rows = STRIP_ROWS;
    j->strip = take((j_common_ptr)&j->lib, j->pitch_bytes * (j->strip_rows + 1u));
}

/* `count` rows of the library into the strip. */
static void fill_strip(jpeg *j, uint32_t count)
{
    JSAMPROW rows[STRIP_ROWS];
    uint32_t filled = 0;

    for (uint32_t i = 0; i < count; i++)
        rows[i] = j->strip + i * j->pitch_bytes;
    while (filled < count)
        filled += jpeg_read_scanlines(&j->lib, rows + filled, count - filled);
}

static void hand_on(jpeg *j, uint32_t count)
{
    uint8_t *first = j->strip + (size_t)(j->crop.left - j->left) * (size_t)j->lib.output_components;

    for (uint32_t i = 0; j->lib.out_color_space == JCS_CMYK && i < count; i++)
        stk__row_from_inverted_cmyk(first + i * j->pitch_bytes, j->crop.width, j->pixels);
    j->st = j->sink->rows(j->sink->ctx, first, j->pitch_bytes, count, j->read_err);
}

static void check_end(jpeg *j)
{
    size_t stop;

    if (j->ours || jpeg_input_complete(&j->lib) ||
        stk__jpeg_ends(j->encoded, position(j), (uint8_t)j->lib.unread_marker, &stop))
        return;
    if (stop == j->encoded.size)
        leave(j, STK_FAIL_AT(j->err, STK_ECORRUPT, stop, "JPEG data ended without an end marker"));
    leave(j, STK_FAIL_AT(j->err, STK_ECORRUPT, stop,
                 "another JPEG begins before the end of the first one"));
}

/*
 * Begin the output.
 *
 * With coefficients of our own the library is put into the mode in which it shows a picture while
 * it comes in. It finds no data, only the end, and then asks for the coefficients of each row that
 * it shows, as if it had stored them: make_blocks().
 */
static void start(jpeg *j)
{
    struct jpeg_decompress_struct *lib = &j->lib;

    lib->buffered_image = j->ours;
    lib->dct_method = JDCT_ISLOW;
    lib->do_fancy_upsampling = TRUE;
    if (lib->num_components == 4)
        lib->out_color_space = JCS_CMYK;
    else
        lib->out_color_space = j->pixels == STK__RGBX8 ? JCS_EXT_RGBX : JCS_EXT_RGB;
    if (j->ours)
        give_end_marker(j);
    STK_IGNORE(jpeg_start_decompress(lib) == FALSE); /* it has all bytes: it never waits for more */
    if (j->ours) {
        while (!jpeg_input_complete(lib))
            STK_IGNORE(jpeg_consume_input(lib) == JPEG_SUSPENDED);
        STK_IGNORE(jpeg_start_output(lib, 1) == FALSE);
    }
}

static void read_body(jpeg *j)
{
    struct jpeg_decompress_struct *lib = &j->lib;
    bool smoothed;

    j->ours = j->huff_fits && stk__jpeg_huff_load(&j->huff, &j->arena);
    j->counts.ours += j->ours;
    j->err = j->ours ? NULL : j->read_err; /* no attempt but the last has a say */
    start(j);
    smoothed = is_smoothed(lib);
    j->left = 0;
    if (!smoothed)
        widen(j);
    need_columns(j);
    make_strip(j);
    if (!smoothed && j->crop.top > 0)
        STK_IGNORE(jpeg_skip_scanlines(lib, j->crop.top) != j->crop.top); /* rows are inside */
    while (lib->output_scanline < j->crop.top)
        fill_strip(j, (uint32_t)stk__size_min(j->strip_rows, j->crop.top - lib->output_scanline));
    while (j->crop.height > 0 && j->st >= 0) {
        uint32_t count = j->crop.height < j->strip_rows ? j->crop.height : j->strip_rows;

        fill_strip(j, count);
        hand_on(j, count);
        j->crop.top += count; /* what is left to do, should another attempt be needed */
        j->crop.height -= count;
    }
    if (j->st >= 0)
        check_end(j);
}

/*
 * Our own decoder of coefficients stops at whatever it does not like, without judging it. Then the
 * library decodes the picture anew, from the first row that was not handed on yet: it goes on where
 * the data is only odd, and where it is damaged the error is the library's.
 */
static void read_by_library(jpeg *j)
{
    j->counts.anew++;
    j->in_header = true;
    j->err = j->read_err;
    if (!guarded(j, begin_body))
        return;
    j->in_header = false;
    j->huff_fits = false;
    j->st = STK_OK;
    STK_IGNORE(!guarded(j, read_body)); /* either way j->st is how it went */
}

static stk_status jpeg_read(void *state, const stk_rect *crop, stk__pixels pixels,
    const stk__row_sink *sink, stk_error *err)
{
    jpeg *j = state;

    j->st = STK_OK;
    j->read_err = err;
    j->in_header = false;
    j->crop = *crop;
    j->pixels = pixels;
    j->sink = sink;
    j->blocks_count = 0;
    j->blocks_row = UINT32_MAX;
    if (!guarded(j, read_body) && j->ours)
        read_by_library(j);
    jpeg_abort_decompress(&j->lib);
    j->ours = false;
    return j->st;
}

stk__jpeg_counts stk__jpeg_counted(const void *state)
{
    const jpeg *j = state;

    return j->counts;
}

/* ---- Life ---------------------------------------------------------------------------------- */

static void jpeg_close(void *state)
{
    jpeg *j = state;
    stk__heap *heap;

    if (j == NULL)
        return;
    heap = j->heap;
    if (j->created)
        jpeg_destroy_decompress(&j->lib);
    stk__arena_fini(&j->arena);
    stk__heap_unreserve(heap, LIBRARY_BYTES);
    stk__heap_free(heap, j, 1, sizeof *j);
}

static void create_body(jpeg *j)
{
    jpeg_create_decompress(&j->lib);
    j->created = true;
    use_arena(j);
    jpeg_set_marker_processor(&j->lib, APP1, read_app1);
}

static void set_up(jpeg *j)
{
    j->lib.err = jpeg_std_error(&j->errors);
    j->errors.error_exit = leave_with_message;
    j->errors.emit_message = on_message;
    j->errors.output_message = print_nothing;
    j->source = (struct jpeg_source_mgr){
        .init_source = do_nothing,
        .fill_input_buffer = out_of_bytes,
        .skip_input_data = skip_bytes,
        .resync_to_restart = refuse_to_resync,
        .term_source = do_nothing,
    };
    j->progress.progress_monitor = limit_scans;
}

static stk_status jpeg_open(
    stk__heap *heap, const stk_limits *limits, void **state_out, stk_error *err)
{
    jpeg *j = stk__heap_zalloc(heap, 1, sizeof *j);

    if (j == NULL || !stk__heap_reserve(heap, LIBRARY_BYTES)) {
        stk__heap_free(heap, j, 1, sizeof *j);
        return STK_FAIL(err, STK_ENOMEM, "no memory for a JPEG decoder");
    }
    j->heap = heap;
    j->limits = *limits;
    j->err = err;
    j->in_header = true;
    stk__arena_init(&j->arena, heap);
    set_up(j);
    if (!guarded(j, create_body)) {
        stk_status st = j->st;

        jpeg_close(j);
        return st;
    }
    j->lib.src = &j->source;
    j->lib.progress = &j->progress;
    *state_out = j;
    return STK_OK;
}

const stk__codec stk__codec_jpeg = {
    .name = "jpeg",
    .bid = stk__sniff_jpeg,
    .open = jpeg_open,
    .close = jpeg_close,
    .begin = jpeg_begin,
    .read = jpeg_read,
};
