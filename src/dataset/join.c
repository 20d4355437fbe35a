/*
 * From indexes to one dataset: numbers of samples, sources, shards, fields and classes.
 *
 * Done once, when a dataset is opened. What is linear here is linear in shards, fields and classes,
 * never in samples.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/size.h"
#include "dataset/dataset_int.h"

static stk_status no_memory(stk_error *err)
{
    return STK_FAIL(err, STK_ENOMEM, "no memory for the dataset");
}

stk_status stk__owned_text_set(
    stk__heap *heap, stk__owned_text *text, stk_view from, stk_error *err)
{
    text->data = stk__heap_text(heap, from.size > 0 ? from.data : "", from.size);
    if (text->data == NULL)
        return no_memory(err);
    text->size = from.size;
    return STK_OK;
}

void stk__owned_text_fini(stk__heap *heap, stk__owned_text *text)
{
    stk__heap_free(heap, text->data, text->size + 1, 1);
    *text = (stk__owned_text){NULL, 0};
}

/* Samples and sources. */
static stk_status number_parts(stk_dataset *ds, stk_error *err)
{
    stk__fingerprint print = {0};

    for (uint32_t i = 0; i < ds->part_count; i++) {
        stk__part *part = &ds->parts[i];

        part->first_sample = ds->samples;
        part->first_source = (uint32_t)ds->sources;
        ds->samples += part->index->samples; /* each has bytes in memory: no sum wraps */
        ds->sources += ds->tar ? 1 : part->index->members;
        if (ds->sources >= UINT32_MAX)
            return STK_FAIL(err, STK_ELIMIT, "the dataset has more than 4 billion files");
        stk__fingerprint_add_u64(&print, part->index->fingerprint[0]);
        stk__fingerprint_add_u64(&print, part->index->fingerprint[1]);
        stk__fingerprint_add_u64(&print, part->index->samples);
    }
    ds->fingerprint[0] = print.a;
    ds->fingerprint[1] = print.b;
    ds->keys.sample_bits = 1;
    while (ds->samples >> ds->keys.sample_bits != 0)
        ds->keys.sample_bits++;
    return STK_OK;
}

/* Classes: the names of all trees, sorted by bytes, each once. */

static int compare_texts(const void *a, const void *b)
{
    const stk__owned_text *x = a, *y = b;
    int order = memcmp(x->data, y->data, x->size < y->size ? x->size : y->size);

    return order != 0 ? order : (x->size > y->size) - (x->size < y->size);
}

static size_t classes_of(const stk__part *part)
{
    return (size_t)part->index->section[STK__INDEX_CLASSES].count;
}

static stk_status gather_classes(stk_dataset *ds, size_t count, stk_error *err)
{
    uint32_t gathered = 0;

    ds->classes = stk__heap_zalloc(&ds->heap, count, sizeof *ds->classes);
    if (ds->classes == NULL)
        return no_memory(err);
    ds->class_count = (uint32_t)count; /* for the release; lowered below */
    for (uint32_t i = 0; i < ds->part_count; i++) {
        for (size_t k = 0; k < classes_of(&ds->parts[i]); k++) {
            stk__index_class found;

            if (!stk__index_get_class(ds->parts[i].index, k, &found))
                return stk__dataset_damaged(&ds->parts[i], err);
            STK_TRY(stk__owned_text_set(&ds->heap, &ds->classes[gathered], found.name, err));
            gathered++;
        }
    }
    qsort(ds->classes, gathered, sizeof *ds->classes, compare_texts);
    return STK_OK;
}

static stk_status join_classes(stk_dataset *ds, stk_error *err)
{
    stk__owned_text *distinct;
    uint32_t kept = 0;
    size_t count = 0;

    for (uint32_t i = 0; i < ds->part_count; i++)
        count += classes_of(&ds->parts[i]);
    if (count == 0)
        return STK_OK;
    if (count > INT32_MAX)
        return STK_FAIL(err, STK_ELIMIT, "the dataset has more than 2 billion classes");
    STK_TRY(gather_classes(ds, count, err));
    for (uint32_t i = 0; i < ds->class_count; i++) {
        if (kept > 0 && compare_texts(&ds->classes[kept - 1], &ds->classes[i]) == 0) {
            stk__owned_text_fini(&ds->heap, &ds->classes[i]);
        } else {
            stk__owned_text moved = ds->classes[i];
            ds->classes[i] = (stk__owned_text){NULL, 0};
            ds->classes[kept++] = moved;
        }
    }
    if (kept < count) {
        distinct = stk__heap_alloc(&ds->heap, kept, sizeof *distinct);
        if (distinct == NULL)
            return no_memory(err);
        memcpy(distinct, ds->classes, kept * sizeof *distinct);
        stk__heap_free(&ds->heap, ds->classes, count, sizeof *ds->classes);
        ds->classes = distinct;
        ds->class_count = kept;
    }
    return STK_OK;
}

static int32_t label_of(const stk_dataset *ds, stk_view name)
{
    uint32_t low = 0, high = ds->class_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const stk__owned_text *at = &ds->classes[middle];
        int order = name.size == 0
                        ? 0
                        : memcmp(at->data, name.data, at->size < name.size ? at->size : name.size);

        if (order < 0 || (order == 0 && at->size < name.size))
            low = middle + 1;
        else
            high = middle;
    }
    return (int32_t)low;
}

/* Shards. */

/* "train-000012.tar" of a path; a folder's name of "photos/". */
static stk_view short_name(const char *path)
{
    size_t end = strlen(path), start;

    while (end > 1 && path[end - 1] == '/')
        end--;
    start = end;
    while (start > 0 && path[start - 1] != '/')
        start--;
    return end > start ? (stk_view){path + start, end - start} : (stk_view){".", 1};
}

static stk_status add_shard(
    stk_dataset *ds, uint32_t part, uint64_t start, int32_t label, stk_view name, stk_error *err)
{
    STK_TRY(stk__owned_text_set(&ds->heap, &ds->shard_names[ds->shard_count], name, err));
    ds->shards[ds->shard_count++] = (stk__shard){.start = start, .part = part, .label = label};
    return STK_OK;
}

static stk_status add_class_shards(stk_dataset *ds, uint32_t nth, stk_error *err)
{
    const stk__part *part = &ds->parts[nth];
    uint64_t before = 0;

    for (size_t k = 0; k < classes_of(part); k++) {
        stk__index_class found;

        /* The first class begins with the first sample, and each where the one before ends. */
        if (!stk__index_get_class(part->index, k, &found) || found.first_sample < before ||
            (k == 0 && found.first_sample != 0))
            return stk__dataset_damaged(part, err);
        before = found.first_sample;
        STK_TRY(add_shard(ds, nth, part->first_sample + found.first_sample,
            label_of(ds, found.name), found.name, err));
    }
    return STK_OK;
}

static stk_status join_shards(stk_dataset *ds, stk_error *err)
{
    size_t count = 0;

    for (uint32_t i = 0; i < ds->part_count; i++)
        count += classes_of(&ds->parts[i]) > 0 ? classes_of(&ds->parts[i]) : 1;
    if (count >= UINT32_MAX)
        return STK_FAIL(err, STK_ELIMIT, "the dataset has more than 4 billion shards");
    ds->shards = stk__heap_zalloc(&ds->heap, count + 1, sizeof *ds->shards);
    ds->shard_names = stk__heap_zalloc(&ds->heap, count + 1, sizeof *ds->shard_names);
    ds->shard_capacity = (uint32_t)count + 1;
    if (ds->shards == NULL || ds->shard_names == NULL)
        return no_memory(err);
    for (uint32_t i = 0; i < ds->part_count; i++) {
        ds->parts[i].first_shard = ds->shard_count;
        if (classes_of(&ds->parts[i]) > 0)
            STK_TRY(add_class_shards(ds, i, err));
        else
            STK_TRY(add_shard(
                ds, i, ds->parts[i].first_sample, -1, short_name(ds->parts[i].path), err));
    }
    ds->shards[ds->shard_count] = (stk__shard){.start = ds->samples};
    return STK_OK;
}

/*
 * The guide: for each stretch of 2^shift samples the last shard that starts at or before its first
 * sample, so that a search looks at a few neighbours instead of at the whole table.
 */
static stk_status make_guide(stk_dataset *ds, stk_error *err)
{
    uint32_t shard = 0;

    while (ds->samples >> ds->guide_shift > (uint64_t)ds->shard_count * 2)
        ds->guide_shift++;
    ds->guide_count = (size_t)(ds->samples >> ds->guide_shift) + 2;
    ds->guide = stk__heap_alloc(&ds->heap, ds->guide_count, sizeof *ds->guide);
    if (ds->guide == NULL)
        return no_memory(err);
    for (size_t i = 0; i < ds->guide_count; i++) {
        while (shard + 1 < ds->shard_count && ds->shards[shard + 1].start <= (uint64_t)i
                                                                                 << ds->guide_shift)
            shard++;
        ds->guide[i] = shard;
    }
    return STK_OK;
}

stk_status stk__dataset_join(stk_dataset *ds, stk_error *err)
{
    STK_TRY(number_parts(ds, err));
    STK_TRY(join_classes(ds, err));
    STK_TRY(join_shards(ds, err));
    STK_TRY(make_guide(ds, err));
    return stk__dataset_join_fields(ds, err);
}
