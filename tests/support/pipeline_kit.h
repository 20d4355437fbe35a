/* What tests of the pipeline build on: a heap, a dataset of given members, a plan, a slot. */
#ifndef STK_PIPELINE_KIT_H
#define STK_PIPELINE_KIT_H

#include "pipeline/step.h"
#include "support/loader_kit.h"

typedef struct rig {
    char *folder;
    stk_dataset *dataset;
    stk__arena *arena;
    stk__field_plan plan;
} rig;

/* A dataset of one shard with the members of `tar`, which is freed. */
static inline stk_dataset *dataset_of(const char *folder, made_tar *tar)
{
    const char *path = in_folder(folder, "rig.tar");
    stk_dataset_options options = STK_DATASET_OPTIONS_INIT;
    stk_dataset *dataset = NULL;
    stk_error err = STK_ERROR_INIT;

    tar_end(tar);
    save_file(path, tar->data, tar->size);
    tar_free(tar);
    options.index = STK_INDEX_MEMORY;
    if (stk_dataset_open(&path, 1, &options, &dataset, &err) != STK_OK)
        fail_msg("could not open the shard: %s", err.text);
    return dataset;
}

/* Plan the fields; the rig is to be freed in any case. */
static inline stk_status rig_plan(
    rig *r, const stk_field_spec *fields, size_t count, stk_error *err)
{
    stk_loader_options options = STK_LOADER_OPTIONS_INIT;

    options.fields = fields;
    options.field_count = count;
    assert_int_equal(stk__arena_new(0, &r->arena, NULL), STK_OK);
    return stk__field_plan_init(&r->plan, stk__arena_heap(r->arena), r->dataset, &options, err);
}

/* A slot for `rows` of the plan. */
static inline stk_batch *rig_slot(rig *r, size_t rows)
{
    stk__column_spec specs[8];
    stk_batch *slot;

    assert_true(r->plan.count <= COUNT_OF(specs));
    stk__field_plan_columns(&r->plan, rows, specs);
    assert_int_equal(stk__arena_set_columns(r->arena, specs, r->plan.count, rows, NULL), STK_OK);
    stk__mutex_lock(stk__arena_mutex(r->arena));
    slot = stk__arena_grow_locked(r->arena);
    stk__mutex_unlock(stk__arena_mutex(r->arena));
    assert_non_null(slot);
    stk__slot_set_rows(slot, rows);
    return slot;
}

static inline void rig_free(rig *r)
{
    stk__field_plan_fini(&r->plan);
    stk__arena_unref(r->arena);
    stk_dataset_unref(r->dataset);
    remove_tree(r->folder);
}

#endif
