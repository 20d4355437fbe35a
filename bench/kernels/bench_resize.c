/*
 * Microseconds a picture for the transforms of the main job: rows of 500x375 pixels as a decoder
 * gives them, RandomResizedCrop 224 and flip (or another job), into the slot of a batch.
 *
 *     bench_resize [rounds [job [set]]]    0 is the first; -1, and nothing: all
 *
 * The kernels of each instruction set take turns on the same pictures in one run; median and spread
 * of the rounds are printed, with a sum over all output bytes that has to agree.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/heap.h"
#include "os/clock.h"
#include "os/cpu.h"
#include "transform/image_chain.h"

enum {
    WIDTH = 500,
    HEIGHT = 375,
    STRIP_ROWS = 16,
    PICTURES = 64, /* a round */
    MOST_ROUNDS = 999,
    SETS = 3,
};

typedef struct job {
    const char *name;
    stk_transform chain[4];
    size_t count;
    stk_layout layout;
    stk_dtype dtype;
} job;

typedef struct set {
    const char *name;
    uint32_t cpu;
} set;

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "bench_resize: %s\n", what);
    exit(1);
}

static void give_rows(stk__image_run *run, const uint8_t *rgbx, const stk_rect *part)
{
    for (uint32_t row = 0; row < part->height; row += STRIP_ROWS) {
        uint32_t left = part->height - row, count = left < STRIP_ROWS ? left : STRIP_ROWS;
        const uint8_t *at = rgbx + ((size_t)(part->top + row) * WIDTH + part->left) * 4;

        if (stk__image_run_rows(run, at, (size_t)WIDTH * 4, count, NULL) < 0)
            fail("rows");
    }
}

/* One round of pictures; nanoseconds a picture, and the sum of the last of them. */
static double one_round(
    stk__image_run *run, const uint8_t *rgbx, uint8_t *out, size_t out_bytes, uint32_t *sum_out)
{
    uint64_t begin = stk__clock_ns(), end;

    for (uint64_t i = 0; i < PICTURES; i++) {
        stk_draw draw = {7, 1, i};
        stk_rect part;

        if (stk__image_run_begin(
                run, WIDTH, HEIGHT, &draw, out + (i % 8) * out_bytes, &part, NULL) < 0)
            fail("begin");
        give_rows(run, rgbx, &part);
        if (stk__image_run_end(run, NULL) < 0)
            fail("end");
    }
    end = stk__clock_ns();
    if (sum_out != NULL)
        *sum_out = stk__crc32c(0, out, out_bytes * 8);
    return (double)(end - begin) / (double)PICTURES;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void run_job(const job *j, const set *sets, const uint8_t *rgbx, int rounds, int only)
{
    static double times[SETS][MOST_ROUNDS];
    stk__heap heap = {0};
    stk__image_chain *chain;
    stk__image_run *run[SETS];
    uint32_t width, height, sum[SETS];
    size_t out_bytes;
    uint8_t *out;

    if (stk__image_chain_new(&heap, j->chain, j->count, j->layout, j->dtype, &chain, NULL) < 0 ||
        stk__image_chain_shape(chain, WIDTH, HEIGHT, &width, &height, NULL) < 0)
        fail("chain");
    out_bytes = (size_t)width * height * 3 * stk_dtype_bytes(j->dtype);
    out = stk__heap_alloc_aligned(&heap, out_bytes * 8);
    for (int s = 0; s < SETS; s++) {
        if (stk__image_run_new(&heap, chain, sets[s].cpu, &run[s], NULL) < 0 || out == NULL)
            fail("memory");
        one_round(run[s], rgbx, out, out_bytes, &sum[s]); /* warm */
    }
    for (int round = 0; round < rounds; round++) {
        for (int s = 0; s < SETS; s++) {
            if (only < 0 || s == only)
                times[s][round] = one_round(run[s], rgbx, out, out_bytes, NULL);
        }
    }
    printf("%-34s", j->name);
    for (int s = 0; s < SETS; s++) {
        qsort(times[s], (size_t)rounds, sizeof **times, ascending);
        printf("  %s %7.1f (%.1f to %.1f)", sets[s].name, times[s][rounds / 2] * 1e-3,
            times[s][rounds / 10] * 1e-3, times[s][rounds - 1 - rounds / 10] * 1e-3);
        if (sum[s] != sum[0])
            fail("the sets differ");
    }
    printf("  sum %08" PRIx32 "\n", sum[0]);
    for (int s = 0; s < SETS; s++)
        stk__image_run_free(run[s]);
    stk__heap_free_aligned(&heap, out, out_bytes * 8);
    stk__image_chain_free(chain);
}

int main(int argc, char **argv)
{
    const stk_transform start = STK_TRANSFORM_INIT;
    const uint32_t cpu = stk__cpu_flags();
    const set sets[SETS] = {{"scalar", 0}, {"avx2", cpu & STK__CPU_AVX2}, {"best", cpu}};
    const int rounds = argc > 1 ? atoi(argv[1]) : 31;
    const int only_job = argc > 2 ? atoi(argv[2]) : -1, only_set = argc > 3 ? atoi(argv[3]) : -1;
    stk_transform crop = start, flip = start, resize = start, centre = start, normal = start;
    stk_transform cubic;
    uint8_t *rgbx = malloc((size_t)WIDTH * HEIGHT * 4);

    if (rgbx == NULL || rounds < 1 || rounds > MOST_ROUNDS)
        fail("rounds: 1 to 999");
    for (size_t i = 0; i < (size_t)WIDTH * HEIGHT * 4; i++)
        rgbx[i] = (uint8_t)stk__mix64(i);
    crop.kind = STK_RANDOM_RESIZED_CROP;
    crop.width = crop.height = 224;
    cubic = crop;
    cubic.interpolation = STK_BICUBIC;
    flip.kind = STK_RANDOM_HORIZONTAL_FLIP;
    resize.kind = STK_RESIZE;
    resize.height = 256;
    centre.kind = STK_CENTER_CROP;
    centre.width = centre.height = 224;
    normal.kind = STK_NORMALIZE;
    for (int c = 0; c < 3; c++) {
        normal.mean[c] = 0.45f;
        normal.std[c] = 0.225f;
    }
    const job jobs[] = {
        {"crop 224, flip, u8 NCHW", {crop, flip}, 2, STK_NCHW, STK_U8},
        {"crop 224, flip, u8 NHWC", {crop, flip}, 2, STK_NHWC, STK_U8},
        {"crop 224 bicubic, flip, u8 NCHW", {cubic, flip}, 2, STK_NCHW, STK_U8},
        {"crop 224, flip, normal, f32 NCHW", {crop, flip, normal}, 3, STK_NCHW, STK_F32},
        {"crop 224, flip, normal, f16 NCHW", {crop, flip, normal}, 3, STK_NCHW, STK_F16},
        {"resize 256, centre 224, u8 NCHW", {resize, centre}, 2, STK_NCHW, STK_U8},
        {"centre 224, u8 NCHW", {centre}, 1, STK_NCHW, STK_U8},
    };

    printf("us a picture: median (10 %% to 90 %%) of %d rounds of %d pictures\n", rounds, PICTURES);
    for (int i = 0; i < (int)(sizeof jobs / sizeof jobs[0]); i++) {
        if (only_job < 0 || i == only_job)
            run_job(&jobs[i], sets, rgbx, rounds, only_set);
    }
    free(rgbx);
    return 0;
}
