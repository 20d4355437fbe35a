/* A run of listed files, each a sample by itself: an index that is made at each opening. */
#ifndef STK__LISTED_H
#define STK__LISTED_H

#include <stoker/base.h>

#include "archive/index_file.h"
#include "dataset/paths.h"

/* Bytes of the folder that all of them are in, without its slash (unless it is all there is). */
size_t stk__listed_root(const stk__path *files, size_t count);

/* Names and keys are those below the common folder, so that they stay when it is moved. Files
 * without an extension are left out, with a note. STK_ESOURCE: none is left. */
STK_MUST_CHECK stk_status stk__listed_index(stk__heap *heap, const stk__path *files, size_t count,
    size_t root_bytes, uint32_t flags, stk__index **index_out, stk_error *err);

#endif
