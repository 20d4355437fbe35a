/*
 * A file that gets its name when it is whole: the contract for each system.
 *
 * Until then it has no name at all, where the file system can do that (Linux: O_TMPFILE), so that
 * nothing stays of a process that is killed. Elsewhere it is called ".NAME.stoker-part" beside its
 * final name, NAME cut to 120 bytes at most and with a number behind if that is taken, and is
 * locked (flock) as long as its writer lives: whoever writes NAME next removes those that nobody
 * holds. A file system without such locks keeps them.
 *
 * Failures are STK_ESOURCE with os_errno and the final path as source. Any number of processes, on
 * any number of hosts and in any PID namespaces, may write the same name at once: each has a draft
 * of its own, and who publishes last has the name.
 */
#ifndef STK__DRAFT_H
#define STK__DRAFT_H

#include "os/file.h"

enum { STK__DRAFT_PATH_BYTES = 4608 };

typedef struct stk__draft {
    stk__file file; /* write to it with stk__file_write(); it can be read, too */
    char hidden[STK__DRAFT_PATH_BYTES]; /* its name so far; "": it has none */
} stk__draft;

#define STK__DRAFT_NONE {.file = STK__FILE_NONE}

/* Begin the file that is to be called `path`, and remove what dead writers left of it. */
STK_MUST_CHECK stk_status stk__draft_create(stk__draft *draft, const char *path, stk_error *err);

/* The same with a hidden name in any case, as where the file system knows no file without. */
STK_MUST_CHECK stk_status stk__draft_create_named(
    stk__draft *draft, const char *path, stk_error *err);

/* Give it the name `path` at once and for good (an existing `path` is replaced), and close it. It
 * was brought to the disk before, by stk__file_sync(). After a failure the draft is as it was. */
STK_MUST_CHECK stk_status stk__draft_publish(stk__draft *draft, const char *path, stk_error *err);

/* Close it, if it is not published; nothing of it stays. */
void stk__draft_fini(stk__draft *draft);

#endif
