/*
 * From a folder of files to its index, by the rules of <stoker/dataset.h>.
 *
 * Folders on the first level are classes if any of them holds a file; then files beside them are
 * left out. Order is that of torchvision's ImageFolder: classes by name, in each the folders by
 * path, in each the files by name, all by bytes. Names that begin with a dot are left out, and so
 * are files without an extension.
 */
#ifndef STK__FOLDER_H
#define STK__FOLDER_H

#include <stoker/base.h>

#include "archive/index_file.h"
#include "base/heap.h"
#include "base/stop_flag.h"

/* STK_ESOURCE: a folder or file cannot be looked at (err->source says which; with
 * STK__INDEX_LENIENT it is a note), or there is no file in it. STK_EFIELD, STK_ENOMEM, STK_ESTOPPED
 * between two names. May block on the file system. */
STK_MUST_CHECK stk_status stk__folder_index(stk__heap *heap, const char *root, uint32_t flags,
    const stk__stop *stop, stk__index **index_out, stk_error *err);

/* Does a folder still hold the names that it was indexed with? ctx is the path of the root. See
 * stk__index_check. Sizes of files are not looked at: they are compared when a file is opened. */
stk_status stk__folder_check(const void *ctx, const stk__index *index, stk_error *err);

/* "x.tar", and compressed ones, which the tar reader refuses by name. */
bool stk__is_tar_name(const char *name);

#endif
