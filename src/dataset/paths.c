/* From patterns to paths: see paths.h. */
#include "dataset/paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "dataset/braces.h"
#include "dataset/glob.h"

void stk__paths_fini(stk__paths *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        stk__heap_free(paths->heap, paths->items[i].name, strlen(paths->items[i].name) + 1, 1);
    stk__heap_free(paths->heap, paths->items, paths->capacity, sizeof *paths->items);
    *paths = (stk__paths){.heap = paths->heap};
}

stk_status stk__paths_add(
    stk__paths *paths, const char *name, const stk__file_stat *found, stk_error *err)
{
    char *copy;

    if (paths->count == paths->capacity) {
        size_t larger = paths->capacity == 0 ? 16 : paths->capacity * 2;
        stk__path *items =
            stk__heap_grow(paths->heap, paths->items, paths->capacity, larger, sizeof *items);

        if (items == NULL)
            return STK_FAIL(err, STK_ENOMEM, "no memory for a list of paths");
        paths->items = items;
        paths->capacity = larger;
    }
    copy = stk__heap_text(paths->heap, name, strlen(name));
    if (copy == NULL)
        return STK_FAIL(err, STK_ENOMEM, "no memory for a list of paths");
    paths->items[paths->count++] =
        (stk__path){.name = copy, .folder = found->folder, .size_bytes = found->size_bytes};
    return STK_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const stk__path *)a)->name, ((const stk__path *)b)->name);
}

void stk__paths_sort(stk__paths *paths, size_t first)
{
    if (paths->count > first)
        qsort(paths->items + first, paths->count - first, sizeof *paths->items, compare_names);
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* "s3" of "s3://bucket/x.tar", "pipe" of "pipe:cat x.tar"; 0: it is a path. */
static size_t scheme_bytes(const char *name)
{
    size_t i = 0;

    if (strncmp(name, "pipe:", 5) == 0)
        return 4;
    if (!is_letter(name[0]))
        return 0;
    while (is_letter(name[i]) || (name[i] >= '0' && name[i] <= '9') || name[i] == '+' ||
           name[i] == '-' || name[i] == '.')
        i++;
    return strncmp(name + i, "://", 3) == 0 ? i : 0;
}

/* "file:x", "file:/x" and "file:///x" are paths, as in WebDataset. */
static const char *without_file_scheme(const char *name)
{
    if (strncmp(name, "file://", 7) == 0)
        return name + 7;
    return strncmp(name, "file:", 5) == 0 ? name + 5 : name;
}

static stk_status fail_at(stk_status st, const char *name, stk_error *err)
{
    return stk__error_in(st, &(stk__place){.stage = STK_STAGE_OPEN, .source = name}, err);
}

static stk_status add_matches(stk__paths *paths, const char *name, stk_error *err)
{
    size_t before = paths->count;

    STK_TRY(stk__glob(paths, name, err));
    if (paths->count == before) {
        stk_status st = STK_FAIL(err, STK_ESOURCE, "nothing matches the pattern");

        if (err != NULL)
            err->os_errno = ENOENT; /* to faces it is a missing file */
        return fail_at(st, name, err);
    }
    stk__paths_sort(paths, before);
    return STK_OK;
}

static stk_status add_name(stk__paths *paths, const char *name, stk_error *err)
{
    stk_error why = STK_ERROR_INIT;
    stk__file_stat found;
    size_t scheme;
    stk_status st;

    name = without_file_scheme(name);
    scheme = scheme_bytes(name);
    if (scheme > 0)
        return fail_at(STK_FAIL(err, STK_ENOTSUP,
                           "%.*s: sources are not read by this version; only local files are",
                           (int)stk__size_min(scheme, 32), name),
            name, err);
    if (name[0] == '\0')
        return STK_FAIL(err, STK_EINVAL, "an empty path");
    st = stk__path_stat(name, &found, &why);
    if (st < 0 && stk__glob_has_magic(name))
        return add_matches(paths, name, err);
    if (st < 0) {
        if (err != NULL)
            *err = why;
        return fail_at(st, name, err);
    }
    if (!found.folder && !found.regular)
        return fail_at(STK_FAIL(err, STK_ESOURCE, "neither a file nor a folder"), name, err);
    return stk__paths_add(paths, name, &found, err);
}

stk_status stk__paths_expand(stk__paths *paths, const char *pattern, stk_error *err)
{
    stk__braces *braces = NULL;
    char name[STK__PATH_BYTES];
    stk_status st;

    st = stk__braces_new(paths->heap, pattern, &braces, err);
    if (st < 0)
        return fail_at(st, pattern, err);
    for (uint64_t i = 0; st >= 0 && i < stk__braces_count(braces); i++) {
        if (stk__braces_get(braces, i, name, sizeof name) >= sizeof name)
            st = fail_at(STK_FAIL(err, STK_ESOURCE, "the path is too long"), name, err);
        else
            st = add_name(paths, name, err);
    }
    stk__braces_free(braces);
    return st;
}
