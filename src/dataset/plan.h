/* From patterns to parts: what is to be indexed, in which order. */
#ifndef STK__PLAN_H
#define STK__PLAN_H

#include <stoker/base.h>

#include "dataset/paths.h"

typedef enum stk__planned_kind {
    STK__PLANNED_TAR,
    STK__PLANNED_FOLDER,
    STK__PLANNED_LIST, /* files, each a sample by itself */
} stk__planned_kind;

/* One part to be. */
typedef struct stk__planned {
    stk__planned_kind kind;
    size_t first, count; /* in the paths; more than one for a LIST only */
} stk__planned;

typedef struct stk__plan {
    stk__heap *heap; /* not ours */
    stk__paths paths;
    stk__planned *items;
    size_t count, capacity;
} stk__plan;

/* STK_EINVAL (count 0, kinds mixed), and what stk__paths_expand() returns. The plan is for
 * stk__plan_fini() then, too. */
STK_MUST_CHECK stk_status stk__plan_make(
    stk__plan *plan, const char *const *where, size_t count, stk_error *err);
void stk__plan_fini(stk__plan *plan);

#endif
