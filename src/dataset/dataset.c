/* Life of a dataset, and what is asked of it as a whole. */
#include "dataset/dataset.h"

#include <string.h>

#include "archive/index_place.h"
#include "base/error.h"
#include "base/size.h"
#include "dataset/dataset_int.h"

stk_status stk__dataset_new(const stk_limits *limits, stk_dataset **dataset_out, stk_error *err)
{
    static const stk_limits defaults = STK_LIMITS_INIT;
    stk__heap first = {0}; /* the dataset holds its own heap, which has to come from somewhere */
    stk_dataset *ds = stk__heap_zalloc(&first, 1, sizeof *ds);
    stk_status st;

    if (ds == NULL)
        return STK_FAIL(err, STK_ENOMEM, "no memory for a dataset");
    ds->limits = limits != NULL ? *limits : defaults;
    stk__store_release_u32(&ds->references, 1);
    stk__store_release_u32(&ds->find_generation, stk__fork_generation());
    stk__store_release_u32(&ds->find_repairing, stk__fork_generation());
    st = stk__mutex_init(&ds->find_mutex, err);
    ds->find_mutex_made = st >= 0;
    if (st >= 0)
        st = stk__file_set_new(&ds->heap, stk__dataset_path, ds, &ds->files, err);
    if (st < 0) {
        stk_dataset_unref(ds);
        return st;
    }
    *dataset_out = ds;
    return STK_OK;
}

static void free_part(stk_dataset *ds, stk__part *part)
{
    if (part->fields_owned)
        stk__heap_free(&ds->heap, part->fields,
            (size_t)part->index->section[STK__INDEX_FIELDS].count, sizeof *part->fields);
    stk__index_close(part->index);
    stk__heap_free(&ds->heap, part->path, part->path_bytes + 1, 1);
}

static void free_dataset(stk_dataset *ds)
{
    stk__heap last = {0};

    stk__file_set_free(ds->files);
    for (uint32_t i = 0; i < ds->part_count; i++)
        free_part(ds, &ds->parts[i]);
    stk__heap_free(&ds->heap, ds->parts, ds->part_count, sizeof *ds->parts);
    for (uint32_t i = 0; ds->shard_names != NULL && i < ds->shard_capacity; i++)
        stk__owned_text_fini(&ds->heap, &ds->shard_names[i]);
    stk__heap_free(&ds->heap, ds->shard_names, ds->shard_capacity, sizeof *ds->shard_names);
    stk__heap_free(&ds->heap, ds->shards, ds->shard_capacity, sizeof *ds->shards);
    stk__heap_free(&ds->heap, ds->guide, ds->guide_count, sizeof *ds->guide);
    for (uint32_t i = 0; i < ds->field_count; i++)
        stk__owned_text_fini(&ds->heap, &ds->fields[i].name);
    stk__heap_free(&ds->heap, ds->fields, ds->field_capacity, sizeof *ds->fields);
    stk__heap_free(&ds->heap, ds->field_slots, ds->field_slot_count, sizeof *ds->field_slots);
    for (uint32_t i = 0; ds->classes != NULL && i < ds->class_count; i++)
        stk__owned_text_fini(&ds->heap, &ds->classes[i]);
    stk__heap_free(&ds->heap, ds->classes, ds->class_count, sizeof *ds->classes);
    stk__heap_free(&ds->heap, ds->keys.entries, (size_t)ds->samples, sizeof *ds->keys.entries);
    if (ds->find_mutex_made)
        stk__mutex_fini(&ds->find_mutex);
    stk__heap_free(&last, ds, 1, sizeof *ds);
}

stk_dataset *stk_dataset_ref(stk_dataset *dataset)
{
    stk__add_relaxed_u32(&dataset->references, 1); /* the caller has one: it cannot go meanwhile */
    return dataset;
}

void stk_dataset_unref(stk_dataset *dataset)
{
    if (dataset != NULL && stk__sub_acq_rel_u32(&dataset->references, 1) == 1)
        free_dataset(dataset);
}

uint64_t stk_dataset_count(const stk_dataset *dataset)
{
    return dataset->samples;
}

void stk_dataset_fingerprint(const stk_dataset *dataset, uint64_t fingerprint_out[2])
{
    memcpy(fingerprint_out, dataset->fingerprint, sizeof dataset->fingerprint);
}

uint32_t stk_dataset_shard_count(const stk_dataset *dataset)
{
    return dataset->shard_count;
}

const char *stk_dataset_shard_name(const stk_dataset *dataset, uint32_t shard)
{
    return shard < dataset->shard_count ? dataset->shard_names[shard].data : NULL;
}

uint64_t stk_dataset_shard_start(const stk_dataset *dataset, uint32_t shard)
{
    return dataset->shards[shard < dataset->shard_count ? shard : dataset->shard_count].start;
}

uint32_t stk_dataset_field_count(const stk_dataset *dataset)
{
    return dataset->field_count;
}

const char *stk_dataset_field(const stk_dataset *dataset, uint32_t field_id)
{
    return field_id < dataset->field_count ? dataset->fields[field_id].name.data : NULL;
}

uint64_t stk_dataset_field_max_bytes(const stk_dataset *dataset, uint32_t field_id)
{
    return field_id < dataset->field_count ? dataset->fields[field_id].max_bytes : 0;
}

uint32_t stk__dataset_field_id(const stk_dataset *ds, const char *field)
{
    return stk__dataset_find_field(ds, (stk_view){field, strlen(field)});
}

uint32_t stk_dataset_class_count(const stk_dataset *dataset)
{
    return dataset->class_count;
}

const char *stk_dataset_class(const stk_dataset *dataset, uint32_t label)
{
    return label < dataset->class_count ? dataset->classes[label].data : NULL;
}

bool stk_dataset_get_note(const stk_dataset *dataset, size_t nth, stk_dataset_note *note_out)
{
    for (uint32_t i = 0; i < dataset->part_count; i++) {
        const stk__part *part = &dataset->parts[i];
        uint64_t count = part->index->section[STK__INDEX_NOTES].count;
        stk__index_note note;

        if (nth >= count) {
            nth -= (size_t)count;
            continue;
        }
        if (!stk__index_get_note(part->index, nth, &note))
            note = (stk__index_note){"a note that cannot be read: the index is damaged", 0};
        *note_out = (stk_dataset_note){
            .shard = part->path,
            .offset = note.offset,
            .text = note.text,
        };
        return true;
    }
    return false;
}

stk_status stk_dataset_check_index(const stk_dataset *dataset, stk_error *err)
{
    for (uint32_t i = 0; i < dataset->part_count; i++) {
        const stk__place place = {.stage = STK_STAGE_OPEN, .source = dataset->parts[i].path};

        STK_TRY(stk__error_in(stk__index_verify(dataset->parts[i].index, err), &place, err));
    }
    return STK_OK;
}

stk_status stk_dataset_check_kept_index(const stk_dataset *dataset, uint32_t nth, stk_error *err)
{
    const stk__part *part;
    stk__heap heap = {0}; /* that of the dataset may be in use by another thread */

    if (nth >= dataset->part_count)
        return STK_FAIL(
            err, STK_ERANGE, "the dataset has %u files or folders", dataset->part_count);
    part = &dataset->parts[nth];
    if (!dataset->tar && part->index->section[STK__INDEX_FOLDERS].count == 0)
        return STK_OK; /* a list of files, whose index is never kept */
    return stk__index_check_kept(
        &heap, dataset->tar ? STK__INDEX_TAR : STK__INDEX_FOLDER, part->path, dataset->flags, err);
}
