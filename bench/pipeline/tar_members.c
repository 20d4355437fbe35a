/*
 * tar_members: members of tar shards through stk_tar_next(), one thread, bytes included.
 *
 *     tar_members PASSES < list-of-shards
 *
 * Each member's bytes are summed as 64-bit words. One line of JSON a pass; "samples" counts pairs
 * of members, which is what the tiny samples of run T are.
 */
#include <stoker/archive.h>

#include "passes.h"

static bool read_shard(const char *path, tally *t)
{
    stk_tar_options options = STK_TAR_OPTIONS_INIT;
    stk_error err = STK_ERROR_INIT;
    stk_tar *tar = NULL;
    stk_member member;
    stk_status st = stk_tar_open(path, &options, &tar, &err);

    while (st == STK_OK && (st = stk_tar_next(tar, &member, &err)) == STK_OK) {
        t->sum += sum_words(member.data);
        t->members++;
    }
    stk_tar_close(tar);
    return st == STK_END || complain(&err);
}

static bool read_all(char **paths, size_t count, tally *t)
{
    for (size_t i = 0; i < count; i++) {
        if (!read_shard(paths[i], t))
            return false;
    }
    t->samples = t->members / 2;
    return true;
}

int main(int argc, char **argv)
{
    return run_passes("tar_members", argc, argv, read_all);
}
