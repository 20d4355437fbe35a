/*
 * Globs: *, ? and [...] in any component of a path. Bytes, no locale.
 *
 * A name that begins with a dot is matched by a dot only. Indexes of Stoker (*.stoker) are never
 * matched: they lie beside the shards that are meant.
 */
#ifndef STK__GLOB_H
#define STK__GLOB_H

#include <stoker/base.h>

#include "dataset/paths.h"

/* Has the name a *, ? or [ that no backslash stands before? */
bool stk__glob_has_magic(const char *pattern);

/* Does a pattern without slashes match a name? [!a-c] and [^a-c] match what is not in the set. */
bool stk__glob_match(stk_view pattern, const char *name);

/* Append what exists and matches, in no order. STK_ESOURCE (a folder on the way cannot be listed),
 * STK_ENOMEM. */
STK_MUST_CHECK stk_status stk__glob(stk__paths *paths, const char *pattern, stk_error *err);

#endif
