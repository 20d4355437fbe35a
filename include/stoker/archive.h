/**
 * stoker/archive.h: tar shards as a stream of members, and the writing of shards.
 *
 * Reading takes v7, ustar (prefix), GNU (long names and links, base-256 numbers, sparse refused by
 * name) and POSIX pax (path, linkpath, size, hdrcharset; global headers) headers at any alignment
 * that is a multiple of 512. Member names are bytes; no normalisation, no charset.
 */
#ifndef STOKER_ARCHIVE_H
#define STOKER_ARCHIVE_H

#include <stoker/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A tar archive being read from front to back. */
typedef struct stk_tar stk_tar;

typedef enum stk_member_kind {
    STK_MEMBER_FILE = 0,      /* regular, old regular, contiguous */
    STK_MEMBER_HARD_LINK = 1, /* resolved to data when its target stands earlier in the archive */
    STK_MEMBER_SYMBOLIC_LINK = 2,
    STK_MEMBER_FOLDER = 3,
    STK_MEMBER_OTHER = 4, /* devices, pipes, unknown types; GNU and pax sparse files are an error */
} stk_member_kind;

/** One member. Views are borrowed until the next call with the same reader. */
typedef struct stk_member {
    stk_view name; /* whole path as stored, long forms resolved; not NUL-terminated */
    stk_view link; /* target of a link; else empty */
    stk_member_kind kind;
    uint64_t header_offset; /* of its first header block in the file, extended headers included */
    uint64_t data_offset;   /* of its data; for a hard link that of its target, 0 if it has none */
    uint64_t size_bytes;    /* of its data, that of the target for a hard link; 0 for all others */
    stk_view data;          /* its bytes, if asked for: of files and of hard links with a target */
} stk_member;

typedef struct stk_tar_options {
    size_t struct_bytes;
    bool data;                /* read the bytes of files too; false: step over them by seeking */
    bool concatenated;        /* go on after an end-of-archive marker (GNU tar -i); false */
    const stk_limits *limits; /* max_header_bytes, max_member_bytes; NULL: the defaults; copied */
} stk_tar_options;

#define STK_TAR_OPTIONS_INIT {sizeof(stk_tar_options), true, false, NULL}

/** What a reader met that is no failure, but worth telling. Counts since opening. */
typedef struct stk_tar_notes {
    bool no_end_marker;   /* the file ended cleanly, but without two zero blocks */
    bool lone_zero_block; /* one zero block stood between members, and was stepped over */
    bool data_after_end;  /* bytes other than zero follow the end marker, at after_offset */
    uint64_t after_offset;
    uint64_t skipped_links;  /* symbolic ones, and hard ones whose target is no earlier member */
    uint64_t skipped_others; /* members of other kinds */
} stk_tar_notes;

/**
 * Open an archive. Compressed data is recognised by its first bytes and refused by name.
 *
 * @param path  Of a regular file. Copied.
 * @return STK_OK, STK_ESOURCE (with os_errno; or no regular file), STK_ECORRUPT (empty file, or no
 * tar header at its start), STK_ENOTSUP (gzip, zstd, xz, bzip2: the text says which), STK_ENOMEM.
 */
STK_API STK_MUST_CHECK stk_status stk_tar_open(
    const char *path, const stk_tar_options *options, stk_tar **tar_out, stk_error *err);

/**
 * The next member of any kind.
 *
 * All members before damage have been handed out when the damage is told. In errors, key is the
 * name of the member, where it is known, and offset that of the header at fault (of the record, in
 * an extended header; of the end of the file, where it is cut inside padding).
 *
 * @return STK_OK, STK_END after the last, STK_ECORRUPT (bad header, size out of range, data cut
 *         short), STK_ENOTSUP (sparse member), STK_ELIMIT (extended header or, with data, member
 *         too long), STK_ESOURCE, STK_ENOMEM. After a failure every later call fails alike.
 * May block on the file.
 */
STK_API STK_MUST_CHECK stk_status stk_tar_next(
    stk_tar *tar, stk_member *member_out, stk_error *err);

/** What was met so far. */
STK_API void stk_tar_get_notes(const stk_tar *tar, stk_tar_notes *notes_out);

/** Close; takes NULL. */
STK_API void stk_tar_close(stk_tar *tar);

/**
 * The split of a member's name by WebDataset's rules: folder and base name up to its first dot are
 * the key, the rest is the field, lower-cased (ASCII). Source: shared rules in docs/formats.md.
 *
 * @param key_out    Points into `name`.
 * @param field_out  Points into `name`: not yet lower-cased.
 * @return false if such a member is no part of any sample (no dot, hidden, `__meta__`).
 */
STK_API bool stk_name_split(stk_view name, stk_view *key_out, stk_view *field_out);

/**
 * The same for the name of a file in a folder, where names have dots of their own: the last dot
 * ends the key (`2020.01.01.jpg`), unless words that are known to belong to a field stand before it
 * (`a.seg.png`, `a.json.gz`; docs/formats.md 3 lists them). Hidden files are part of no sample.
 */
STK_API bool stk_file_name_split(stk_view name, stk_view *key_out, stk_view *field_out);

/** A tar archive being written under a temporary name beside its final one. */
typedef struct stk_tar_writer stk_tar_writer;

/**
 * Start an archive. Nothing stands under `path` until stk_tar_writer_finish() succeeded.
 *
 * @param path   Final name; its folder must exist. Copied.
 * @param mtime  Of every member, seconds since 1970, under 2^33. Everything else in the headers is
 *               constant: the same members give the same archive, bit for bit.
 * @return STK_OK, STK_EINVAL (mtime), STK_EEXIST (something has that name), STK_ESOURCE,
 *         STK_ENOMEM.
 */
STK_API STK_MUST_CHECK stk_status stk_tar_writer_open(
    const char *path, uint64_t mtime, stk_tar_writer **writer_out, stk_error *err);

/**
 * Append one file: ustar, with a pax header for names over 100 bytes that do not split and for
 * sizes of 8 GiB and more.
 *
 * @return STK_OK, STK_EINVAL (name empty, over 65,536 bytes, with a NUL, ending in a slash: nothing
 *         was written and the writer goes on), STK_EFIELD (the sample has that field already),
 *         STK_ESOURCE (disk full), STK_ENOMEM.
 * After the last three the writer stays failed: finish or abandon remove what it wrote. May block
 * on the file.
 */
STK_API STK_MUST_CHECK stk_status stk_tar_writer_add(
    stk_tar_writer *writer, stk_view name, stk_view data, stk_error *err);

/** Bytes written so far, headers and padding included. */
STK_API uint64_t stk_tar_writer_bytes(const stk_tar_writer *writer);

/**
 * Write the end marker, flush to the disk, write the index beside the archive, give both their
 * final names (archive last), and free the writer, whatever the result.
 *
 * @return STK_OK, STK_EEXIST (something got that name meanwhile), STK_ESOURCE, STK_ENOMEM, or what
 *         made the writer fail before.
 * After a failure nothing of it is left. May block on the file.
 */
STK_API STK_MUST_CHECK stk_status stk_tar_writer_finish(stk_tar_writer *writer, stk_error *err);

/** Give up: remove the temporary file and free the writer. Takes NULL. */
STK_API void stk_tar_writer_abandon(stk_tar_writer *writer);

#ifdef __cplusplus
}
#endif

#endif
