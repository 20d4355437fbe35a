/*
 * Where the members of an archive have their data, by name: what hard links are resolved with.
 *
 * Names are kept as 128-bit fingerprints, 32 bytes a member whatever its name. The table exists
 * only in archives that have hard links at all.
 */
#ifndef STK__TAR_LINKS_H
#define STK__TAR_LINKS_H

#include <stoker/base.h>

#include "base/hash.h"
#include "base/heap.h"

typedef struct stk__tar_target {
    stk__fingerprint name;
    uint64_t data_offset; /* 0: an empty place, since no data stands before a header */
    uint64_t size_bytes;
} stk__tar_target;

typedef struct stk__tar_links {
    stk__tar_target *targets;
    size_t capacity; /* 0, or a power of two */
    size_t count;
    bool ready; /* all members so far are in it */
} stk__tar_links;

/* Add a member; a later one of the same name takes its place. false: no memory. */
STK_MUST_CHECK bool stk__tar_links_put(stk__heap *heap, stk__tar_links *links, stk_view name,
    uint64_t data_offset, uint64_t size_bytes);

/* NULL: no such member. */
const stk__tar_target *stk__tar_links_find(const stk__tar_links *links, stk_view name);

void stk__tar_links_fini(stk__heap *heap, stk__tar_links *links);

#endif
