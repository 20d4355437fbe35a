/* From a tar file to its index, by reading every header of it. */
#ifndef STK__INDEX_TAR_H
#define STK__INDEX_TAR_H

#include <stoker/archive.h>

#include "archive/index_file.h"
#include "base/stop_flag.h"

/*
 * `flags` as for stk__index_build_new(): with STK__INDEX_LENIENT what stands before a damage is
 * taken, and the damage is a note. A sample whose own member is damaged is left out.
 *
 * What stk_tar_open() and stk_tar_next() return; STK_EFIELD (a field twice in one sample);
 * STK_ESOURCE (the file changed while it was read), STK_ESTOPPED between two members. May block on
 * the file.
 */
STK_MUST_CHECK stk_status stk__index_tar(stk__heap *heap, const char *path, uint32_t flags,
    const stk_limits *limits, const stk__stop *stop, stk__index **index_out, stk_error *err);

#endif
