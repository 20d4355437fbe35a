/* Files by POSIX, and Linux's preadv2 where it is there: see file.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fault.h"
#include "os/file.h"

/* One system call moves at most this much: Linux moves no more than 2 GiB less a page. */
#define CHUNK_BYTES ((size_t)1 << 30)

stk_status stk__file_failed(int os_errno, const char *path, const char *what, stk_error *err)
{
    const stk__place place = {.source = path};

    return stk__error_in(STK_FAIL_OS(err, STK_ESOURCE, os_errno, "%s", what), &place, err);
}

stk_status stk__file_open(stk__file *file, const char *path, stk_error *err)
{
    if (stk__fault_hit(STK__FAULT_OPEN))
        return stk__file_failed(EIO, path, "could not open the file", err);
    do {
        file->fd = open(path, O_RDONLY | O_CLOEXEC);
    } while (file->fd < 0 && errno == EINTR);
    return file->fd < 0 ? stk__file_failed(errno, path, "could not open the file", err) : STK_OK;
}

stk_status stk__file_create(stk__file *file, const char *path, stk_error *err)
{
    const stk__place place = {.source = path};

    if (stk__fault_hit(STK__FAULT_OPEN))
        return stk__file_failed(EIO, path, "could not create the file", err);
    do {
        file->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (file->fd < 0 && errno == EINTR);
    if (file->fd >= 0)
        return STK_OK;
    if (errno == EEXIST)
        return stk__error_in(
            STK_FAIL_OS(err, STK_EEXIST, EEXIST, "could not create the file"), &place, err);
    return stk__file_failed(errno, path, "could not create the file", err);
}

void stk__file_fini(stk__file *file)
{
    if (file->fd >= 0)
        STK_IGNORE(close(file->fd) != 0); /* read-only, or synced before: nothing can be lost */
    file->fd = -1;
}

static void convert(const struct stat *from, stk__file_stat *to)
{
    to->size_bytes = from->st_size > 0 ? (uint64_t)from->st_size : 0;
    to->mtime_ns = (int64_t)from->st_mtim.tv_sec * 1000000000 + from->st_mtim.tv_nsec;
    to->folder = S_ISDIR(from->st_mode);
    to->regular = S_ISREG(from->st_mode);
    to->device = (uint64_t)from->st_dev;
    to->inode = (uint64_t)from->st_ino;
}

stk_status stk__file_stat_of(
    const stk__file *file, const char *path, stk__file_stat *stat_out, stk_error *err)
{
    struct stat found;

    if (fstat(file->fd, &found) != 0)
        return stk__file_failed(errno, path, "could not look at the file", err);
    convert(&found, stat_out);
    return STK_OK;
}

stk_status stk__path_stat(const char *path, stk__file_stat *stat_out, stk_error *err)
{
    struct stat found;

    if (stat(path, &found) != 0)
        return stk__file_failed(errno, path, "could not look at the file", err);
    convert(&found, stat_out);
    return STK_OK;
}

stk_status stk__file_read_at(const stk__file *file, const char *path, uint64_t offset, stk_span dst,
    size_t *got_out, stk_error *err)
{
    size_t got = 0;

    if (stk__fault_hit(STK__FAULT_READ))
        return stk__file_failed(EIO, path, "could not read the file", err);
    while (got < dst.size) {
        size_t want = dst.size - got < CHUNK_BYTES ? dst.size - got : CHUNK_BYTES;
        ssize_t n = pread(file->fd, (char *)dst.data + got, want, (off_t)(offset + got));

        if (n == 0)
            break;
        if (n > 0)
            got += (size_t)n;
        else if (errno != EINTR)
            return stk__file_failed(errno, path, "could not read the file", err);
    }
    *got_out = got;
    return STK_OK;
}

stk_status stk__file_try_read_at(const stk__file *file, const char *path, uint64_t offset,
    stk_span dst, size_t *got_out, stk_error *err)
{
#if defined(RWF_NOWAIT)
    struct iovec piece = {.iov_base = dst.data, .iov_len = dst.size};
    ssize_t n;

    if (stk__fault_hit(STK__FAULT_READ))
        return stk__file_failed(EIO, path, "could not read the file", err);
    if (dst.size > CHUNK_BYTES)
        return STK_AGAIN;
    do {
        n = preadv2(file->fd, &piece, 1, (off_t)offset, RWF_NOWAIT);
    } while (n < 0 && errno == EINTR);
    if (n >= 0 && (size_t)n == dst.size) {
        *got_out = (size_t)n;
        return STK_OK;
    }
    /* Not all of it was in memory, the end of the file came, or this file system cannot tell: a
     * read that may wait finds out which, and reports it. */
    return STK_AGAIN;
#else
    (void)file, (void)path, (void)offset, (void)dst, (void)got_out, (void)err;
    return STK_AGAIN;
#endif
}

stk_status stk__file_write(const stk__file *file, const char *path, stk_view data, stk_error *err)
{
    size_t done = 0;

    while (done < data.size) {
        size_t want = data.size - done < CHUNK_BYTES ? data.size - done : CHUNK_BYTES;
        ssize_t n;

        if (stk__fault_hit(STK__FAULT_WRITE))
            return stk__file_failed(ENOSPC, path, "could not write the file", err);
        n = write(file->fd, (const char *)data.data + done, want);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno != EINTR) /* 0 would come again for ever */
            return stk__file_failed(n == 0 ? EIO : errno, path, "could not write the file", err);
    }
    return STK_OK;
}

stk_status stk__file_sync(const stk__file *file, const char *path, stk_error *err)
{
    int result;

    if (stk__fault_hit(STK__FAULT_WRITE))
        return stk__file_failed(EIO, path, "could not bring the file to the disk", err);
    do {
        result = fsync(file->fd);
    } while (result != 0 && errno == EINTR);
    if (result != 0 && errno != EINVAL) /* a file system that has no such thing */
        return stk__file_failed(errno, path, "could not bring the file to the disk", err);
    return STK_OK;
}

void stk__file_will_need(const stk__file *file, uint64_t offset, uint64_t size_bytes)
{
    /* A hint: where it is not understood, reads are slower and nothing else. */
    STK_IGNORE(posix_fadvise(file->fd, (off_t)offset, (off_t)size_bytes, POSIX_FADV_WILLNEED) != 0);
}

stk_status stk__file_map(const stk__file *file, const char *path, stk_view *map_out, stk_error *err)
{
    stk__file_stat found = {0}; /* gcc cannot see that it is set on success */
    void *memory;

    STK_TRY(stk__file_stat_of(file, path, &found, err));
    if (found.size_bytes > SIZE_MAX || stk__fault_hit(STK__FAULT_MAP))
        return stk__file_failed(ENOMEM, path, "could not map the file", err);
    if (found.size_bytes == 0) {
        *map_out = (stk_view){NULL, 0};
        return STK_OK;
    }
    memory = mmap(NULL, (size_t)found.size_bytes, PROT_READ, MAP_SHARED, file->fd, 0);
    if (memory == MAP_FAILED)
        return stk__file_failed(errno, path, "could not map the file", err);
    *map_out = (stk_view){memory, (size_t)found.size_bytes};
    return STK_OK;
}

void stk__file_unmap(stk_view *map)
{
    if (map->data != NULL)
        STK_IGNORE(munmap((void *)(uintptr_t)map->data, map->size) != 0); /* it was a mapping */
    *map = (stk_view){NULL, 0};
}

/* Bring a folder's entries to the disk: some file systems cannot, and then there is nothing to do.
 */
static void sync_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char folder[4096];
    int fd;

    if (slash == NULL)
        strcpy(folder, ".");
    else if ((size_t)(slash - path) + 2 <= sizeof folder)
        STK_IGNORE(
            snprintf(folder, sizeof folder, "%.*s/", (int)(slash - path), path) < 0); /* fits */
    else
        return;
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    STK_IGNORE(fsync(fd) != 0); /* see above */
    STK_IGNORE(close(fd) != 0); /* read-only */
}

stk_status stk__path_rename(const char *from, const char *to, stk_error *err)
{
    if (stk__fault_hit(STK__FAULT_WRITE))
        return stk__file_failed(EIO, to, "could not give the file its final name", err);
    if (rename(from, to) != 0)
        return stk__file_failed(errno, to, "could not give the file its final name", err);
    sync_folder_of(to);
    return STK_OK;
}

stk_status stk__path_remove(const char *path, stk_error *err)
{
    if (unlink(path) != 0 && errno != ENOENT)
        return stk__file_failed(errno, path, "could not remove the file", err);
    return STK_OK;
}

stk_status stk__folder_list(const char *path,
    stk_status (*each)(void *ctx, const char *name, stk_error *err), void *ctx, stk_error *err)
{
    DIR *folder = stk__fault_hit(STK__FAULT_OPEN) ? (errno = EIO, NULL) : opendir(path);
    struct dirent *entry;
    stk_status st = STK_OK;

    if (folder == NULL)
        return stk__file_failed(errno, path, "could not open the folder", err);
    while (st >= 0) {
        errno = 0;
        /* One stream, one thread: no shared state. NOLINTNEXTLINE(concurrency-mt-unsafe) */
        entry = readdir(folder);
        if (entry == NULL) {
            if (errno != 0)
                st = stk__file_failed(errno, path, "could not list the folder", err);
            break;
        }
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            st = each(ctx, entry->d_name, err);
    }
    STK_IGNORE(closedir(folder) != 0); /* read-only */
    return st;
}

stk_status stk__folder_make(const char *path, stk_error *err)
{
    struct stat found;

    if (mkdir(path, 0777) == 0)
        return STK_OK;
    if (errno != EEXIST)
        return stk__file_failed(errno, path, "could not make the folder", err);
    if (stat(path, &found) != 0 || !S_ISDIR(found.st_mode))
        return stk__file_failed(ENOTDIR, path, "could not make the folder", err);
    return STK_OK;
}
