/*
 * Making the index of one tar shard or of one folder tree.
 *
 * Members are told one by one in the order of the archive (a folder: sorted by folder, then name)
 * and grouped into samples by WebDataset's rules: consecutive members of one key are one sample;
 * members that are no part of a sample are left out and do not end one. The arrays grow in the
 * layout of the file (docs/formats.md), so that the result is used as it is or written as it is.
 *
 * A writer of tar files calls stk__index_build_new(), stk__index_build_member() for each member,
 * and, when the archive is complete and on the disk, stk__index_source_of(),
 * stk__index_build_finish() and stk__index_save() with the name of the archive and ".stoker"
 * behind.
 *
 * Threads: one builder in one thread at a time.
 */
#ifndef STK__INDEX_BUILD_H
#define STK__INDEX_BUILD_H

#include <stoker/base.h>

#include "archive/index_file.h"
#include "base/compiler.h"
#include "base/heap.h"

typedef struct stk__index_build stk__index_build;

/* What a member is to the index. Views are borrowed for the call. */
typedef struct stk__index_told {
    stk_view name;   /* as stored */
    stk_view key;    /* the head of name */
    stk_view field;  /* points into name: not yet lower-cased */
    uint64_t header; /* its offset, for errors and notes */
    uint64_t offset; /* of its bytes */
    uint64_t size_bytes;
} stk__index_told;

/* Notes of one kind are kept up to a number, then counted. */
typedef enum stk__index_note_kind {
    STK__NOTE_KEY_CAME_BACK, /* the builder's own */
    STK__NOTE_FIELD_TWICE,   /* the builder's own */
    STK__NOTE_LINK,          /* "field is a link without data" */
    STK__NOTE_DAMAGE,
    STK__NOTE_ARCHIVE, /* "no end-of-archive marker" and such */
    STK__NOTE_FOLDER,  /* empty classes, loops, files left out */
    STK__NOTE_KINDS
} stk__index_note_kind;

/* `flags` are written into the index; with STK__INDEX_LENIENT a field that comes twice in a sample
 * is a note and the first one stays. `heap` is kept. */
STK_MUST_CHECK stk_status stk__index_build_new(stk__heap *heap, stk__index_kind kind,
    uint32_t flags, stk__index_build **build_out, stk_error *err);

/* Takes NULL. */
void stk__index_build_free(stk__index_build *build);

/*
 * One more member that holds bytes. A name that is no part of a sample is the caller's to leave out
 * (stk_name_split() says so).
 *
 * STK_EFIELD: the field stands in this sample already; err has key, field and the offset of the
 * header. STK_ELIMIT: a name of 16 MiB or more. STK_ENOMEM. The builder is then good for
 * stk__index_build_free() only.
 */
STK_MUST_CHECK stk_status stk__index_build_member(
    stk__index_build *build, const stk__index_told *told, stk_error *err);

/* Forget the open sample if it has this key: its next member turned out to be damaged. */
void stk__index_build_drop_sample(stk__index_build *build, stk_view key);

/* The next member begins a sample, whatever its key is. */
void stk__index_build_break(stk__index_build *build);

/* Something that is no failure. */
STK_MUST_CHECK stk_status stk__index_build_note(stk__index_build *build, stk__index_note_kind kind,
    uint64_t offset, stk_error *err, const char *format, ...) STK__PRINTF(5, 6);

/* Folder trees: a class begins here; its number is how often this was called before. */
STK_MUST_CHECK stk_status stk__index_build_class(
    stk__index_build *build, stk_view name, stk_error *err);

/* Folder trees: a folder was listed, and these names (a hash of them) were found in it. */
STK_MUST_CHECK stk_status stk__index_build_folder(
    stk__index_build *build, stk_view path, int64_t mtime_ns, uint64_t names_hash, stk_error *err);

/* No more members: make an index that lives in memory of it. `source` is NULL for folders. The
 * builder is then good for stk__index_build_free() only, whatever the result. */
STK_MUST_CHECK stk_status stk__index_build_finish(stk__index_build *build,
    const stk__index_source *source, stk__index **index_out, stk_error *err);

#endif
