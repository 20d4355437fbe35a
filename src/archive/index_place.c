/* Where an index is kept: see index_place.h. */
#include "archive/index_place.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "os/file.h"

/* Room for a path that the system takes, and for what is put behind it. */
#define PATH_BYTES 4608u

/* Append to a path; false when it gets longer than the system takes. */
static bool join(char *path, const char *a, const char *b)
{
    int length = snprintf(path, PATH_BYTES, "%s%s", a, b);

    return length >= 0 && length < (int)PATH_BYTES;
}

static bool beside(stk__index_kind kind, const char *source, char *path)
{
    size_t length = strlen(source);

    if (kind == STK__INDEX_TAR)
        return join(path, source, ".stoker");
    return join(
        path, source, length > 0 && source[length - 1] == '/' ? ".stoker-index" : "/.stoker-index");
}

/* The user's cache folder, made if `make`; false if there is none. */
static bool cache_folder(char *folder, bool make)
{
    const char *cache = getenv("XDG_CACHE_HOME"); /* NOLINT(concurrency-mt-unsafe): only read */
    const char *home = getenv("HOME");            /* NOLINT(concurrency-mt-unsafe): so too */
    char base[PATH_BYTES];

    if (cache != NULL && cache[0] == '/') {
        if (!join(base, cache, ""))
            return false;
    } else if (home == NULL || home[0] != '/' || !join(base, home, "/.cache")) {
        return false;
    }
    if (make && stk__folder_make(base, NULL) < 0)
        return false;
    if (!join(folder, base, "/stoker"))
        return false;
    return !make || stk__folder_make(folder, NULL) >= 0;
}

/* The name there is a hash of the whole path and of the options. */
static bool in_cache(
    stk__index_kind kind, const char *source, uint32_t flags, bool make, char *path)
{
    stk__fingerprint print = {0};
    char real[PATH_MAX], folder[PATH_BYTES], name[64];

    if (realpath(source, real) == NULL || !cache_folder(folder, make))
        return false;
    stk__fingerprint_add(&print, real, strlen(real));
    stk__fingerprint_add_u64(&print, (uint64_t)kind << 32 | flags);
    STK_IGNORE(snprintf(name, sizeof name, "/%016llx%016llx.stoker", (unsigned long long)print.a,
                   (unsigned long long)print.b) < 0); /* it fits */
    return join(path, folder, name);
}

static stk_status check_options(
    const stk__index_sought *sought, const stk__index *index, stk_error *err)
{
    const uint32_t lenient = STK__INDEX_LENIENT;

    if (index->kind != sought->kind)
        return STK_FAIL(err, STK_EINDEX, "the index is of another kind of source");
    if (((index->flags ^ sought->flags) & ~lenient) != 0 ||
        (index->flags & lenient & ~sought->flags) != 0)
        return STK_FAIL(err, STK_EINDEX, "the index was made with other options");
    return STK_OK;
}

/* STK_EINDEX: not this one. `why` keeps the first reason that is more than a missing file. */
static stk_status try_one(stk__heap *heap, const stk__index_sought *sought, const char *path,
    stk__index **index_out, stk_error *why)
{
    stk_error found = STK_ERROR_INIT;
    stk__index *index = NULL;
    stk_status st = stk__index_open(heap, path, sought->read_whole, &index, &found);

    if (st >= 0)
        st = check_options(sought, index, &found);
    if (st >= 0)
        st = sought->check(sought->ctx, index, &found);
    if (st >= 0) {
        *index_out = index;
        return STK_OK;
    }
    /* What stands in the way of this file alone (rights, a folder of that name) is no failure of
     * the source; what the check says may be one, and it had an index. */
    if ((st == STK_ESOURCE || st == STK_ENOTSUP) && index == NULL)
        st = STK_EINDEX;
    stk__index_close(index);
    if (st != STK_EINDEX || (found.os_errno != ENOENT && why->status == STK_OK))
        *why = found;
    return st;
}

stk_status stk__index_find(
    stk__heap *heap, const stk__index_sought *sought, stk__index **index_out, stk_error *err)
{
    const uint32_t lenient = STK__INDEX_LENIENT;
    const uint32_t flags[2] = {sought->flags & ~lenient, sought->flags};
    stk_error why = STK_ERROR_INIT;
    stk_status st = STK_EINDEX;
    char path[PATH_BYTES];

    if (beside(sought->kind, sought->path, path))
        st = try_one(heap, sought, path, index_out, &why);
    for (int i = 0; i < 2 && st == STK_EINDEX; i++)
        if ((i == 0 || flags[1] != flags[0]) &&
            in_cache(sought->kind, sought->path, flags[i], false, path))
            st = try_one(heap, sought, path, index_out, &why);
    if (st >= 0)
        return st;
    if (why.status == STK_OK)
        stk__error_set(&why, STK_EINDEX, "there is no index");
    why.status = st; /* an index that cannot be read is none that fits */
    if (err != NULL)
        *err = why;
    return st;
}

/* STK_AGAIN: nothing there that is an index of this version, so the next place counts. */
static stk_status check_one(stk__heap *heap, const char *path, stk_error *err)
{
    const stk__place place = {.stage = STK_STAGE_OPEN, .source = path};
    stk_error found = STK_ERROR_INIT;
    stk__index *index = NULL;
    stk__file_stat there;
    stk_status st;

    if (stk__path_stat(path, &there, NULL) < 0 || !there.regular)
        return STK_AGAIN;
    st = stk__index_open(heap, path, false, &index, &found);
    if (st == STK_ESOURCE || st == STK_ENOTSUP)
        return STK_AGAIN;
    if (st >= 0)
        st = stk__error_in(stk__index_verify(index, &found), &place, &found);
    stk__index_close(index);
    if (st < 0 && err != NULL)
        *err = found;
    return st;
}

stk_status stk__index_check_kept(
    stk__heap *heap, stk__index_kind kind, const char *source, uint32_t flags, stk_error *err)
{
    const uint32_t of[2] = {flags & ~(uint32_t)STK__INDEX_LENIENT, flags};
    stk_status st = STK_AGAIN;
    char path[PATH_BYTES];

    if (beside(kind, source, path))
        st = check_one(heap, path, err);
    for (int i = 0; i < 2 && st == STK_AGAIN; i++)
        if ((i == 0 || of[1] != of[0]) && in_cache(kind, source, of[i], false, path))
            st = check_one(heap, path, err);
    return st == STK_AGAIN ? STK_OK : st;
}

stk_status stk__index_keep(const stk__index *index, const char *source, stk_error *err)
{
    stk_error why = STK_ERROR_INIT;
    char path[PATH_BYTES];

    stk__error_set(&why, STK_ESOURCE, "there is no cache folder to keep the index in");
    if (index->flags == 0 && beside(index->kind, source, path) &&
        stk__index_save(index, path, &why) >= 0)
        return STK_OK;
    if (in_cache(index->kind, source, index->flags, true, path) &&
        stk__index_save(index, path, index->flags == 0 ? NULL : &why) >= 0)
        return STK_OK;
    if (err != NULL)
        *err = why; /* why it could not stand beside the data, if it was to */
    return why.status;
}

stk_status stk__index_check_tar(const void *ctx, const stk__index *index, stk_error *err)
{
    const stk__index_source *now = ctx, *then = &index->source;

    if (stk__index_source_equal(now, then))
        return STK_OK;
    if (now->size_bytes != then->size_bytes)
        return STK_FAIL(err, STK_EINDEX, "the index is of a file of %llu bytes; it has %llu now",
            (unsigned long long)then->size_bytes, (unsigned long long)now->size_bytes);
    return STK_FAIL(err, STK_EINDEX,
        now->mtime_ns != then->mtime_ns ? "the file was written to after its index was made"
                                        : "the file has other bytes than the one indexed");
}
