/*
 * Drafts by O_TMPFILE and flock: see draft.h.
 *
 * A lock belongs to the open file, so it ends with the writer however that ends. Whoever finds a
 * file unlocked may remove it, if its name is still that of the file that was locked: the name may
 * have gone to another file meanwhile. A writer looks for its name in the same way after it has
 * locked, since it may have been taken for dead between creating and locking.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stoker/os.h>

#include "base/error.h"
#include "base/fault.h"
#include "os/clock.h"
#include "os/draft.h"
#include "os/process.h"

enum {
    SHOWN_BYTES = 120,   /* of NAME in the hidden name: a name has 255 bytes, on eCryptfs 143 */
    LOOKED_AT = 4,       /* hidden names that are tried first, and looked at for dead ones */
    MOST_ATTEMPTS = 100, /* at a hidden name that nobody has */
};

#define PART ".stoker-part"

/* How much of NAME is shown: no part of a character, since some file systems take UTF-8 only. */
static size_t shown_of(const char *name)
{
    size_t shown = strlen(name);

    if (shown <= SHOWN_BYTES)
        return shown;
    shown = SHOWN_BYTES;
    for (int i = 0; i < 3 && ((unsigned char)name[shown] & 0xC0) == 0x80; i++)
        shown--;
    return shown;
}

/* The hidden name of that number; false if it is too long. */
static bool name_hidden(char *hidden, const char *path, unsigned number)
{
    const char *slash = strrchr(path, '/');
    size_t folder = slash == NULL ? 0 : (size_t)(slash - path) + 1;
    char digits[16] = "";
    int length;

    if (number > 0)
        STK_IGNORE(snprintf(digits, sizeof digits, "%u", number) < 0); /* it fits */
    length = snprintf(hidden, STK__DRAFT_PATH_BYTES, "%.*s.%.*s" PART "%s", (int)folder, path,
        (int)shown_of(path + folder), path + folder, digits);
    return length >= 0 && length < STK__DRAFT_PATH_BYTES;
}

/* The first few are shared, so that dead ones are found; in a crowd each takes one at random. */
static unsigned number_of(unsigned attempt)
{
    if (attempt < LOOKED_AT)
        return attempt;
    return LOOKED_AT +
           (unsigned)((stk__process_id() * 2654435761u + stk__clock_ns() + attempt) % 1000000);
}

static bool has_name(int fd, const char *name)
{
    struct stat file, named;

    return fstat(fd, &file) == 0 && lstat(name, &named) == 0 && file.st_dev == named.st_dev &&
           file.st_ino == named.st_ino;
}

/* Remove what a dead writer left; false if there was nothing, or it lives, or nobody can tell. */
static bool remove_dead(const char *hidden)
{
    int fd = open(hidden, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool removed = false;

    if (fd < 0)
        return false;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && has_name(fd, hidden))
        removed = unlink(hidden) == 0;
    STK_IGNORE(close(fd) != 0); /* nothing was written */
    return removed;
}

bool stk_draft_remove_dead(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1;
    size_t size = strlen(name), part = sizeof PART - 1;

    while (size > 0 && name[size - 1] >= '0' && name[size - 1] <= '9')
        size--;
    if (name[0] != '.' || size < 1 + part || memcmp(name + size - part, PART, part) != 0)
        return false;
    return remove_dead(path);
}

static void remove_all_dead(const char *path)
{
    char hidden[STK__DRAFT_PATH_BYTES];

    for (unsigned number = 0; number < LOOKED_AT; number++)
        if (name_hidden(hidden, path, number))
            STK_IGNORE(!remove_dead(hidden)); /* mostly there is none */
}

/* Is it ours for good? A file system without locks has nobody who could take it. */
static bool lock(stk__draft *draft)
{
    if (flock(draft->file.fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return false;
    return draft->hidden[0] == '\0' || has_name(draft->file.fd, draft->hidden);
}

stk_status stk__draft_create_named(stk__draft *draft, const char *path, stk_error *err)
{
    stk_error why = STK_ERROR_INIT;

    remove_all_dead(path);
    for (unsigned attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
        stk_status st;

        if (!name_hidden(draft->hidden, path, number_of(attempt)))
            return stk__file_failed(ENAMETOOLONG, path, "could not create the file", err);
        st = stk__file_create(&draft->file, draft->hidden, &why);
        if (st == STK_EEXIST)
            continue;
        if (st < 0)
            break;
        if (lock(draft))
            return STK_OK;
        stk__file_fini(&draft->file);
    }
    draft->hidden[0] = '\0';
    return stk__file_failed(why.os_errno, path, "could not create the file", err);
}

#if defined(O_TMPFILE)
/* A file without a name, and the way by which it can get one. */
static int open_unnamed(const char *path)
{
    const char *slash = strrchr(path, '/');
    char folder[STK__DRAFT_PATH_BYTES], way[64];
    int length = slash == NULL
                     ? snprintf(folder, sizeof folder, ".")
                     : snprintf(folder, sizeof folder, "%.*s", (int)(slash - path) + 1, path);
    int fd;

    if (length < 0 || (size_t)length >= sizeof folder)
        return -1;
    errno = stk__fault_unnamed();
    if (errno != 0)
        return -1;
    fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    if (fd < 0)
        return -1;
    STK_IGNORE(snprintf(way, sizeof way, "/proc/self/fd/%d", fd) < 0); /* it fits */
    if (access(way, F_OK) == 0)
        return fd;
    STK_IGNORE(close(fd) != 0); /* it is empty */
    return -1;
}
#else
static int open_unnamed(const char *path)
{
    (void)path;
    return -1;
}
#endif

stk_status stk__draft_create(stk__draft *draft, const char *path, stk_error *err)
{
    if (stk__fault_hit(STK__FAULT_OPEN))
        return stk__file_failed(EIO, path, "could not create the file", err);
    draft->hidden[0] = '\0';
    draft->file.fd = open_unnamed(path);
    if (draft->file.fd < 0)
        return stk__draft_create_named(draft, path, err); /* or it says why not */
    remove_all_dead(path);
    STK_IGNORE(!lock(draft)); /* nobody else can have it open */
    return STK_OK;
}

/* From no name to a hidden one: only a name can replace a name. */
static stk_status name_unnamed(stk__draft *draft, const char *path, stk_error *err)
{
    int os_errno = EEXIST;
    char way[64];

    STK_IGNORE(snprintf(way, sizeof way, "/proc/self/fd/%d", draft->file.fd) < 0); /* it fits */
    for (unsigned attempt = 0; os_errno == EEXIST && attempt < MOST_ATTEMPTS; attempt++) {
        if (!name_hidden(draft->hidden, path, number_of(attempt)))
            os_errno = ENAMETOOLONG;
        else if (stk__fault_hit(STK__FAULT_WRITE))
            os_errno = EIO;
        else if (linkat(AT_FDCWD, way, AT_FDCWD, draft->hidden, AT_SYMLINK_FOLLOW) == 0)
            return STK_OK;
        else
            os_errno = errno;
    }
    draft->hidden[0] = '\0';
    return stk__file_failed(os_errno, path, "could not give the file its final name", err);
}

stk_status stk__draft_publish(stk__draft *draft, const char *path, stk_error *err)
{
    if (draft->hidden[0] == '\0')
        STK_TRY(name_unnamed(draft, path, err));
    if (!has_name(draft->file.fd, draft->hidden))
        return stk__file_failed(ENOENT, path, "could not give the file its final name", err);
    STK_TRY(stk__path_rename(draft->hidden, path, err));
    draft->hidden[0] = '\0';
    stk__file_fini(&draft->file); /* not before: the lock ends with it */
    return STK_OK;
}

void stk__draft_fini(stk__draft *draft)
{
    if (draft->file.fd >= 0 && draft->hidden[0] != '\0' && has_name(draft->file.fd, draft->hidden))
        STK_IGNORE(unlink(draft->hidden) != 0); /* nothing more can be done */
    stk__file_fini(&draft->file);
    draft->hidden[0] = '\0';
}
