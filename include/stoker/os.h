/**
 * stoker/os.h: small files that are there whole or not at all.
 *
 * A report, a list of classes, an account of damage: who opens such a file while it is written, or
 * after its writer was killed or ran out of disk, must meet the old one or the new one and never a
 * part. The engine writes its shards and indexes in the same way.
 *
 *     stk_view text = {"ant\nbee\n", 8};
 *     if (stk_file_save("train/classes.txt", text, &err) < 0)
 *         ...
 *
 * A *draft* is such a file before it has its name. Where the file system can do that (Linux:
 * O_TMPFILE) it has none at all until it is whole, and nothing stays of a writer that is killed.
 * Elsewhere it is called ".NAME.stoker-part" beside its final name, with NAME cut to its first 120
 * bytes and a number behind if several write the same, and is locked (flock) as long as its writer
 * lives: whoever writes NAME next removes those that nobody holds.
 */
#ifndef STOKER_OS_H
#define STOKER_OS_H

#include <stoker/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Write a file under its final name, whole or not at all.
 *
 * What has that name is replaced at the moment the new file is complete and on the disk: its bytes
 * are brought there (fsync) before it gets the name, and the entry of its folder after. The file is
 * a new one with the permissions of a new file (0666 less the umask), whatever the old one had; a
 * symbolic link stays, and the file that it leads to is replaced.
 *
 * What has that name and is no regular file (a pipe, a terminal, a device) is written to as it is,
 * and so is an open file of this process under its name in /proc or /dev (/dev/stdout): there a
 * failure can leave a part. Of a pipe whose reader is gone the process gets SIGPIPE.
 *
 * @param path  Its folder must exist. Not kept.
 * @param data  The whole contents; may be empty. Borrowed until the call returns.
 * @return STK_OK, or STK_ESOURCE with os_errno, the path as source and stage STK_STAGE_WRITE: no
 *         such folder, no permission, a folder of that name, a disk that is full or broken. Nothing
 *         of the new file is left then, and the old one is as it was.
 *
 * Threads and processes: any number at once, for the same name, too: each has a draft of its own,
 * and who is done last has the name. Allocates nothing. May block on the file; a named pipe waits
 * for its reader.
 * Since: 0.1
 */
STK_API STK_MUST_CHECK stk_status stk_file_save(const char *path, stk_view data, stk_error *err);

/**
 * Remove a draft whose writer is gone, of whatever file: for who tidies a folder.
 *
 * @param path  Of the draft itself, ".NAME.stoker-part" with or without a number behind; anything
 *              of another name is left alone. Not kept.
 * @return true if it was removed; false if there is none, it is no draft, its writer lives, it may
 *         not be removed, or its file system has no locks and so nobody can tell.
 *
 * Threads and processes: any number at once.
 * Since: 0.1
 */
STK_API bool stk_draft_remove_dead(const char *path);

#ifdef __cplusplus
}
#endif

#endif
