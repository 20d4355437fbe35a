/* A small file that is there whole or not at all. */
#ifndef SAVE_H
#define SAVE_H

#include <stdbool.h>
#include <stdio.h>

#include <stoker/base.h>

/* What does exist under `path` and is no regular file (a pipe, /dev/stdout) is written to directly;
 * else the file gets its name when it is complete and on the disk. */
stk_status save_file(
    const char *path, void (*write)(FILE *file, const void *ctx), const void *ctx, stk_error *err);

/* Remove an unfinished file whose writer is gone: nobody holds its lock. @return was it removed? */
bool save_remove_dead(const char *hidden);

#endif
