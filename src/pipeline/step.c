/*
 * Planning and making a step: see step.h.
 *
 * Pieces whose bytes touch or nearly touch in one source become one read. Random order leaves one
 * read for each sample; dataset order gives large sequential ones.
 */
#include "pipeline/step.h"

#include <string.h>

#include "base/error.h"
#include "base/philox.h"
#include "base/size.h"
#include "base/sort.h"
#include "dataset/dataset.h"
#include "os/clock.h"

/* Bytes that nobody asked for but that are cheaper to read than to leave out: tar headers,
 * paddings, and small fields of other names. */
#define GAP_BYTES 4096u

/* Tries of the law of substitution. */
#define SUBSTITUTES 16u

stk_status stk__step_init(
    stk__step *step, stk__heap *heap, const stk__schedule *schedule, stk_error *err)
{
    size_t rows = schedule->ranks.batch, fields = schedule->plan->count, pieces = 0;

    *step = (stk__step){.heap = heap, .schedule = schedule, .capacity = rows};
    if (!stk__size_mul(rows, fields, &pieces) || pieces > UINT32_MAX)
        return STK_FAIL(err, STK_EINVAL, "%zu fields of %zu samples are too many", fields, rows);
    step->row = stk__heap_zalloc(heap, rows, sizeof *step->row);
    step->need = stk__heap_zalloc(heap, fields, sizeof *step->need);
    step->ragged = stk__heap_zalloc(heap, pieces, sizeof *step->ragged);
    step->piece = stk__heap_zalloc(heap, pieces, sizeof *step->piece);
    step->sorted = stk__heap_zalloc(heap, pieces, sizeof *step->sorted);
    step->job = stk__heap_zalloc(heap, pieces, sizeof *step->job);
    step->turn = stk__heap_zalloc(heap, pieces, sizeof *step->turn);
    if (step->row == NULL || step->need == NULL || step->ragged == NULL || step->piece == NULL ||
        step->sorted == NULL || step->job == NULL || step->turn == NULL)
        return STK_FAIL(err, STK_ENOMEM, "no memory for a step of %zu samples", rows);
    return STK_OK;
}

void stk__step_fini(stk__step *step)
{
    stk__heap *heap = step->heap;
    size_t rows = step->capacity, fields, pieces;

    if (heap == NULL)
        return;
    fields = step->schedule->plan->count;
    pieces = rows * fields; /* was checked */
    if (step->row != NULL)
        stk__step_clear(step);
    stk__heap_free(heap, step->row, rows, sizeof *step->row);
    stk__heap_free(heap, step->need, fields, sizeof *step->need);
    stk__heap_free(heap, step->ragged, pieces, sizeof *step->ragged);
    stk__heap_free(heap, step->piece, pieces, sizeof *step->piece);
    stk__heap_free(heap, step->sorted, pieces, sizeof *step->sorted);
    stk__heap_free(heap, step->job, pieces, sizeof *step->job);
    stk__heap_free(heap, step->turn, pieces, sizeof *step->turn);
    step->heap = NULL;
}

uint64_t stk__step_read_bytes(const stk__field_plan *plan)
{
    uint64_t most = STK__MERGED_BYTES;

    for (size_t i = 0; i < plan->count; i++) {
        if (plan->fields[i].max_bytes > most)
            most = plan->fields[i].max_bytes;
    }
    return most;
}

uint64_t stk__step_bytes(const stk__schedule *schedule)
{
    uint64_t rows = schedule->ranks.batch;

    return rows * sizeof(stk__row) +
           rows * schedule->plan->count *
               (sizeof(stk__piece) + sizeof(stk__job) + 2 * sizeof(uint32_t) + sizeof(uint64_t));
}

void stk__step_clear(stk__step *step)
{
    for (size_t i = 0; i < step->rows; i++) {
        stk__heap_free(step->heap, step->row[i].error, 1, sizeof(stk_error));
        step->row[i].error = NULL;
    }
    step->rows = 0;
    step->piece_count = 0;
    step->job_count = 0;
    step->slot = NULL;
}

bool stk__schedule_knows(const stk__schedule *schedule, uint64_t sample)
{
    size_t low = 0, high = schedule->damaged_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (schedule->damaged[middle] < sample)
            low = middle + 1;
        else
            high = middle;
    }
    return low < schedule->damaged_count && schedule->damaged[low] == sample;
}

void stk__step_fail(stk__step *step, stk__row *row, uint32_t field, const stk_error *err)
{
    if (row->error == NULL)
        row->error = stk__heap_zalloc(step->heap, 1, sizeof *row->error);
    if (field < row->bad_field || row->bad_field == UINT32_MAX) {
        row->bad_field = field;
        if (row->error != NULL)
            *row->error = *err;
    }
}

/* Look a row up in the index: its needs into step->need, ragged sizes into theirs. */
static stk_status look_up(stk__step *step, size_t nth, uint32_t *field_out, stk_error *err)
{
    const stk__schedule *schedule = step->schedule;
    uint64_t sample = step->row[nth].sample;

    if (stk__schedule_knows(schedule, sample)) {
        *field_out = 0;
        return stk__name_place(schedule->plan, sample, SIZE_MAX, STK_STAGE_PLAN, UINT32_MAX, 0,
            STK_FAIL(err, STK_ECORRUPT, "the sample is listed as damaged"), err);
    }
    for (size_t i = 0; i < schedule->plan->count; i++) {
        *field_out = (uint32_t)i;
        STK_TRY(stk__need_of(schedule->plan, i, sample, &step->need[i], err));
    }
    return STK_OK;
}

/* Pieces of one row; what needs no bytes waits until ragged columns are laid out. */
static void plan_row(stk__step *step, size_t nth)
{
    size_t fields = step->schedule->plan->count;
    stk__row *row = &step->row[nth];
    stk_error error = STK_ERROR_INIT;
    uint32_t field = 0;

    if (look_up(step, nth, &field, &error) < 0) {
        stk__step_fail(step, row, field, &error);
        for (size_t i = 0; i < fields; i++)
            step->ragged[i * step->capacity + nth] = 0;
        return;
    }
    for (size_t i = 0; i < fields; i++) {
        const stk__need *need = &step->need[i];

        step->ragged[i * step->capacity + nth] = need->ragged_bytes;
        if (need->read) {
            step->piece[step->piece_count++] = (stk__piece){.row = (uint32_t)nth,
                .field = (uint32_t)i,
                .source = need->member.source,
                .offset = need->member.offset,
                .size = need->member.size_bytes};
        }
    }
}

static bool is_ragged(stk_field_kind kind)
{
    return kind != STK_FIELD_IMAGE && kind != STK_FIELD_LABEL && kind != STK_FIELD_ARRAY;
}

static stk_status lay_ragged(stk__step *step, stk_error *err)
{
    const stk__field_plan *plan = step->schedule->plan;

    for (size_t i = 0; i < plan->count; i++) {
        if (is_ragged(plan->fields[i].kind))
            STK_TRY(stk__slot_lay_ragged(
                step->slot, i, &step->ragged[i * step->capacity], step->rows, err));
    }
    return STK_OK;
}

/* Keys, classes of folders, and what is missing but optional. */
static void store_needs(stk__step *step)
{
    const stk__field_plan *plan = step->schedule->plan;
    stk__need need;

    for (size_t i = 0; i < plan->count; i++) {
        stk_field_kind kind = plan->fields[i].kind;

        if (kind != STK_FIELD_KEY && kind != STK_FIELD_LABEL)
            continue;
        for (size_t nth = 0; nth < step->rows; nth++) {
            if (step->row[nth].bad_field == UINT32_MAX &&
                stk__need_of(plan, i, step->row[nth].sample, &need, NULL) >= 0 && !need.read)
                stk__need_store(plan, i, &need, step->slot, nth);
        }
    }
}

static bool earlier_bytes(const void *ctx, uint32_t a, uint32_t b)
{
    const stk__piece *p = (const stk__piece *)ctx + a, *q = (const stk__piece *)ctx + b;

    if (p->source != q->source)
        return p->source < q->source;
    if (p->offset != q->offset)
        return p->offset < q->offset;
    return a < b;
}

static bool larger_job(const void *ctx, uint32_t a, uint32_t b)
{
    const stk__job *p = (const stk__job *)ctx + a, *q = (const stk__job *)ctx + b;

    return p->size != q->size ? p->size > q->size : a < b;
}

/* May the piece join the read? */
static bool joins(const stk__job *job, const stk__piece *piece)
{
    uint64_t end = job->offset + job->size, piece_end = piece->offset + piece->size;

    if (job->source != piece->source || piece->offset > end + GAP_BYTES)
        return false;
    return piece_end <= end || piece_end - job->offset <= STK__MERGED_BYTES;
}

static void merge_reads(stk__step *step)
{
    stk__job *job = NULL;

    for (size_t i = 0; i < step->piece_count; i++)
        step->sorted[i] = (uint32_t)i;
    stk__sort_u32(step->sorted, step->piece_count, earlier_bytes, step->piece);
    for (size_t i = 0; i < step->piece_count; i++) {
        const stk__piece *piece = &step->piece[step->sorted[i]];

        if (job == NULL || !joins(job, piece)) {
            job = &step->job[step->job_count];
            step->turn[step->job_count] = (uint32_t)step->job_count;
            step->job_count++;
            *job =
                (stk__job){.source = piece->source, .first = (uint32_t)i, .offset = piece->offset};
        }
        job->count++;
        if (piece->offset + piece->size > job->offset + job->size)
            job->size = piece->offset + piece->size - job->offset;
    }
    if (step->schedule->by_size)
        stk__sort_u32(step->turn, step->job_count, larger_job, step->job);
}

stk_status stk__step_plan(
    stk__step *step, stk__epoch *order, uint64_t epoch, uint64_t number, stk_error *err)
{
    const stk__ranks *ranks = &step->schedule->ranks;
    stk__slice slice = stk__ranks_slice(ranks, number);
    uint64_t *samples = stk__slot_samples(step->slot);

    step->epoch = epoch;
    step->step = number;
    step->first_nth = number * ranks->batch;
    step->rows = slice.count;
    step->piece_count = 0;
    step->job_count = 0;
    stk__epoch_set(order, epoch);
    for (size_t i = 0; i < step->rows; i++) {
        uint64_t position = slice.first + i;

        if (position >= ranks->count)
            position %= ranks->count; /* STK_TAIL_WRAP */
        step->row[i] = (stk__row){.sample = stk__epoch_at(order, position),
            .substitute = UINT64_MAX,
            .bad_field = UINT32_MAX};
        samples[i] = step->row[i].sample;
    }
    for (size_t i = 0; i < step->rows; i++)
        plan_row(step, i);
    STK_TRY(lay_ragged(step, err));
    stk__slot_set_rows(step->slot, step->rows);
    stk__slot_set_place(step->slot, epoch, number);
    store_needs(step);
    merge_reads(step);
    return STK_OK;
}

static stk__member_job member_of(const stk__step *step, const stk__piece *piece)
{
    uint64_t sample = step->row[piece->row].sample;

    return (stk__member_job){
        .field = piece->field,
        .sample = sample,
        .offset = piece->offset,
        .source = piece->source,
        .draw = {.seed = step->schedule->seed, .epoch = step->epoch, .sample = sample},
        .slot = step->slot,
        .row = piece->row,
    };
}

void stk__step_make(stk__step *step, stk__worker *worker, const stk__job *job, const uint8_t *bytes,
    void (*failed)(void *ctx, stk__row *row, uint32_t field, const stk_error *err), void *ctx)
{
    stk_error error;

    for (uint32_t i = 0; i < job->count; i++) {
        const stk__piece *piece = &step->piece[step->sorted[job->first + i]];
        stk__member_job member = member_of(step, piece);

        member.bytes = (stk_view){bytes + (piece->offset - job->offset), (size_t)piece->size};
        stk__store_relaxed_u64(&worker->at_sample, member.sample + 1);
        if (stk__worker_member(worker, &member, &error) < 0)
            failed(ctx, &step->row[piece->row], piece->field, &error);
    }
}

void stk__step_make_singly(stk__step *step, stk__worker *worker, const stk__job *job,
    void (*failed)(void *ctx, stk__row *row, uint32_t field, const stk_error *err), void *ctx)
{
    const stk__field_plan *plan = step->schedule->plan;
    stk_error error = STK_ERROR_INIT;

    for (uint32_t i = 0; i < job->count; i++) {
        const stk__piece *piece = &step->piece[step->sorted[job->first + i]];
        stk__member_job member = member_of(step, piece);
        stk_span bytes = {.size = (size_t)piece->size};
        stk_status st;

        bytes.data = stk__worker_buffer(worker, bytes.size);
        if (bytes.data == NULL)
            st = STK_FAIL(&error, STK_ENOMEM,
                "the memory ceiling left no %zu bytes to read a member", bytes.size);
        else
            st = stk_dataset_read(plan->dataset, piece->source, piece->offset, bytes, &error);
        if (st < 0) {
            st = stk__name_place(
                plan, member.sample, piece->field, STK_STAGE_READ, piece->source, 0, st, &error);
        } else {
            member.bytes = (stk_view){bytes.data, bytes.size};
            st = stk__worker_member(worker, &member, &error);
        }
        if (st < 0)
            failed(ctx, &step->row[piece->row], piece->field, &error);
    }
}

/* The first of the substitutes that can be made. */
static bool replace_row(stk__step *step, stk__worker *worker, size_t nth)
{
    const stk__schedule *schedule = step->schedule;
    stk__row *row = &step->row[nth];
    uint64_t count = stk_dataset_count(schedule->plan->dataset);
    stk_error error;

    for (uint64_t attempt = 0; attempt < SUBSTITUTES; attempt++) {
        stk__philox_block block =
            stk__philox(schedule->seed, step->epoch, row->sample, (uint64_t)1 << 63, attempt, 0);
        uint64_t sample = stk__below(block.word[0], count);
        stk_draw draw = {.seed = schedule->seed, .epoch = step->epoch, .sample = sample};

        if (sample == row->sample || stk__schedule_knows(schedule, sample))
            continue;
        if (stk__worker_row(worker, sample, &draw, step->slot, nth, &error) >= 0) {
            row->substitute = sample;
            return true;
        }
        row->tried++;
    }
    return false;
}

void stk__step_replace(stk__step *step, stk__worker *worker)
{
    for (size_t i = 0; i < step->rows; i++) {
        if (step->row[i].bad_field != UINT32_MAX)
            STK_IGNORE(!replace_row(step, worker, i)); /* delivery sees that none was found */
    }
}
