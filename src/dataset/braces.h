/*
 * Brace patterns: "train-{000000..000127}.tar" as many names.
 *
 * The grammar is that of the Python package braceexpand, which WebDataset uses: integer ranges with
 * a step and zero padding, ranges of letters over A to Z then a to z, lists, nesting, several
 * groups as a product whose rightmost varies fastest, other groups as they stand. A backslash takes
 * the meaning of a brace, a comma or a backslash away and is removed there; before anything else it
 * stays. Names are made one by one, never all at once.
 */
#ifndef STK__BRACES_H
#define STK__BRACES_H

#include <stoker/base.h>

#include "base/heap.h"

/* Names that one pattern may stand for. */
#define STK__BRACES_MAX_NAMES 10000000u

typedef struct stk__braces stk__braces;

/* `pattern` and `heap` are kept. STK_EINVAL (unbalanced, nested too deeply, a number of more than
 * 18 digits: the text shows the pattern), STK_ELIMIT (too many names), STK_ENOMEM. */
STK_MUST_CHECK stk_status stk__braces_new(
    stk__heap *heap, const char *pattern, stk__braces **braces_out, stk_error *err);

/* Takes NULL. */
void stk__braces_free(stk__braces *braces);

uint64_t stk__braces_count(const stk__braces *braces);

/* The nth name, below the count, as far as it fits and NUL-terminated. Returns the bytes needed
 * without the NUL. */
size_t stk__braces_get(const stk__braces *braces, uint64_t nth, char *name, size_t capacity);

#endif
