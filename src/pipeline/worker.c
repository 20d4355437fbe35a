/*
 * One thread's work on one member: see worker.h.
 *
 * A codec counts bytes from the start of its member and knows no shard; this is the place that
 * knows both, so errors get their shard, key and byte of the file here.
 */
#include "pipeline/worker.h"

#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "dataset/dataset.h"
#include "os/clock.h"
#include "os/cpu.h"

stk_status stk__worker_init(
    stk__worker *worker, stk__heap *heap, const stk__field_plan *plan, stk_error *err)
{
    *worker = (stk__worker){.heap = heap, .plan = plan};
    worker->runs = stk__heap_zalloc(heap, plan->count, sizeof(stk__image_run *));
    if (worker->runs == NULL)
        return STK_FAIL(err, STK_ENOMEM, "no memory for a worker");
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->fields[i].chain == NULL)
            continue;
        if (worker->decoder == NULL)
            STK_TRY(stk__decoder_new(heap, &plan->limits, &worker->decoder, err));
        STK_TRY(stk__image_run_new(
            heap, plan->fields[i].chain, stk__cpu_flags(), &worker->runs[i], err));
    }
    return STK_OK;
}

void stk__worker_fini(stk__worker *worker)
{
    if (worker->heap == NULL)
        return;
    for (size_t i = 0; worker->runs != NULL && i < worker->plan->count; i++)
        stk__image_run_free(worker->runs[i]);
    stk__heap_free(worker->heap, worker->runs, worker->plan->count, sizeof(stk__image_run *));
    stk__decoder_free(worker->decoder);
    stk__heap_free_aligned(worker->heap, worker->bytes, worker->bytes_capacity);
    for (int i = 0; i < 2; i++)
        stk__heap_free_aligned(worker->heap, worker->pictures[i], worker->picture_capacity[i]);
    worker->heap = NULL;
}

/* Make *buffer hold `size` bytes; a power of two, so that few sizes ever occur. */
static uint8_t *grow(stk__heap *heap, uint8_t **buffer, size_t *capacity, size_t size)
{
    size_t wanted = *capacity > 0 ? *capacity : 4096;

    if (*buffer != NULL && size <= *capacity)
        return *buffer;
    while (wanted < size && wanted < SIZE_MAX / 4)
        wanted *= 2;
    if (wanted < size)
        return NULL;
    stk__heap_free_aligned(heap, *buffer, *capacity);
    *capacity = 0;
    *buffer = stk__heap_alloc_aligned(heap, wanted);
    if (*buffer != NULL)
        *capacity = wanted;
    return *buffer;
}

stk_status stk__worker_warm(stk__worker *worker, size_t read_bytes, stk_error *err)
{
    if (stk__worker_buffer(worker, read_bytes) == NULL)
        return STK_FAIL(err, STK_ENOMEM, "no memory for a read buffer of %zu bytes", read_bytes);
    return STK_OK;
}

uint8_t *stk__worker_buffer(stk__worker *worker, size_t size)
{
    return grow(worker->heap, &worker->bytes, &worker->bytes_capacity, size);
}

/* What a field of the plan is in a sample: its extension there; where the sample has none of the
 * alternatives, all of them. */
static stk_view field_of(const stk__field_plan *plan, uint64_t sample, size_t nth)
{
    const stk__field *field = &plan->fields[nth];
    const char *text = field->source[0] != '\0' ? field->source : field->name;
    stk_sample_field found;

    if (field->id_count > 0 &&
        stk__dataset_locate(plan->dataset, sample, field->ids, field->id_count, &found, NULL) >= 0)
        return found.field;
    return (stk_view){text, strlen(text)};
}

stk_status stk__name_place(const stk__field_plan *plan, uint64_t sample, size_t field,
    stk_stage stage, uint32_t source, uint64_t base, stk_status st, stk_error *err)
{
    char path[sizeof err->source];
    stk_sample found = {0};
    stk__place place = {.stage = stage, .sample = sample + 1, .base = base};

    if (st >= 0 || err == NULL)
        return st;
    if (stk_dataset_sample(plan->dataset, sample, &found, NULL) >= 0) {
        place.key = found.key;
        place.shard = stk_dataset_shard_name(plan->dataset, found.shard);
    }
    if (field < plan->count)
        place.field = field_of(plan, sample, field);
    if (source != UINT32_MAX) {
        stk_dataset_source_path(plan->dataset, source, path, sizeof path);
        place.source = path;
    }
    return stk__error_in(st, &place, err);
}

/* Rows on their way from a decoder into a run, with the time that the run takes. */
typedef struct timed_run {
    stk__image_run *run;
    uint64_t busy_ns;
} timed_run;

static stk_status timed_rows(
    void *ctx, const uint8_t *pixels, size_t pitch_bytes, uint32_t count, stk_error *err)
{
    timed_run *timed = ctx;
    uint64_t begin = stk__clock_ns();
    stk_status st = stk__image_run_rows(timed->run, pixels, pitch_bytes, count, err);

    timed->busy_ns += stk__clock_ns() - begin;
    return st;
}

/* Rows on their way into a picture in memory. */
typedef struct memory_rows {
    uint8_t *at;
    size_t row_bytes;
} memory_rows;

static stk_status keep_rows(
    void *ctx, const uint8_t *pixels, size_t pitch_bytes, uint32_t count, stk_error *err)
{
    memory_rows *kept = ctx;

    (void)err;
    for (uint32_t i = 0; i < count; i++) {
        memcpy(kept->at, pixels + i * pitch_bytes, kept->row_bytes);
        kept->at += kept->row_bytes;
    }
    return STK_OK;
}

/* A picture that lies turned: decoded whole, turned in memory, then given row by row. */
static stk_status turned_image(stk__worker *worker, stk__image_run *run, const stk_image_info *info,
    const stk_draw *draw, void *dst, uint64_t *transform_ns, stk_error *err)
{
    const stk_rect all = {0, 0, info->width, info->height};
    bool swapped = info->orientation >= 5;
    stk_image stored = {.width = info->width, .height = info->height};
    stk_image seen = {.width = swapped ? info->height : info->width,
        .height = swapped ? info->width : info->height};
    size_t bytes = (size_t)info->width * info->height * 4; /* max_pixels bounds it */
    memory_rows kept = {.row_bytes = (size_t)info->width * 4};
    const stk__row_sink sink = {.ctx = &kept, .rows = keep_rows};
    stk_rect crop;
    uint64_t begin;
    stk_status st;

    stored.data = grow(worker->heap, &worker->pictures[0], &worker->picture_capacity[0], bytes);
    seen.data = grow(worker->heap, &worker->pictures[1], &worker->picture_capacity[1], bytes);
    if (stored.data == NULL || seen.data == NULL)
        return STK_FAIL(
            err, STK_ENOMEM, "no memory to turn a picture of %u x %u", info->width, info->height);
    stored.pitch_bytes = (size_t)stored.width * 4;
    seen.pitch_bytes = (size_t)seen.width * 4;
    kept.at = stored.data;
    STK_TRY(stk__decoder_read(worker->decoder, &all, STK__RGBX8, &sink, err));
    begin = stk__clock_ns();
    stk__image_orient(&stored, &seen, info->orientation);
    st = stk__image_run_begin(run, seen.width, seen.height, draw, dst, &crop, err);
    if (st >= 0 && crop.height > 0)
        st = stk__image_run_rows(run,
            (const uint8_t *)seen.data + crop.top * seen.pitch_bytes + (size_t)crop.left * 4,
            seen.pitch_bytes, crop.height, err);
    if (st >= 0)
        st = stk__image_run_end(run, err);
    *transform_ns = stk__clock_ns() - begin;
    return st;
}

static stk_status check_shape(const stk__field *field, const stk_image_info *info, stk_error *err)
{
    bool swapped = field->orient && info->orientation >= 5;
    uint32_t width, height;

    STK_TRY(stk__image_chain_shape(field->chain, swapped ? info->height : info->width,
        swapped ? info->width : info->height, &width, &height, err));
    if (width != field->width || height != field->height)
        return STK_FAIL(err, STK_ESHAPE,
            "the picture of %u x %u came out as %u x %u, while others of the batch are %u x %u",
            info->width, info->height, width, height, field->width, field->height);
    return STK_OK;
}

static stk_status make_image(stk__worker *worker, const stk__field *field, stk__image_run *run,
    const stk__member_job *job, stk_stage *stage_out, stk_error *err)
{
    void *dst = stk__slot_row(job->slot, job->field, job->row);
    timed_run timed = {.run = run};
    const stk__row_sink sink = {.ctx = &timed, .rows = timed_rows};
    uint64_t begin = stk__clock_ns(), all_ns;
    stk_image_info info;
    stk_rect crop;
    stk_status st;

    *stage_out = STK_STAGE_DECODE;
    st = stk__decoder_begin(worker->decoder, job->bytes, &info, err);
    if (st < 0)
        return st;
    *stage_out = STK_STAGE_TRANSFORM;
    st = check_shape(field, &info, err);
    if (st < 0)
        return st;
    if (field->orient && info.orientation > 1) {
        *stage_out = STK_STAGE_DECODE;
        st = turned_image(worker, run, &info, &job->draw, dst, &timed.busy_ns, err);
    } else {
        st = stk__image_run_begin(run, info.width, info.height, &job->draw, dst, &crop, err);
        *stage_out = STK_STAGE_DECODE;
        if (st >= 0 && crop.height > 0)
            st = stk__decoder_read(worker->decoder, &crop, STK__RGBX8, &sink, err);
        if (st >= 0)
            st = stk__image_run_end(run, err);
    }
    all_ns = stk__clock_ns() - begin;
    stk__stage_add(&worker->stages[STK_STAGE_DECODE], 1, all_ns - timed.busy_ns, job->bytes.size);
    stk__stage_add(&worker->stages[STK_STAGE_TRANSFORM], 1, timed.busy_ns,
        (uint64_t)field->width * field->height * 3 * stk_dtype_bytes(field->dtype));
    return st;
}

static stk_status make_array(
    stk__worker *worker, const stk__field *field, const stk__member_job *job, stk_error *err)
{
    const stk_limits *limits = &worker->plan->limits;
    const stk_npy_info *want = &field->npy;
    stk_npy_info info;
    stk_span dst = {.data = stk__slot_row(job->slot, job->field, job->row)};

    STK_TRY(stk_npy_probe(job->bytes, limits, &info, err));
    if (info.dtype != want->dtype)
        return STK_FAIL(err, STK_ESHAPE, "the array is %s, while others of the batch are %s",
            stk_dtype_name(info.dtype), stk_dtype_name(want->dtype));
    if (info.ndim != want->ndim ||
        memcmp(info.shape, want->shape, info.ndim * sizeof info.shape[0]) != 0)
        return STK_FAIL(err, STK_ESHAPE,
            "the array has %u axes and %llu elements, not the shape that others of the batch have",
            info.ndim, (unsigned long long)info.count);
    dst.size = (size_t)info.count * stk_dtype_bytes(info.dtype); /* fits: the slot has it */
    return stk_npy_read(job->bytes, limits, dst, err);
}

static stk_status make_ragged(
    stk__worker *worker, const stk__field *field, const stk__member_job *job, stk_error *err)
{
    size_t room;
    void *dst = stk__slot_ragged(job->slot, job->field, job->row, &room);

    if (room != job->bytes.size)
        return STK_FAIL(err, STK_EINDEX, "the member has %zu bytes, its row was laid out for %zu",
            job->bytes.size, room);
    if (field->kind == STK_FIELD_TEXT)
        STK_TRY(stk_text_utf8(job->bytes, err));
    if (field->kind == STK_FIELD_JSON)
        STK_TRY(stk_json_check(job->bytes, &worker->plan->limits, err));
    if (room > 0)
        memcpy(dst, job->bytes.data, room);
    return STK_OK;
}

stk_status stk__worker_member(stk__worker *worker, const stk__member_job *job, stk_error *err)
{
    const stk__field *field = &worker->plan->fields[job->field];
    stk_stage stage = STK_STAGE_DECODE;
    int64_t label;
    stk_status st = STK_OK;

    switch (field->kind) {
    case STK_FIELD_IMAGE:
        st = make_image(worker, field, worker->runs[job->field], job, &stage, err);
        break;
    case STK_FIELD_LABEL:
        st = stk_text_integer(job->bytes, &label, err);
        if (st >= 0)
            memcpy(stk__slot_row(job->slot, job->field, job->row), &label, sizeof label);
        break;
    case STK_FIELD_ARRAY:
        st = make_array(worker, field, job, err);
        break;
    case STK_FIELD_BYTES:
    case STK_FIELD_TEXT:
    case STK_FIELD_JSON:
        st = make_ragged(worker, field, job, err);
        break;
    case STK_FIELD_KEY: /* needs no bytes */
        break;
    }
    if (st < 0)
        return stk__name_place(
            worker->plan, job->sample, job->field, stage, job->source, job->offset, st, err);
    return STK_OK;
}

static bool is_ragged(stk_field_kind kind)
{
    return kind == STK_FIELD_BYTES || kind == STK_FIELD_TEXT || kind == STK_FIELD_JSON ||
           kind == STK_FIELD_KEY;
}

stk_status stk__need_of(
    const stk__field_plan *plan, size_t nth, uint64_t sample, stk__need *need_out, stk_error *err)
{
    const stk__field *field = &plan->fields[nth];
    stk_sample found;
    stk_status st = STK_EFIELD;

    need_out->read = false;
    need_out->ragged_bytes = 0;
    need_out->label = -1;
    need_out->key = (stk_view){NULL, 0};
    if (field->kind == STK_FIELD_KEY) {
        st = stk_dataset_sample(plan->dataset, sample, &found, err);
        need_out->key = found.key;
        need_out->ragged_bytes = found.key.size;
        return st;
    }
    if (field->id_count > 0)
        st = stk__dataset_locate(plan->dataset, sample, field->ids, field->id_count,
            &need_out->member, field->optional || field->from_folder ? NULL : err);
    else if (!field->optional && !field->from_folder)
        st = STK_FAIL(err, STK_EFIELD, "the sample has no %s", field->source);
    if (st >= 0) {
        if (need_out->member.size_bytes > plan->limits.max_member_bytes)
            return stk__name_place(plan, sample, nth, STK_STAGE_PLAN, UINT32_MAX, 0,
                STK_FAIL(err, STK_ELIMIT, "the member has %llu bytes; max_member_bytes is %llu",
                    (unsigned long long)need_out->member.size_bytes,
                    (unsigned long long)plan->limits.max_member_bytes),
                err);
        need_out->read = true;
        need_out->ragged_bytes = is_ragged(field->kind) ? need_out->member.size_bytes : 0;
        return STK_OK;
    }
    if (st == STK_EFIELD && field->from_folder) {
        STK_TRY(stk_dataset_sample(plan->dataset, sample, &found, err));
        need_out->label = found.label;
        if (found.label >= 0 || field->optional)
            return STK_OK;
        st = STK_FAIL(
            err, STK_EFIELD, "the sample has no %s and lies in no class folder", field->source);
    }
    if (st == STK_EFIELD && field->optional)
        return STK_OK;
    return stk__name_place(plan, sample, nth, STK_STAGE_PLAN, UINT32_MAX, 0, st, err);
}

void stk__need_store(
    const stk__field_plan *plan, size_t nth, const stk__need *need, stk_batch *slot, size_t row)
{
    const stk__field *field = &plan->fields[nth];
    size_t room;

    if (field->kind == STK_FIELD_LABEL) {
        memcpy(stk__slot_row(slot, nth, row), &need->label, sizeof need->label);
    } else if (field->kind == STK_FIELD_KEY && need->key.size > 0) {
        void *dst = stk__slot_ragged(slot, nth, row, &room);
        memcpy(dst, need->key.data, stk__size_min(room, need->key.size));
    }
}

/* One field of a row: read, waiting if need be, and made. */
static stk_status row_field(stk__worker *worker, size_t nth, uint64_t sample, const stk_draw *draw,
    stk_batch *slot, size_t row, stk_error *err)
{
    const stk__field_plan *plan = worker->plan;
    stk__member_job job = {.field = nth, .sample = sample, .draw = *draw, .slot = slot, .row = row};
    stk__need need;
    stk_span bytes;
    stk_status st;

    STK_TRY(stk__need_of(plan, nth, sample, &need, err));
    if (is_ragged(plan->fields[nth].kind))
        STK_TRY(stk__slot_resize_ragged(slot, nth, row, need.ragged_bytes, err));
    if (!need.read) {
        stk__need_store(plan, nth, &need, slot, row);
        return STK_OK;
    }
    bytes.size = (size_t)need.member.size_bytes;
    bytes.data = stk__worker_buffer(worker, bytes.size);
    if (bytes.data == NULL)
        return stk__name_place(plan, sample, nth, STK_STAGE_READ, need.member.source, 0,
            STK_FAIL(err, STK_ENOMEM, "the memory ceiling left no %zu bytes to read a member",
                bytes.size),
            err);
    st = stk_dataset_read(plan->dataset, need.member.source, need.member.offset, bytes, err);
    if (st < 0)
        return stk__name_place(plan, sample, nth, STK_STAGE_READ, need.member.source, 0, st, err);
    job.source = need.member.source;
    job.offset = need.member.offset;
    job.bytes = (stk_view){bytes.data, bytes.size};
    return stk__worker_member(worker, &job, err);
}

stk_status stk__worker_row(stk__worker *worker, uint64_t sample, const stk_draw *draw,
    stk_batch *slot, size_t row, stk_error *err)
{
    for (size_t i = 0; i < worker->plan->count; i++)
        STK_TRY(row_field(worker, i, sample, draw, slot, row, err));
    stk__slot_samples(slot)[row] = sample;
    return STK_OK;
}
