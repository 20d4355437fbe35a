/*
 * Where the index of a shard or a folder is kept: beside the data, else in the user's cache folder.
 *
 * Beside the data (`x.tar.stoker`, `folder/.stoker-index`) stands only what was made with the
 * default options; an index with flags has its own name in the cache folder, so that two programs
 * with different options do not take turns in replacing each other's.
 */
#ifndef STK__INDEX_PLACE_H
#define STK__INDEX_PLACE_H

#include "archive/index_file.h"

/* Is the index still that of its source? STK_OK, STK_EINDEX (the text says what differs), or what
 * made the source unreadable. */
typedef stk_status stk__index_check(const void *ctx, const stk__index *index, stk_error *err);

/* What is looked for. */
typedef struct stk__index_sought {
    const char *path; /* of the tar file or the folder */
    stk__index_kind kind;
    uint32_t flags;  /* content options; STK__INDEX_LENIENT: one with damage left out will do */
    bool read_whole; /* do not map it */
    stk__index_check *check;
    const void *ctx;
} stk__index_sought;

/* Open the index of a source. STK_EINDEX: there is none that fits; the text says why. Else what
 * check returned. May block on files. */
STK_MUST_CHECK stk_status stk__index_find(
    stk__heap *heap, const stk__index_sought *sought, stk__index **index_out, stk_error *err);

/* Compare all of the index that the next who looks for it would open, fresh or stale, with its
 * checksums. STK_OK (so too where there is none), STK_EINDEX, STK_ENOMEM. May block on files. */
STK_MUST_CHECK stk_status stk__index_check_kept(
    stk__heap *heap, stk__index_kind kind, const char *source, uint32_t flags, stk_error *err);

/* Write an index where the next one who looks for it finds it. STK_ESOURCE: nowhere. */
STK_MUST_CHECK stk_status stk__index_keep(
    const stk__index *index, const char *path, stk_error *err);

/* For tar files: compare size, time and ends; ctx is an stk__index_source of now. */
stk_status stk__index_check_tar(const void *ctx, const stk__index *index, stk_error *err);

#endif
