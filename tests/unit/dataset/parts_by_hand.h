/* Datasets put together from indexes in memory, without files. */
#ifndef PARTS_BY_HAND_H
#define PARTS_BY_HAND_H

#include "archive/index_build.h"
#include "dataset/dataset_int.h"
#include "support/test.h"

/* An empty dataset with room for `parts`. */
static inline stk_dataset *new_by_hand(uint32_t parts, bool tar)
{
    stk_dataset *ds;

    assert_int_equal(stk__dataset_new(NULL, &ds, NULL), STK_OK);
    ds->tar = tar;
    ds->parts = stk__heap_zalloc(&ds->heap, parts, sizeof *ds->parts);
    assert_non_null(ds->parts);
    ds->part_count = parts;
    return ds;
}

static inline stk__index_build *new_build_for(stk_dataset *ds)
{
    stk__index_build *build;

    assert_int_equal(stk__index_build_new(
                         &ds->heap, ds->tar ? STK__INDEX_TAR : STK__INDEX_FOLDER, 0, &build, NULL),
        STK_OK);
    return build;
}

/* One member "key.field". */
static inline void tell(
    stk__index_build *build, const char *key, const char *field, uint64_t offset, uint64_t size)
{
    char name[128];
    int length = snprintf(name, sizeof name, "%s.%s", key, field);
    const stk__index_told told = {
        .name = {name, (size_t)length},
        .key = {name, strlen(key)},
        .field = {name + strlen(key) + 1, strlen(field)},
        .offset = offset,
        .size_bytes = size,
    };

    assert_int_equal(stk__index_build_member(build, &told, NULL), STK_OK);
}

/* The index of a part, and its path. */
static inline void set_part(
    stk_dataset *ds, uint32_t nth, stk__index_build *build, const char *path)
{
    static const stk__index_source source = {.size_bytes = 1ull << 40};
    stk__part *part = &ds->parts[nth];

    assert_int_equal(
        stk__index_build_finish(build, ds->tar ? &source : NULL, &part->index, NULL), STK_OK);
    stk__index_build_free(build);
    part->path_bytes = strlen(path);
    part->path = stk__heap_text(&ds->heap, path, part->path_bytes);
    assert_non_null(part->path);
}

#endif
