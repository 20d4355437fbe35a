/*
 * Reading tar archives inside the engine: over a file that is open already, or over memory.
 *
 * What comes out is the public stk_tar of <stoker/archive.h>: use stk_tar_next() and so on.
 */
#ifndef STK__TAR_READ_H
#define STK__TAR_READ_H

#include <stoker/archive.h>

#include "archive/tar_window.h"
#include "base/heap.h"
#include "os/file.h"

/*
 * Read an archive through an open file.
 *
 * With options->data false only headers are touched: members of 256 KiB and more are stepped over,
 * smaller ones lie in large sequential reads anyway.
 *
 * @param heap  Every allocation; must outlive the reader. So must `file`.
 * @param path  For errors. Copied.
 * @return as stk_tar_open().
 */
STK_MUST_CHECK stk_status stk__tar_open_file(stk__heap *heap, const stk__file *file,
    const char *path, const stk_tar_options *options, stk_tar **tar_out, stk_error *err);

/* Read an archive from any source. `source->ctx` must outlive the reader. */
STK_MUST_CHECK stk_status stk__tar_open_source(stk__heap *heap, const stk__tar_source *source,
    const char *path, const stk_tar_options *options, stk_tar **tar_out, stk_error *err);

/* The same over bytes in memory, which must outlive the reader. */
STK_MUST_CHECK stk_status stk__tar_open_memory(stk__heap *heap, const stk_view *bytes,
    const char *path, const stk_tar_options *options, stk_tar **tar_out, stk_error *err);

#endif
