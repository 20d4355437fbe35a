/*
 * Small files, whole or not at all, through drafts: see <stoker/os.h> and draft.h.
 *
 * Links are followed by hand, since a rename would replace the link. One that lies in /proc is the
 * name of an open file: /dev/stdout leads there. To replace what such a name shows would take the
 * file away from who has it open, and to open it anew would begin at its start, so the bytes go to
 * the descriptor itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stoker/os.h>

#include "base/error.h"
#include "base/fault.h"
#include "os/draft.h"

enum { MOST_LINKS = 40 }; /* as many as Linux follows */

/* Where the bytes go. */
typedef struct target {
    char path[STK__DRAFT_PATH_BYTES]; /* links followed */
    bool replaced;                    /* by a draft; else it is written to as it is */
    int fd;                           /* and through this descriptor, if it is the name of one */
} target;

/* path = what the link says, seen from its folder; false if that is too long, or no link any more.
 */
static bool step(char *path)
{
    char said[STK__DRAFT_PATH_BYTES];
    ssize_t size = readlink(path, said, sizeof said);
    char *slash = strrchr(path, '/');
    size_t folder = size > 0 && said[0] != '/' && slash != NULL ? (size_t)(slash - path) + 1 : 0;

    if (size <= 0 || folder + (size_t)size >= STK__DRAFT_PATH_BYTES)
        return false;
    memcpy(path + folder, said, (size_t)size);
    path[folder + (size_t)size] = '\0';
    return true;
}

/* The descriptor of this process that a name in /proc stands for, or -1. */
static int descriptor_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *digits = slash == NULL ? path : slash + 1;
    struct stat named, open_file;
    char *end;
    unsigned long fd;

    errno = 0;
    fd = strtoul(digits, &end, 10);
    if (end == digits || *end != '\0' || errno != 0 || fd > INT32_MAX)
        return -1;
    if (stat(path, &named) != 0 || fstat((int)fd, &open_file) != 0)
        return -1; /* of another process */
    return named.st_dev == open_file.st_dev && named.st_ino == open_file.st_ino ? (int)fd : -1;
}

static stk_status find_target(const char *path, target *t, stk_error *err)
{
    struct stat here, proc;
    bool has_proc = stat("/proc/self", &proc) == 0;

    *t = (target){.fd = -1};
    if (strlen(path) >= sizeof t->path)
        return stk__file_failed(ENAMETOOLONG, path, "could not write the file", err);
    memcpy(t->path, path, strlen(path) + 1);
    for (int links = 0; links <= MOST_LINKS; links++) {
        if (lstat(t->path, &here) != 0 || S_ISREG(here.st_mode)) {
            t->replaced = true; /* or the draft finds out why not */
            return STK_OK;
        }
        if (!S_ISLNK(here.st_mode))
            return STK_OK;
        if (has_proc && here.st_dev == proc.st_dev) {
            t->fd = descriptor_of(t->path);
            return STK_OK;
        }
        if (!step(t->path))
            return stk__file_failed(ENAMETOOLONG, path, "could not write the file", err);
    }
    return stk__file_failed(ELOOP, path, "could not write the file", err);
}

static stk_status replace(const char *path, stk_view data, stk_error *err)
{
    stk__draft draft = STK__DRAFT_NONE;
    stk_status st = stk__draft_create(&draft, path, err);

    if (st >= 0)
        st = stk__file_write(&draft.file, path, data, err);
    if (st >= 0)
        st = stk__file_sync(&draft.file, path, err);
    if (st >= 0)
        st = stk__draft_publish(&draft, path, err);
    stk__draft_fini(&draft);
    return st;
}

static stk_status write_to(const target *t, stk_view data, stk_error *err)
{
    stk__file file = {.fd = t->fd};
    stk_status st;

    if (t->fd >= 0)
        return stk__file_write(&file, t->path, data, err);
    if (stk__fault_hit(STK__FAULT_OPEN))
        return stk__file_failed(EIO, t->path, "could not write the file", err);
    do {
        file.fd = open(t->path, O_WRONLY | O_TRUNC | O_NOCTTY | O_CLOEXEC);
    } while (file.fd < 0 && errno == EINTR);
    if (file.fd < 0)
        return stk__file_failed(errno, t->path, "could not write the file", err);
    st = stk__file_write(&file, t->path, data, err);
    if (close(file.fd) != 0 && st >= 0)
        st = stk__file_failed(errno, t->path, "could not write the file", err);
    return st;
}

stk_status stk_file_save(const char *path, stk_view data, stk_error *err)
{
    const stk__place place = {.stage = STK_STAGE_WRITE, .source = path};
    target t;
    stk_status st = find_target(path, &t, err);

    if (st >= 0)
        st = t.replaced ? replace(t.path, data, err) : write_to(&t, data, err);
    return stk__error_in(st, &place, err);
}
