/* From patterns to parts: see plan.h. */
#include "dataset/plan.h"

#include <string.h>

#include "base/error.h"
#include "dataset/folder.h"

/* Where POSIX and GNU tar headers have their mark. */
#define MAGIC_OFFSET 257u

static stk_status add(stk__plan *plan, stk__planned_kind kind, size_t path, stk_error *err)
{
    if (kind == STK__PLANNED_LIST && plan->count > 0 &&
        plan->items[plan->count - 1].kind == STK__PLANNED_LIST) {
        plan->items[plan->count - 1].count++;
        return STK_OK;
    }
    if (plan->count == plan->capacity || plan->items == NULL) {
        size_t larger = plan->capacity == 0 ? 16 : plan->capacity * 2;
        stk__planned *grown =
            stk__heap_grow(plan->heap, plan->items, plan->capacity, larger, sizeof *grown);

        if (grown == NULL)
            return STK_FAIL(err, STK_ENOMEM, "no memory for a list of shards");
        plan->items = grown;
        plan->capacity = larger;
    }
    plan->items[plan->count++] = (stk__planned){.kind = kind, .first = path, .count = 1};
    return STK_OK;
}

/* A file whose name says nothing may still be a tar. */
static stk_status has_tar_magic(const char *path, bool *tar_out, stk_error *err)
{
    stk__file file = STK__FILE_NONE;
    char magic[5];
    size_t got = 0;
    stk_status st = stk__file_open(&file, path, err);

    if (st >= 0)
        st = stk__file_read_at(
            &file, path, MAGIC_OFFSET, (stk_span){magic, sizeof magic}, &got, err);
    stk__file_fini(&file);
    *tar_out = st >= 0 && got == sizeof magic && memcmp(magic, "ustar", sizeof magic) == 0;
    return st;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

static stk_status add_file(stk__plan *plan, size_t path, stk_error *err)
{
    const char *name = plan->paths.items[path].name;
    bool tar = stk__is_tar_name(name);

    if (!tar && strchr(base_name(name), '.') == NULL)
        STK_TRY(has_tar_magic(name, &tar, err));
    return add(plan, tar ? STK__PLANNED_TAR : STK__PLANNED_LIST, path, err);
}

/* The tars among the names of a folder; `ctx` of its listing. */
typedef struct gather {
    stk__plan *plan;
    const char *folder;
} gather;

static stk_status gather_tar(void *ctx, const char *name, stk_error *err)
{
    const gather *g = ctx;
    size_t folder = strlen(g->folder), length = strlen(name);
    char path[STK__PATH_BYTES];
    stk__file_stat found;

    if (name[0] == '.' || !stk__is_tar_name(name))
        return STK_OK;
    if (folder + length + 2 > sizeof path)
        return STK_FAIL(err, STK_ESOURCE, "the path is too long");
    memcpy(path, g->folder, folder);
    if (folder > 0 && path[folder - 1] != '/')
        path[folder++] = '/';
    memcpy(path + folder, name, length + 1);
    STK_TRY(stk__path_stat(path, &found, err));
    return found.regular ? stk__paths_add(&g->plan->paths, path, &found, err) : STK_OK;
}

/* A folder of tar shards is those shards; else it is a part itself. */
static stk_status add_folder(stk__plan *plan, size_t path, stk_error *err)
{
    const size_t before = plan->paths.count;
    gather g = {.plan = plan, .folder = plan->paths.items[path].name};

    STK_TRY(stk__folder_list(g.folder, gather_tar, &g, err));
    if (plan->paths.count == before)
        return add(plan, STK__PLANNED_FOLDER, path, err);
    stk__paths_sort(&plan->paths, before);
    for (size_t i = before; i < plan->paths.count; i++)
        STK_TRY(add(plan, STK__PLANNED_TAR, i, err));
    return STK_OK;
}

static stk_status check_kinds(const stk__plan *plan, stk_error *err)
{
    for (size_t i = 1; i < plan->count; i++) {
        const stk__planned *one = &plan->items[0], *other = &plan->items[i];

        if ((one->kind == STK__PLANNED_TAR) != (other->kind == STK__PLANNED_TAR))
            return STK_FAIL(err, STK_EINVAL,
                "tar shards and plain files do not go together in one dataset: %.90s and %.90s",
                base_name(plan->paths.items[one->first].name),
                base_name(plan->paths.items[other->first].name));
    }
    return STK_OK;
}

stk_status stk__plan_make(stk__plan *plan, const char *const *where, size_t count, stk_error *err)
{
    size_t listed;

    plan->paths.heap = plan->heap;
    if (count == 0)
        return STK_FAIL(err, STK_EINVAL, "no pattern was given");
    for (size_t i = 0; i < count; i++) {
        if (where[i] == NULL)
            return STK_FAIL(err, STK_EINVAL, "pattern %zu is NULL", i);
        listed = plan->paths.count;
        STK_TRY(stk__paths_expand(&plan->paths, where[i], err));
        for (size_t k = listed, end = plan->paths.count; k < end; k++)
            STK_TRY(
                plan->paths.items[k].folder ? add_folder(plan, k, err) : add_file(plan, k, err));
    }
    return check_kinds(plan, err);
}

void stk__plan_fini(stk__plan *plan)
{
    stk__paths_fini(&plan->paths);
    stk__heap_free(plan->heap, plan->items, plan->capacity, sizeof *plan->items);
    *plan = (stk__plan){.heap = plan->heap};
}
