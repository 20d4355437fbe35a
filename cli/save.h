/* A small file that is there whole or not at all, from what writes it to a stream. */
#ifndef SAVE_H
#define SAVE_H

#include <stdio.h>

#include <stoker/base.h>

/* All that `write` writes, in memory, with a NUL behind it; freed by the caller. NULL: no memory.
 */
char *save_in_memory(void (*write)(FILE *file, const void *ctx), const void *ctx, size_t *size_out);

/* The same under the name `path`: see stk_file_save(). */
stk_status save_file(
    const char *path, void (*write)(FILE *file, const void *ctx), const void *ctx, stk_error *err);

#endif
