/*
 * A pass over samples in order, with large reads: see <stoker/dataset.h>.
 *
 * A window holds a stretch of one tar file. While samples lie inside it they are views into it; the
 * next one that does not starts the next window. Two kinds of samples are gathered field by field
 * instead: files of folders, and those whose fields lie far apart (a link leads back).
 *
 * Threads: a scan belongs to one thread at a time.
 */
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "dataset/dataset.h"
#include "dataset/dataset_int.h"

/* Large enough for disks and networks, small enough to stay in the cache of a core. */
#define WINDOW_BYTES ((uint64_t)1 << 20)

struct stk_scan {
    stk_dataset *dataset; /* a reference of its own */
    uint64_t next, last;
    uint32_t shard;        /* of the sample `next`, once it is found */
    const stk__part *part; /* of that shard; NULL: it is to be found */
    uint64_t shard_end;    /* its samples end here, or those of the scan */
    uint64_t stop;         /* tar: nothing is wanted of it from here on */
    stk_sample_field *fields;
    stk_view *data;
    size_t capacity; /* of both */
    uint8_t *buffer;
    size_t buffer_bytes;
    uint32_t source; /* the window: what it holds of which file; size 0: nothing */
    uint64_t start, size;
};

/* Where the fields of a sample lie in their file. */
typedef struct extent {
    uint64_t low, high;
    uint64_t total; /* bytes of all fields */
} extent;

stk_status stk_scan_open(
    stk_dataset *dataset, uint64_t first, uint64_t last, stk_scan **scan_out, stk_error *err)
{
    stk_scan *scan;

    if (first > last || last > dataset->samples)
        return STK_FAIL(err, STK_ERANGE, "samples %llu to %llu of a dataset with %llu",
            (unsigned long long)first, (unsigned long long)last,
            (unsigned long long)dataset->samples);
    scan = stk__heap_zalloc(&dataset->heap, 1, sizeof *scan);
    if (scan == NULL)
        return STK_FAIL(err, STK_ENOMEM, "no memory for a scan");
    scan->dataset = stk_dataset_ref(dataset);
    scan->next = first;
    scan->last = last;
    *scan_out = scan;
    return STK_OK;
}

void stk_scan_close(stk_scan *scan)
{
    stk_dataset *ds;

    if (scan == NULL)
        return;
    ds = scan->dataset;
    stk__heap_free(&ds->heap, scan->fields, scan->capacity, sizeof *scan->fields);
    stk__heap_free(&ds->heap, scan->data, scan->capacity, sizeof *scan->data);
    stk__heap_free_aligned(&ds->heap, scan->buffer, scan->buffer_bytes);
    stk__heap_free(&ds->heap, scan, 1, sizeof *scan);
    stk_dataset_unref(ds);
}

static stk_status no_memory(stk_error *err)
{
    return STK_FAIL(err, STK_ENOMEM, "no memory for the fields of a sample");
}

static stk_status need_fields(stk_scan *scan, size_t count, stk_error *err)
{
    stk__heap *heap = &scan->dataset->heap;
    size_t larger = count < 16 ? 16 : count + count / 2;
    stk_sample_field *fields;
    stk_view *data;

    if (STK__LIKELY(count <= scan->capacity))
        return STK_OK;
    fields = stk__heap_alloc(heap, larger, sizeof *fields);
    data = stk__heap_alloc(heap, larger, sizeof *data);
    if (fields == NULL || data == NULL) {
        stk__heap_free(heap, fields, larger, sizeof *fields);
        stk__heap_free(heap, data, larger, sizeof *data);
        return no_memory(err);
    }
    stk__heap_free(heap, scan->fields, scan->capacity, sizeof *fields);
    stk__heap_free(heap, scan->data, scan->capacity, sizeof *data);
    scan->fields = fields;
    scan->data = data;
    scan->capacity = larger;
    return STK_OK;
}

/* Room in the buffer; what is in it goes when it grows. */
static stk_status need_bytes(stk_scan *scan, uint64_t size, stk_error *err)
{
    stk__heap *heap = &scan->dataset->heap;
    uint64_t larger = size < WINDOW_BYTES ? WINDOW_BYTES : size;

    if (size <= scan->buffer_bytes)
        return STK_OK;
    scan->size = 0;
    stk__heap_free_aligned(heap, scan->buffer, scan->buffer_bytes);
    scan->buffer_bytes = 0;
    scan->buffer = larger > SIZE_MAX ? NULL : stk__heap_alloc_aligned(heap, (size_t)larger);
    if (scan->buffer == NULL)
        return no_memory(err);
    scan->buffer_bytes = (size_t)larger;
    return STK_OK;
}

/* The byte behind the last one that the samples of this shard want. */
static uint64_t find_stop(const stk__part *part, uint64_t local)
{
    uint64_t first, end, stop = 0;
    stk__index_entry entry;

    if (!stk__index_sample(part->index, local, &first, &end))
        return part->index->source.size_bytes; /* found out when it is its turn */
    for (; first < end; first++)
        if (stk__index_member(part->index, first, &entry) && entry.offset + entry.size_bytes > stop)
            stop = entry.offset + entry.size_bytes;
    return stop;
}

static void find_shard(stk_scan *scan)
{
    const stk_dataset *ds = scan->dataset;

    scan->shard = stk__dataset_shard_of(ds, scan->next);
    scan->part = &ds->parts[ds->shards[scan->shard].part];
    scan->shard_end = stk__u64_min(ds->shards[scan->shard + 1].start, scan->last);
    scan->stop = find_stop(scan->part, scan->shard_end - 1 - scan->part->first_sample);
}

/* The fields of a sample, and where they lie. */
static stk_status take_fields(
    stk_scan *scan, uint64_t sample, stk_sample *out, extent *where, stk_error *err)
{
    const stk_dataset *ds = scan->dataset;
    const stk__part *part = scan->part;
    stk__index_entry entry = {0};
    uint64_t first, end;

    if (STK__UNLIKELY(!stk__index_sample(part->index, sample - part->first_sample, &first, &end)))
        return stk__dataset_damaged(part, err);
    STK_TRY(need_fields(scan, (size_t)(end - first), err));
    *where = (extent){.low = UINT64_MAX};
    for (uint64_t i = first; i < end; i++) {
        if (STK__UNLIKELY(!stk__index_member(part->index, i, &entry)))
            return stk__dataset_damaged(part, err);
        if (STK__UNLIKELY(entry.size_bytes > ds->limits.max_member_bytes))
            return STK_FAIL(err, STK_ELIMIT, "a field of %llu bytes; max_member_bytes is %llu",
                (unsigned long long)entry.size_bytes,
                (unsigned long long)ds->limits.max_member_bytes);
        stk__dataset_fill_field(ds, part, i, &entry, &scan->fields[i - first]);
        where->low = stk__u64_min(where->low, entry.offset);
        if (entry.offset + entry.size_bytes > where->high)
            where->high = entry.offset + entry.size_bytes;
        where->total += entry.size_bytes;
    }
    *out = (stk_sample){
        .index = sample,
        .key = {entry.name.data, entry.key_bytes},
        .shard = scan->shard,
        .field_count = (uint32_t)(end - first),
        .label = ds->shards[scan->shard].label,
    };
    return STK_OK;
}

/* Fields one by one, side by side in the buffer. */
static stk_status gather(stk_scan *scan, uint32_t count, uint64_t total, stk_error *err)
{
    uint64_t used = 0;

    STK_TRY(need_bytes(scan, total, err));
    scan->size = 0;
    for (uint32_t i = 0; i < count; i++) {
        const stk_sample_field *f = &scan->fields[i];
        stk_span dst = {scan->buffer + used, (size_t)f->size_bytes};

        STK_TRY(stk__error_in(stk_dataset_read(scan->dataset, f->source, f->offset, dst, err),
            &(stk__place){.field = f->field}, err));
        scan->data[i] = (stk_view){dst.data, dst.size};
        used += f->size_bytes;
    }
    return STK_OK;
}

static stk_status fill_window(
    stk_scan *scan, uint32_t source, uint64_t start, uint64_t end, stk_error *err)
{
    stk_status st;

    scan->size = 0;
    STK_TRY(need_bytes(scan, end - start, err));
    st = stk_dataset_read(
        scan->dataset, source, start, (stk_span){scan->buffer, (size_t)(end - start)}, err);
    if (st < 0)
        return st;
    scan->source = source;
    scan->start = start;
    scan->size = end - start;
    return STK_OK;
}

static bool in_window(const stk_scan *scan, uint32_t source, const extent *where)
{
    return where->low >= scan->start && where->high - scan->start <= scan->size &&
           where->high >= scan->start && source == scan->source && scan->size > 0;
}

/* Fields of a tar: as views into the window. */
static stk_status take_views(stk_scan *scan, uint32_t count, const extent *where, stk_error *err)
{
    const uint32_t source = scan->fields[0].source;

    if (!in_window(scan, source, where)) {
        uint64_t end = stk__u64_min(where->low + WINDOW_BYTES, scan->stop);

        end = end < where->high ? where->high : end;
        /* Where a whole window fails (the file was cut) the sample alone may be there yet. */
        if (fill_window(scan, source, where->low, end, NULL) < 0)
            STK_TRY(fill_window(scan, source, where->low, where->high, err));
    }
    for (uint32_t i = 0; i < count; i++)
        scan->data[i] = (stk_view){scan->buffer + (scan->fields[i].offset - scan->start),
            (size_t)scan->fields[i].size_bytes};
    return STK_OK;
}

stk_status stk_scan_next(stk_scan *scan, stk_sample *sample_out,
    const stk_sample_field **fields_out, const stk_view **data_out, stk_error *err)
{
    const uint64_t sample = scan->next;
    stk_status st;
    extent where = {0};

    if (sample >= scan->last)
        return STK_END;
    if (scan->part == NULL || sample >= scan->shard_end)
        find_shard(scan);
    scan->next++;
    st = take_fields(scan, sample, sample_out, &where, err);
    if (STK__LIKELY(st >= 0)) {
        if (scan->dataset->tar && where.high - where.low <= WINDOW_BYTES + 2 * where.total)
            st = take_views(scan, sample_out->field_count, &where, err);
        else
            st = gather(scan, sample_out->field_count, where.total, err);
    }
    if (STK__UNLIKELY(st < 0))
        return stk__dataset_error_in(scan->dataset, sample, STK_STAGE_READ, st, err);
    *fields_out = scan->fields;
    *data_out = scan->data;
    return STK_OK;
}
