/*
 * Microseconds a photograph: libjpeg-turbo decoding all of it, and our decoder giving all of it, or
 * the part that RandomResizedCrop (scale 0.08 to 1, ratio 3/4 to 4/3) asks for.
 *
 *     bench_jpeg [rounds] < list-of-files
 *
 * Files are read beforehand. Ways take turns in one run; every way sees the same files, and every
 * round the same crops. Printed are median, least and most of the rounds, the ratio of the medians
 * to that of the library, and a sum over every byte that was given, which has to be the same in
 * each round.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off: after stdio.h, which it needs and does not include */
#include <jpeglib.h>
/* clang-format on */

#include "../path_list.h"
#include "base/philox.h"
#include "codec/codec.h"
#include "os/clock.h"

enum { MOST_ROUNDS = 999, TRIES = 10 };

typedef struct photo {
    uint8_t *data;
    size_t size;
} photo;

typedef enum way { LIBRARY, OURS_WHOLE, OURS_CROP_RGB, OURS_CROP_RGBX, WAYS } way;

static const char *const way_names[WAYS] = {
    "libjpeg-turbo, whole, RGB",
    "decoder, whole, RGB",
    "decoder, crop, RGB",
    "decoder, crop, RGBX",
};

/* What one run works with. */
typedef struct bench {
    photo *photos;
    size_t count;
    stk__heap heap;
    stk__decoder *decoder;
    struct jpeg_decompress_struct library;
    struct jpeg_error_mgr errors;
    uint8_t *pixels; /* of the library */
    size_t pixels_capacity;
    stk__pixels kind;
    size_t row_bytes; /* of the crop in progress */
    uint64_t sum;
} bench;

static void fail(const char *what)
{
    (void)fprintf(stderr, "bench_jpeg: %s\n", what);
    exit(1);
}

/* Cheap beside decoding, and the same for every way. */
static uint64_t sum_of(const uint8_t *data, size_t size)
{
    uint64_t sum = 0, word = 0;
    size_t at = 0;

    for (; at + sizeof word <= size; at += sizeof word) {
        memcpy(&word, data + at, sizeof word);
        sum += word;
    }
    word = 0;
    memcpy(&word, data + at, size - at);
    return sum + word;
}

static void decode_with_library(bench *b, const photo *p)
{
    struct jpeg_decompress_struct *library = &b->library;
    size_t pitch_bytes;

    jpeg_mem_src(library, p->data, (unsigned long)p->size);
    if (jpeg_read_header(library, TRUE) != JPEG_HEADER_OK)
        fail("header");
    library->out_color_space = JCS_RGB;
    if (!jpeg_start_decompress(library))
        fail("start");
    pitch_bytes = (size_t)library->output_width * 3;
    if (pitch_bytes * library->output_height > b->pixels_capacity) {
        free(b->pixels);
        b->pixels_capacity = pitch_bytes * library->output_height;
        b->pixels = malloc(b->pixels_capacity);
        if (b->pixels == NULL)
            fail("memory");
    }
    while (library->output_scanline < library->output_height) {
        JSAMPROW row = b->pixels + pitch_bytes * library->output_scanline;

        if (jpeg_read_scanlines(library, &row, 1) != 1)
            fail("rows");
    }
    if (!jpeg_finish_decompress(library))
        fail("end");
    for (uint32_t i = 0; i < library->image_height; i++) /* row by row, as with ours */
        b->sum += sum_of(b->pixels + i * pitch_bytes, pitch_bytes);
}

/* The fourth byte of RGBX has no meaning; so that it does not count, it is taken for one here. */
static stk_status take_rows(
    void *ctx, const uint8_t *pixels, size_t pitch_bytes, uint32_t count, stk_error *err)
{
    bench *b = ctx;
    (void)err;

    for (uint32_t i = 0; i < count; i++)
        b->sum += sum_of(pixels + i * pitch_bytes, b->row_bytes);
    return STK_OK;
}

/* torchvision's law: ten tries, then (rarely) the whole picture. */
static stk_rect random_part(size_t nth, uint32_t width, uint32_t height)
{
    for (uint32_t i = 0; i < TRIES; i++) {
        stk__philox_block draw = stk__philox(1, 2, nth, i, 0, 0);
        double area = (double)width * height * (0.08 + 0.92 * stk__unit(draw.word[0]));
        double ratio = exp(log(0.75) + stk__unit(draw.word[1]) * (log(4.0 / 3) - log(0.75)));
        double wide = rint(sqrt(area * ratio)), high = rint(sqrt(area / ratio));
        stk_rect part;

        if (wide < 1 || high < 1 || wide > width || high > height)
            continue;
        part.width = (uint32_t)wide;
        part.height = (uint32_t)high;
        part.left = (uint32_t)stk__below(draw.word[2], width - part.width + 1);
        part.top = (uint32_t)stk__below(draw.word[3], height - part.height + 1);
        return part;
    }
    return (stk_rect){.width = width, .height = height};
}

static void decode_with_ours(bench *b, size_t nth, way how)
{
    const stk__row_sink sink = {.ctx = b, .rows = take_rows};
    const photo *p = &b->photos[nth];
    stk_image_info info;
    stk_rect part;

    if (stk__decoder_begin(b->decoder, (stk_view){p->data, p->size}, &info, NULL) < 0)
        fail("begin");
    part = how == OURS_WHOLE ? (stk_rect){.width = info.width, .height = info.height}
                             : random_part(nth, info.width, info.height);
    b->kind = how == OURS_CROP_RGBX ? STK__RGBX8 : STK__RGB8;
    b->row_bytes = (size_t)part.width * b->kind;
    if (stk__decoder_read(b->decoder, &part, b->kind, &sink, NULL) < 0)
        fail("read");
}

/* One round of one way; microseconds a photograph. */
static double one_round(bench *b, way how)
{
    uint64_t begin = stk__clock_ns();

    for (size_t i = 0; i < b->count; i++) {
        if (how == LIBRARY)
            decode_with_library(b, &b->photos[i]);
        else
            decode_with_ours(b, i, how);
    }
    return (double)(stk__clock_ns() - begin) / 1e3 / (double)b->count;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void run(bench *b, int rounds)
{
    static double taken[WAYS][MOST_ROUNDS];
    uint64_t sums[WAYS] = {0};

    for (int round = -1; round < rounds; round++) { /* the first warms up */
        for (way how = 0; how < WAYS; how++) {
            double us;

            b->sum = 0;
            us = one_round(b, how);
            if (round < 0)
                sums[how] = b->sum;
            else
                taken[how][round] = us;
            if (how != OURS_CROP_RGBX && b->sum != sums[how])
                fail("a sum differs between rounds");
        }
    }
    if (sums[OURS_WHOLE] != sums[LIBRARY])
        fail("pixels differ from those of the library");
    for (way how = 0; how < WAYS; how++)
        qsort(taken[how], (size_t)rounds, sizeof taken[how][0], by_size);
    printf("%-28s %8s %8s %8s %8s  %s\n", "us a photograph", "median", "least", "most", "ratio",
        "sum");
    for (way how = 0; how < WAYS; how++)
        printf("%-28s %8.1f %8.1f %8.1f %8.2f  %016" PRIx64 "\n", way_names[how],
            taken[how][rounds / 2], taken[how][0], taken[how][rounds - 1],
            taken[LIBRARY][rounds / 2] / taken[how][rounds / 2], sums[how]);
}

static photo read_photo(const char *path)
{
    FILE *file = fopen(path, "rb");
    photo p = {NULL, 0};
    long size = -1;

    if (file != NULL && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    if (size > 0 && fseek(file, 0, SEEK_SET) == 0) {
        p.size = (size_t)size;
        p.data = malloc(p.size);
    }
    if (p.data == NULL || fread(p.data, 1, p.size, file) != p.size || fclose(file) != 0)
        fail(path);
    return p;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 21;
    path_list list = {0};
    bench b = {0};

    if (rounds < 1 || rounds > MOST_ROUNDS || !path_list_read(&list)) {
        (void)fprintf(stderr, "usage: bench_jpeg [rounds] < list-of-files\n");
        return 2;
    }
    b.count = list.count;
    b.photos = calloc(list.count, sizeof *b.photos);
    if (b.photos == NULL)
        fail("memory");
    for (size_t i = 0; i < list.count; i++)
        b.photos[i] = read_photo(list.paths[i]);
    b.library.err = jpeg_std_error(&b.errors);
    jpeg_create_decompress(&b.library);
    if (stk__decoder_new(&b.heap, NULL, &b.decoder, NULL) < 0)
        fail("decoder");

    run(&b, rounds);

    stk__decoder_free(b.decoder);
    jpeg_destroy_decompress(&b.library);
    for (size_t i = 0; i < b.count; i++)
        free(b.photos[i].data);
    free(b.photos);
    free(b.pixels);
    path_list_fini(&list);
    return 0;
}
