/*
 * Opening a dataset: what the patterns stand for, an index for each part, then all of it as one.
 *
 * Indexes that exist are looked for first; what has none is indexed by several threads, one part
 * each. Threads take parts in order, so the part that an error names is the first damaged one
 * whatever their number.
 */
#include <string.h>

#include "archive/index_place.h"
#include "archive/index_tar.h"
#include "base/error.h"
#include "base/size.h"
#include "dataset/dataset_int.h"
#include "dataset/folder.h"
#include "dataset/listed.h"
#include "dataset/open_stop.h"
#include "dataset/plan.h"
#include "os/cpu.h"

#define MOST_THREADS 64u

/* As many parts as are looked for without starting threads: it takes some 50 us each. */
#define FEW_PARTS 64u

/* As many indexes as are mapped at most; the rest is read. A system gives a process some 65,000
 * mappings, and others want some, too. */
#define MOST_MAPPED 32768u

/* From this size on an index that was just written is used from its file: several processes then
 * share its pages. */
#define SHARED_BYTES ((uint64_t)1 << 20)

/* One opening; shared by its threads. */
typedef struct opening {
    stk_dataset *ds;
    const stk__plan *plan;
    stk_index_mode mode;
    uint32_t flags;
    const stk__stop *stop; /* may be NULL */
    stk_status (*job)(struct opening *, uint32_t part, stk_error *err);
    stk__atomic_u32 next;   /* atomic: the part to take */
    stk__atomic_u32 failed; /* atomic: the first part that failed, or UINT32_MAX */
    stk__mutex mutex;
    stk_status status; /* guarded by mutex: of the part `failed` */
    stk_error error;   /* guarded by mutex */
} opening;

static const char *path_of(const opening *o, uint32_t part)
{
    return o->plan->paths.items[o->plan->items[part].first].name;
}

/* Finding. */

static stk_status find_tar(opening *o, uint32_t part, stk__index **index_out, stk_error *err)
{
    stk__index_source now;
    stk__index_sought sought = {
        .path = path_of(o, part),
        .kind = STK__INDEX_TAR,
        .flags = o->flags,
        .read_whole = part >= MOST_MAPPED,
        .check = stk__index_check_tar,
        .ctx = &now,
    };
    stk__file file = STK__FILE_NONE;
    stk_status st = stk__file_open(&file, sought.path, err);

    if (st >= 0)
        st = stk__index_source_of(&file, sought.path, &now, err);
    stk__file_fini(&file);
    return st < 0 ? st : stk__index_find(&o->ds->heap, &sought, index_out, err);
}

static stk_status find_folder(opening *o, uint32_t part, stk__index **index_out, stk_error *err)
{
    const char *path = path_of(o, part);
    const stk__index_sought sought = {
        .path = path,
        .kind = STK__INDEX_FOLDER,
        .flags = o->flags,
        .read_whole = part >= MOST_MAPPED,
        .check = stk__folder_check,
        .ctx = path,
    };

    return stk__index_find(&o->ds->heap, &sought, index_out, err);
}

static stk_status find(opening *o, uint32_t part, stk_error *err)
{
    stk__index **index = &o->ds->parts[part].index;

    switch (o->plan->items[part].kind) {
    case STK__PLANNED_TAR:
        return find_tar(o, part, index, err);
    case STK__PLANNED_FOLDER:
        return find_folder(o, part, index, err);
    case STK__PLANNED_LIST:
        break;
    }
    return STK_EINDEX; /* it is never kept */
}

/* What finds no index leaves it to the second round, unless it is required. */
static stk_status look_for(opening *o, uint32_t part, stk_error *err)
{
    stk_error why = STK_ERROR_INIT;
    stk_status st = find(o, part, &why);

    if (st >= 0 || (st == STK_EINDEX && (o->mode != STK_INDEX_REQUIRE ||
                                            o->plan->items[part].kind == STK__PLANNED_LIST)))
        return STK_OK;
    if (err != NULL)
        *err = why;
    return st;
}

/* Making. */

static stk_status build(opening *o, uint32_t part, stk__index **index_out, stk_error *err)
{
    const stk__planned *planned = &o->plan->items[part];
    stk__heap *heap = &o->ds->heap;

    switch (planned->kind) {
    case STK__PLANNED_TAR:
        return stk__index_tar(
            heap, path_of(o, part), o->flags, &o->ds->limits, o->stop, index_out, err);
    case STK__PLANNED_FOLDER:
        return stk__folder_index(heap, path_of(o, part), o->flags, o->stop, index_out, err);
    case STK__PLANNED_LIST:
        break;
    }
    return stk__listed_index(heap, &o->plan->paths.items[planned->first], planned->count,
        o->ds->parts[part].path_bytes, o->flags, index_out, err);
}

static uint64_t index_bytes(const stk__index *index)
{
    return index->members * 32 + index->section[STK__INDEX_NAMES].count;
}

static stk_status make(opening *o, uint32_t part, stk_error *err)
{
    stk__part *p = &o->ds->parts[part];
    stk__index *shared = NULL;
    stk_status st;

    if (p->index != NULL)
        return STK_OK;
    STK_TRY(build(o, part, &p->index, err));
    if (o->mode == STK_INDEX_MEMORY || o->plan->items[part].kind == STK__PLANNED_LIST)
        return STK_OK;
    STK_TRY(stk__stop_check(o->stop, err));
    st = stk__index_keep(p->index, path_of(o, part), o->mode == STK_INDEX_REBUILD ? err : NULL);
    if (st < 0)
        return o->mode == STK_INDEX_REBUILD ? st : STK_OK; /* it stays in memory */
    if (index_bytes(p->index) >= SHARED_BYTES) {
        stk__index *made = p->index;

        p->index = NULL;
        STK_IGNORE(find(o, part, NULL) < 0); /* then the one that was made will do */
        shared = p->index;
        if (shared == NULL)
            p->index = made;
        else
            stk__index_close(made);
    }
    return STK_OK;
}

/* Threads. */

static void record(opening *o, uint32_t part, stk_status st, const stk_error *err)
{
    stk__mutex_lock(&o->mutex);
    if (part < stk__load_acquire_u32(&o->failed)) {
        o->status = st;
        o->error = *err;
        stk__store_release_u32(&o->failed, part);
    }
    stk__mutex_unlock(&o->mutex);
}

static void work(void *ctx)
{
    opening *o = ctx;

    for (;;) {
        uint32_t part = stk__add_acq_rel_u32(&o->next, 1);
        stk_error err = STK_ERROR_INIT;
        stk_status st;

        if (part >= o->ds->part_count || part > stk__load_acquire_u32(&o->failed))
            return;
        st = stk__stop_check(o->stop, &err);
        if (st >= 0)
            st = o->job(o, part, &err);
        if (st < 0) {
            const char *path = path_of(o, part), *slash = strrchr(path, '/');
            const stk__place place = {
                .stage = STK_STAGE_OPEN,
                .source = path,
                .shard = o->ds->tar ? (slash == NULL ? path : slash + 1) : NULL,
            };

            st = stk__error_in(st, &place, &err);
            record(o, part, st, &err);
        }
    }
}

/* Do the job for all parts with up to `threads`, the calling one included. */
static stk_status for_all(opening *o, stk_status (*job)(opening *, uint32_t, stk_error *),
    uint32_t threads, stk_error *err)
{
    stk__thread crew[MOST_THREADS - 1] = {0};

    o->job = job;
    stk__store_release_u32(&o->next, 0);
    for (uint32_t i = 0; i + 1 < threads; i++)
        if (stk__thread_start(&crew[i], "stk-index", work, o, NULL) < 0)
            break; /* fewer threads do the same work */
    work(o);
    for (uint32_t i = 0; i + 1 < threads; i++)
        stk__thread_join(&crew[i]);
    if (stk__load_acquire_u32(&o->failed) == UINT32_MAX)
        return STK_OK;
    if (err != NULL)
        *err = o->error;
    return o->status;
}

static uint32_t thread_count(int32_t wish, uint32_t parts)
{
    uint32_t threads = wish > 0 ? (uint32_t)wish : stk__cpu_usable();

    threads = threads < MOST_THREADS ? threads : MOST_THREADS;
    return threads < parts ? threads : parts;
}

static stk_status index_all(opening *o, int32_t threads, stk_error *err)
{
    uint32_t missing = 0;

    if (o->mode == STK_INDEX_AUTO || o->mode == STK_INDEX_REQUIRE)
        STK_TRY(for_all(o, look_for,
            o->ds->part_count < FEW_PARTS ? 1 : thread_count(threads, o->ds->part_count), err));
    for (uint32_t i = 0; i < o->ds->part_count; i++)
        missing += o->ds->parts[i].index == NULL ? 1 : 0;
    return missing == 0 ? STK_OK : for_all(o, make, thread_count(threads, missing), err);
}

/* The paths of the parts, before there is an index. */
static stk_status make_parts(stk_dataset *ds, const stk__plan *plan, stk_error *err)
{
    if (plan->count >= UINT32_MAX)
        return STK_FAIL(err, STK_ELIMIT, "more than 4 billion shards");
    ds->parts = stk__heap_zalloc(&ds->heap, plan->count, sizeof *ds->parts);
    if (ds->parts == NULL)
        return STK_FAIL(err, STK_ENOMEM, "no memory for a list of shards");
    ds->part_count = (uint32_t)plan->count;
    ds->tar = plan->count > 0 && plan->items[0].kind == STK__PLANNED_TAR;
    for (uint32_t i = 0; i < ds->part_count; i++) {
        const stk__planned *planned = &plan->items[i];
        const stk__path *first = &plan->paths.items[planned->first];
        size_t length = planned->kind == STK__PLANNED_LIST ? stk__listed_root(first, planned->count)
                                                           : strlen(first->name);

        ds->parts[i].path = stk__heap_text(&ds->heap, first->name, length);
        if (ds->parts[i].path == NULL)
            return STK_FAIL(err, STK_ENOMEM, "no memory for a list of shards");
        ds->parts[i].path_bytes = length;
    }
    return STK_OK;
}

static uint32_t flags_of(const stk_dataset_options *options)
{
    return (options->keep_case ? (uint32_t)STK__INDEX_KEEP_CASE : 0) |
           (options->concatenated ? (uint32_t)STK__INDEX_CONCATENATED : 0) |
           (options->skip_damaged_shards ? (uint32_t)STK__INDEX_LENIENT : 0);
}

static stk_status open_parts(stk_dataset *ds, const stk__plan *plan,
    const stk_dataset_options *options, const stk__stop *stop, stk_error *err)
{
    opening o = {
        .ds = ds,
        .plan = plan,
        .mode = options->index,
        .flags = flags_of(options),
        .stop = stop,
        .error = STK_ERROR_INIT,
    };
    stk_status st;

    stk__store_release_u32(&o.failed, UINT32_MAX);
    STK_TRY(make_parts(ds, plan, err));
    if (!ds->tar)
        o.flags &= ~(uint32_t)STK__INDEX_CONCATENATED; /* it changes nothing there */
    ds->flags = o.flags;
    STK_TRY(stk__mutex_init(&o.mutex, err));
    st = index_all(&o, options->threads, err);
    stk__mutex_fini(&o.mutex);
    return st < 0 ? st : stk__dataset_join(ds, err);
}

/* The caller's options over the defaults: one built against an older header knows fewer. */
static stk_status take_options(
    const stk_dataset_options *given, stk_dataset_options *options, stk_error *err)
{
    *options = (stk_dataset_options)STK_DATASET_OPTIONS_INIT;
    if (given == NULL)
        return STK_OK;
    if (given->struct_bytes < sizeof given->struct_bytes)
        return STK_FAIL(
            err, STK_EINVAL, "struct_bytes is not set; begin with STK_DATASET_OPTIONS_INIT");
    memcpy(options, given, stk__size_min(given->struct_bytes, sizeof *options));
    if (options->index < STK_INDEX_AUTO || options->index > STK_INDEX_REBUILD)
        return STK_FAIL(
            err, STK_EINVAL, "index is %d; it is one of stk_index_mode", (int)options->index);
    if (options->threads < 0)
        return STK_FAIL(err, STK_EINVAL, "threads is %d; it must be 0 or more", options->threads);
    return STK_OK;
}

stk_status stk__dataset_open_here(const char *const *where, size_t count,
    const stk_dataset_options *options, const stk__stop *stop, stk_dataset **dataset_out,
    stk_error *err)
{
    stk_dataset *ds = NULL;
    stk__plan plan = {0};
    stk_status st;

    st = stk__dataset_new(options->limits, &ds, err);
    if (st < 0)
        goto out;
    plan.heap = &ds->heap;
    st = stk__plan_make(&plan, where, count, err);
    if (st < 0)
        goto out;
    st = open_parts(ds, &plan, options, stop, err);
    if (st < 0)
        goto out;
    *dataset_out = ds;
    ds = NULL;
out:
    if (plan.heap != NULL)
        stk__plan_fini(&plan);
    stk_dataset_unref(ds);
    return st;
}

stk_status stk_dataset_open(const char *const *where, size_t count,
    const stk_dataset_options *given, stk_dataset **dataset_out, stk_error *err)
{
    stk_dataset_options options;
    stk_status st = take_options(given, &options, err);

    if (st >= 0)
        st = options.stop != NULL
                 ? stk__dataset_open_asking(where, count, &options, dataset_out, err)
                 : stk__dataset_open_here(where, count, &options, NULL, dataset_out, err);
    return stk__error_in(st, &(stk__place){.stage = STK_STAGE_OPEN}, err);
}
