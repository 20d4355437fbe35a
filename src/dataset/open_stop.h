/* Opening a dataset so that the caller can give it up: see <stoker/dataset.h>. */
#ifndef STK__OPEN_STOP_H
#define STK__OPEN_STOP_H

#include <stoker/dataset.h>

#include "base/stop_flag.h"

/* stk_dataset_open() in the thread that calls, for options that were looked at; it ends at the next
 * part, member or name when it is told to. */
STK_MUST_CHECK stk_status stk__dataset_open_here(const char *const *where, size_t count,
    const stk_dataset_options *options, const stk__stop *stop, stk_dataset **dataset_out,
    stk_error *err);

/* The same in a thread of its own while the caller's asks options->stop, which is not NULL. */
STK_MUST_CHECK stk_status stk__dataset_open_asking(const char *const *where, size_t count,
    const stk_dataset_options *options, stk_dataset **dataset_out, stk_error *err);

#endif
