/*
 * Files: the contract for each system.
 *
 * Every failure is STK_ESOURCE with os_errno and `path` as the error's source, unless said
 * otherwise. Calls interrupted by a signal go on by themselves. Offsets are 64-bit. Reads never
 * move a shared position: one open file may be read by any number of threads at once.
 */
#ifndef STK__FILE_H
#define STK__FILE_H

#include <stoker/base.h>

typedef struct stk__file {
    int fd; /* -1: not open */
} stk__file;

#define STK__FILE_NONE {.fd = -1}

typedef struct stk__file_stat {
    uint64_t size_bytes;
    int64_t mtime_ns;
    bool folder;
    bool regular;
    uint64_t device, inode; /* together they tell files apart, whatever their names */
} stk__file_stat;

/* The error of a call that the system refused with os_errno: STK_ESOURCE, saying `what`. */
stk_status stk__file_failed(int os_errno, const char *path, const char *what, stk_error *err);

/* Open for reading. */
STK_MUST_CHECK stk_status stk__file_open(stk__file *file, const char *path, stk_error *err);

/* Create for writing and reading; STK_EEXIST when something has that name. */
STK_MUST_CHECK stk_status stk__file_create(stk__file *file, const char *path, stk_error *err);

/* Close; nothing if it is not open. */
void stk__file_fini(stk__file *file);

STK_MUST_CHECK stk_status stk__file_stat_of(
    const stk__file *file, const char *path, stk__file_stat *stat_out, stk_error *err);
STK_MUST_CHECK stk_status stk__path_stat(
    const char *path, stk__file_stat *stat_out, stk_error *err);

/* Read up to dst.size bytes at offset; got_out is less only at the end of the file. */
STK_MUST_CHECK stk_status stk__file_read_at(const stk__file *file, const char *path,
    uint64_t offset, stk_span dst, size_t *got_out, stk_error *err);

/* The same without waiting for the disk: STK_AGAIN when not all of dst is in memory, or when the
 * system cannot tell. */
STK_MUST_CHECK stk_status stk__file_try_read_at(const stk__file *file, const char *path,
    uint64_t offset, stk_span dst, size_t *got_out, stk_error *err);

/* Write all of it at the end. */
STK_MUST_CHECK stk_status stk__file_write(
    const stk__file *file, const char *path, stk_view data, stk_error *err);

/* Bring what was written to the disk; nothing where the file system knows of no such thing. */
STK_MUST_CHECK stk_status stk__file_sync(const stk__file *file, const char *path, stk_error *err);

/* Tell the system that bytes from offset on are wanted soon; a hint. */
void stk__file_will_need(const stk__file *file, uint64_t offset, uint64_t size_bytes);

/* Map the whole file for reading. An empty file maps as an empty view. Who cuts the file shorter
 * while it is mapped ends the process at the next touch (SIGBUS), so only files that are replaced
 * by rename and never written in place are to be mapped. */
STK_MUST_CHECK stk_status stk__file_map(
    const stk__file *file, const char *path, stk_view *map_out, stk_error *err);
void stk__file_unmap(stk_view *map);

/* Give `from` the name `to` at once and for good (an existing `to` is replaced); the folder's entry
 * is brought to the disk too. */
STK_MUST_CHECK stk_status stk__path_rename(const char *from, const char *to, stk_error *err);

/* Remove a file; missing is fine. */
STK_MUST_CHECK stk_status stk__path_remove(const char *path, stk_error *err);

/* Call `each` for every name in a folder but "." and "..", in no order; a failure of each ends it.
 */
STK_MUST_CHECK stk_status stk__folder_list(const char *path,
    stk_status (*each)(void *ctx, const char *name, stk_error *err), void *ctx, stk_error *err);

/* Make a folder; one that exists is fine, something else of that name is not. */
STK_MUST_CHECK stk_status stk__folder_make(const char *path, stk_error *err);

#endif
