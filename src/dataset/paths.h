/* From patterns to paths: braces first, then globs; what a name stands for must be there. */
#ifndef STK__PATHS_H
#define STK__PATHS_H

#include <stoker/base.h>

#include "base/heap.h"
#include "os/file.h"

/* Room for a path that the system takes, and some more. */
#define STK__PATH_BYTES 4352u

/* A path and what is there. */
typedef struct stk__path {
    char *name; /* owned */
    bool folder;
    uint64_t size_bytes; /* of a file */
} stk__path;

/* A growing list of them. Zero it to start, but for the heap. */
typedef struct stk__paths {
    stk__heap *heap; /* not ours */
    stk__path *items;
    size_t count, capacity;
} stk__paths;

void stk__paths_fini(stk__paths *paths);

/* Append a copy. */
STK_MUST_CHECK stk_status stk__paths_add(
    stk__paths *paths, const char *name, const stk__file_stat *found, stk_error *err);

/* Sort those from `first` on by the bytes of their names. */
void stk__paths_sort(stk__paths *paths, size_t first);

/*
 * Append what a pattern stands for, in its order; names that a glob matches are sorted by bytes. A
 * name that exists as it is written is taken so, whatever characters it has.
 *
 * STK_EINVAL, STK_ELIMIT: see stk__braces_new(). STK_ESOURCE: a name does not exist (err->source
 * says which), a glob matches nothing, a folder cannot be listed, neither file nor folder.
 * STK_ENOTSUP: a URL; the text names its scheme. STK_ENOMEM. May block on the file system.
 */
STK_MUST_CHECK stk_status stk__paths_expand(stk__paths *paths, const char *pattern, stk_error *err);

#endif
