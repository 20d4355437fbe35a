/*
 * A small file that is there whole or not at all: see save.h.
 *
 * Until it is whole it has a hidden name, by the rules of the engine's drafts: who holds the lock
 * lives, and what nobody holds was left by a run that was killed.
 */
#include "save.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "out_human.h"

enum { MOST_AT_ONCE = 10 }; /* writers of one name */

static stk_status failed(const char *path, int os_errno, stk_error *err)
{
    error_os(err, os_errno, path, "file could not be written");
    err->stage = STK_STAGE_WRITE;
    return STK_ESOURCE;
}

static stk_status write_to(FILE *file, const char *path, void (*write)(FILE *, const void *),
    const void *ctx, stk_error *err)
{
    int os_errno = 0;

    if (file == NULL)
        return failed(path, errno, err);
    write(file, ctx);
    if (fflush(file) != 0 || ferror(file))
        os_errno = errno != 0 ? errno : EIO;
    if (os_errno == 0 && fsync(fileno(file)) != 0 && errno != EINVAL && errno != EROFS)
        os_errno = errno;
    return os_errno != 0 ? failed(path, os_errno, err) : STK_OK;
}

static bool has_name(int fd, const char *name)
{
    struct stat file, named;

    return fstat(fd, &file) == 0 && lstat(name, &named) == 0 && file.st_dev == named.st_dev &&
           file.st_ino == named.st_ino;
}

bool save_remove_dead(const char *hidden)
{
    int fd = open(hidden, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool removed = false;

    if (fd < 0)
        return false;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && has_name(fd, hidden))
        removed = unlink(hidden) == 0;
    return close(fd) == 0 && removed;
}

/* A file of a hidden name, locked as long as it is open. */
static FILE *create_hidden(const char *path, char *hidden, size_t capacity)
{
    const char *slash = strrchr(path, '/');
    size_t folder = slash == NULL ? 0 : (size_t)(slash - path) + 1;

    for (int number = 0; number < MOST_AT_ONCE; number++) {
        FILE *file;
        int fd;

        if (snprintf(hidden, capacity,
                number == 0 ? "%.*s.%s.stoker-part" : "%.*s.%s.stoker-part%d", (int)folder, path,
                path + folder, number) < 0)
            return NULL;
        if (save_remove_dead(hidden))
            errno = 0; /* what a killed run left */
        file = fopen(hidden, "wxe");
        if (file == NULL && errno == EEXIST)
            continue;
        fd = file != NULL ? fileno(file) : -1;
        if (fd < 0 ||
            ((flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) && has_name(fd, hidden)))
            return file;
        if (fclose(file) != 0) /* it was taken for dead before it was locked */
            return NULL;
    }
    errno = EEXIST;
    return NULL;
}

stk_status save_file(
    const char *path, void (*write)(FILE *file, const void *ctx), const void *ctx, stk_error *err)
{
    size_t capacity = strlen(path) + 32;
    char *hidden = NULL;
    struct stat there;
    stk_status st;
    FILE *file;

    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode)) {
        file = fopen(path, "we");
    } else {
        hidden = malloc(capacity);
        if (hidden == NULL)
            return error_make(err, STK_ENOMEM, path, "no memory for a name");
        file = create_hidden(path, hidden, capacity);
    }
    st = write_to(file, path, write, ctx, err);
    if (hidden != NULL && st >= 0 && rename(hidden, path) != 0)
        st = failed(path, errno, err);
    if (hidden != NULL && file != NULL && st < 0 && unlink(hidden) != 0)
        err->stage = STK_STAGE_WRITE; /* nothing was left, or nothing can be done about it */
    if (file != NULL && fclose(file) != 0 && st >= 0) /* not before: the lock ends with it */
        st = failed(path, errno, err);
    free(hidden);
    return st;
}
