/* A picture through its chain: parameters, stages, rows. See image_chain.h. */
#include <string.h>

#include "base/error.h"
#include "transform/chain_int.h"
#include "transform/image_chain.h"
#include "transform/image_laws.h"
#include "transform/image_stage.h"

typedef enum run_state {
    RUN_IDLE,
    RUN_ROWS, /* begun: rows are wanted */
} run_state;

struct stk__image_run {
    stk__heap *heap;               /* not ours */
    const stk__image_chain *chain; /* not ours */
    stk__kernels kernels;
    stk__stage *stages;     /* chain->stages of them */
    stk__scratch *pictures; /* RGBX, between a stage and the next; one fewer */
    size_t used;            /* stages of this picture */
    size_t from;            /* the first of them that is needed: what follows is not all fill */
    uint32_t width, height; /* of what the plan has made so far */
    run_state state;
};

stk_status stk__image_run_new(stk__heap *heap, const stk__image_chain *chain, uint32_t cpu,
    stk__image_run **run_out, stk_error *err)
{
    stk__image_run *run = stk__heap_zalloc(heap, 1, sizeof *run);

    if (run == NULL)
        return STK_FAIL(err, STK_ENOMEM, "no memory for image transforms");
    run->heap = heap; /* before anything else can fail: freeing needs it */
    run->chain = chain;
    stk__kernels_init(&run->kernels, cpu);
    run->stages = stk__heap_zalloc(heap, chain->stages, sizeof *run->stages);
    run->pictures = stk__heap_zalloc(heap, chain->stages, sizeof *run->pictures);
    if (run->stages == NULL || run->pictures == NULL) {
        stk__image_run_free(run);
        return STK_FAIL(
            err, STK_ENOMEM, "no memory for %zu stages of image transforms", chain->stages);
    }
    for (size_t i = 0; i < chain->stages; i++) {
        run->stages[i].heap = heap;
        run->stages[i].kernels = &run->kernels;
        run->stages[i].transforms = chain->transforms;
    }
    *run_out = run;
    return STK_OK;
}

void stk__image_run_free(stk__image_run *run)
{
    if (run == NULL)
        return;
    for (size_t i = 0; i < run->chain->stages; i++) {
        if (run->stages != NULL && run->stages[i].heap != NULL)
            stk__stage_fini(&run->stages[i]);
        if (run->pictures != NULL)
            stk__scratch_fini(&run->pictures[i], run->heap);
    }
    stk__heap_free(run->heap, run->stages, run->chain->stages, sizeof *run->stages);
    stk__heap_free(run->heap, run->pictures, run->chain->stages, sizeof *run->pictures);
    stk__heap_free(run->heap, run, 1, sizeof *run);
}

static stk_status no_memory(stk_error *err)
{
    return STK_FAIL(err, STK_ENOMEM, "no memory for the columns and rows of a picture");
}

static stk__stage *current(stk__image_run *run)
{
    return &run->stages[run->used - 1];
}

/* Crop and padding of transform `index`. */
static stk_status plan_window(stk__image_run *run, const stk__window *window, stk_padding_mode mode,
    size_t index, stk_error *err)
{
    stk__stage *stage = current(run);

    if (!stk__axis_window(
            &stage->x, run->heap, window->left, window->width, mode, (uint32_t)index) ||
        !stk__axis_window(&stage->y, run->heap, window->top, window->height, mode, (uint32_t)index))
        return no_memory(err);
    run->width = window->width;
    run->height = window->height;
    return STK_OK;
}

static stk_status plan_crop(stk__image_run *run, uint32_t left, uint32_t top, uint32_t width,
    uint32_t height, stk_error *err)
{
    stk__window window = {left, top, width, height};

    return plan_window(run, &window, STK_PAD_CONSTANT, 0, err);
}

static stk_status plan_resize(
    stk__image_run *run, const stk_transform *t, uint32_t width, uint32_t height, stk_error *err)
{
    stk__stage *stage = current(run);

    if (width == run->width && height == run->height)
        return STK_OK;
    if (t->interpolation == STK_NEAREST) {
        if (!stk__axis_nearest(&stage->x, run->heap, width) ||
            !stk__axis_nearest(&stage->y, run->heap, height))
            return no_memory(err);
    } else {
        if (!stk__stage_can_resample(stage)) {
            stage = &run->stages[run->used++];
            stk__stage_begin(stage, run->width, run->height);
        }
        stk__stage_resample(stage, width, height, t->interpolation, t->antialias);
    }
    run->width = width;
    run->height = height;
    return STK_OK;
}

static stk_status plan_random_resized_crop(
    stk__image_run *run, const stk_transform *t, stk__draws *draws, stk_error *err)
{
    stk_rect rect = stk__law_random_resized_crop(t, run->width, run->height, draws);

    STK_TRY(plan_crop(run, rect.left, rect.top, rect.width, rect.height, err));
    return plan_resize(run, t, t->width, t->height, err);
}

static stk_status plan_transform(
    stk__image_run *run, size_t index, const stk_draw *draw, stk_error *err)
{
    const stk_transform *t = &run->chain->transforms[index];
    stk__draws draws = {draw->seed, draw->epoch, draw->sample, index, 0};
    uint32_t width = run->width, height = run->height;
    stk__window window;

    switch (t->kind) {
    case STK_RESIZE:
        STK_TRY(stk__law_size(t, index, &width, &height, err));
        return plan_resize(run, t, width, height, err);
    case STK_CENTER_CROP:
        window = stk__law_center_crop(t, width, height);
        return plan_window(run, &window, STK_PAD_CONSTANT, index, err);
    case STK_RANDOM_CROP:
        STK_TRY(stk__law_size(t, index, &width, &height, err));
        window = stk__law_random_crop(t, run->width, run->height, &draws);
        return plan_window(run, &window, t->padding_mode, index, err);
    case STK_RANDOM_RESIZED_CROP:
        return plan_random_resized_crop(run, t, &draws, err);
    case STK_CROP:
        STK_TRY(stk__law_size(t, index, &width, &height, err));
        return plan_crop(run, t->left, t->top, t->width, t->height, err);
    case STK_RANDOM_HORIZONTAL_FLIP:
        if (stk__law_flip(t, &draws))
            stk__axis_flip(&current(run)->x);
        return STK_OK;
    case STK_HORIZONTAL_FLIP:
        stk__axis_flip(&current(run)->x);
        return STK_OK;
    case STK_NORMALIZE:
        break;
    }
    return STK_OK;
}

/* The last stage makes all its rows; each one before it what the next one needs. */
static stk_status settle(stk__image_run *run, stk_error *err)
{
    run->from = run->used - 1;
    for (;;) {
        stk__stage *stage = &run->stages[run->from], *before = stage - 1;
        const stk_rect *part = &stage->source;

        STK_TRY(stk__stage_settle(stage, err));
        if (run->from == 0 || part->height == 0)
            return STK_OK;
        run->from--;
        if (!stk__axis_window(&before->x, run->heap, part->left, part->width, STK_PAD_EDGE, 0) ||
            !stk__axis_window(&before->y, run->heap, part->top, part->height, STK_PAD_EDGE, 0))
            return no_memory(err);
    }
}

/* The picture between a stage and the next: RGBX. What the next stage needs of it may change from
 * sample to sample, so there is room for twice of that, or for all there is. */
static uint8_t *picture_between(stk__image_run *run, size_t i, const stk__target *target)
{
    const stk__stage *next = &run->stages[i + 1];
    const size_t pixels = (size_t)target->width * target->height;
    const size_t all = (size_t)next->source_width * next->source_height;

    return stk__scratch_need(
        &run->pictures[i], run->heap, pixels, pixels * 2 < all ? pixels * 2 : all, 4, 0);
}

/* Targets: a picture after each stage but the last, whose rows go to dst. */
static stk_status start(stk__image_run *run, void *dst, stk_error *err)
{
    for (size_t i = run->from; i < run->used; i++) {
        stk__stage *stage = &run->stages[i];
        const bool is_last = i + 1 == run->used;
        stk__target target = {
            .chain = is_last ? run->chain : NULL,
            .pixels = dst,
            .width = stage->x.count,
            .height = stage->y.count,
        };

        if (!is_last) {
            target.pixels = picture_between(run, i, &target);
            if (target.pixels == NULL)
                return STK_FAIL(err, STK_ENOMEM, "no memory for a picture of %ux%u between resizes",
                    target.width, target.height);
        }
        stk__stage_start(stage, &target);
    }
    return STK_OK;
}

stk_status stk__image_run_begin(stk__image_run *run, uint32_t width, uint32_t height,
    const stk_draw *draw, void *dst, stk_rect *crop_out, stk_error *err)
{
    static const stk_draw none = {0, 0, 0};
    uint32_t out_width, out_height;

    run->state = RUN_IDLE;
    STK_TRY(stk__image_chain_shape(run->chain, width, height, &out_width, &out_height, err));
    run->width = width;
    run->height = height;
    run->used = 1;
    stk__stage_begin(&run->stages[0], width, height);
    for (size_t i = 0; i < run->chain->geometry; i++)
        STK_TRY(plan_transform(run, i, draw != NULL ? draw : &none, err));
    STK_TRY(settle(run, err));
    STK_TRY(start(run, dst, err));
    *crop_out = run->stages[run->from].source;
    run->state = RUN_ROWS;
    return STK_OK;
}

stk_status stk__image_run_rows(
    void *ctx, const uint8_t *pixels, size_t pitch_bytes, uint32_t count, stk_error *err)
{
    stk__image_run *run = ctx;
    stk__stage *stage = &run->stages[run->from];

    if (run->state != RUN_ROWS || count > stage->source.height - stage->received)
        return STK_FAIL(err, STK_EINVAL, "%u rows were given; %u are wanted", count,
            run->state == RUN_ROWS ? stage->source.height - stage->received : 0);
    stk__stage_rows(stage, pixels, pitch_bytes, count);
    return STK_OK;
}

stk_status stk__image_run_end(stk__image_run *run, stk_error *err)
{
    const stk__stage *first = &run->stages[run->from];

    if (run->state != RUN_ROWS)
        return STK_FAIL(err, STK_EINVAL, "no picture was begun");
    run->state = RUN_IDLE;
    if (first->received < first->source.height)
        return STK_FAIL(err, STK_EINVAL, "%u rows of a picture were given; %u are wanted",
            first->received, first->source.height);
    for (size_t i = run->from; i < run->used; i++) {
        stk__stage *stage = &run->stages[i];

        if (i > run->from)
            stk__stage_rows(stage, run->stages[i - 1].target.pixels,
                (size_t)stage->source.width * 4, stage->source.height);
        stk__stage_finish(stage);
    }
    return STK_OK;
}
