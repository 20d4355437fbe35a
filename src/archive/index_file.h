/*
 * The index of one tar shard or of one folder tree: samples, members, names, classes.
 *
 * An index is sections of little-endian arrays behind a header (docs/formats.md), used in place:
 * mapped from a file, or grown in memory by index_build.h in the same layout. Opening checks the
 * header, that each section lies in the file and, up to 1 GiB, the checksums of all sections.
 * Entries are checked when they are used: whatever the bytes are, no call reads outside them.
 *
 * Threads: an open index never changes; any number of threads may read it.
 */
#ifndef STK__INDEX_FILE_H
#define STK__INDEX_FILE_H

#include <stoker/base.h>

#include "base/heap.h"
#include "os/file.h"

typedef enum stk__index_kind {
    STK__INDEX_TAR = 1,
    STK__INDEX_FOLDER = 2,
} stk__index_kind;

/* What the content depends on besides the source. */
enum {
    STK__INDEX_KEEP_CASE = 1u << 0,    /* fields are not lower-cased */
    STK__INDEX_CONCATENATED = 1u << 1, /* tar: read on after an end-of-archive marker */
    STK__INDEX_LENIENT = 1u << 2,      /* something damaged was left out */
};

enum {
    STK__INDEX_HEAD_BYTES = 160,
    STK__INDEX_SECTION_BYTES = 32,
    STK__INDEX_MAX_SECTIONS = 64, /* a later version may add kinds; unknown ones are stepped over */
};

/* Sections: number, name, bytes of an entry. */
#define STK__INDEX_SECTION_LIST(X) \
    X(1, SAMPLES, 8)               \
    X(2, MEMBERS, 32)              \
    X(3, FIELDS, 32)               \
    X(4, NAMES, 1)                 \
    X(5, NOTES, 24)                \
    X(6, CLASSES, 24)              \
    X(7, FOLDERS, 32)

enum {
    STK__INDEX_NO_SECTION = 0,

#define STK__INDEX_SECTION_ENUM(number, name, bytes) STK__INDEX_##name = number,
    STK__INDEX_SECTION_LIST(STK__INDEX_SECTION_ENUM)
#undef STK__INDEX_SECTION_ENUM
        STK__INDEX_SECTION_COUNT
};

/* One array of an index. */
typedef struct stk__index_section {
    const uint8_t *data;
    uint64_t count; /* entries */
    uint32_t crc;   /* of its bytes, as the file says */
} stk__index_section;

/* What an index remembers of a tar file, to tell whether it is still the same. Zero for folders. */
typedef struct stk__index_source {
    uint64_t size_bytes;
    int64_t mtime_ns;
    uint32_t head_crc, tail_crc; /* CRC-32C of the first and of the last 4 KiB */
} stk__index_source;

typedef struct stk__index {
    stk__heap *heap; /* set at creation; not ours */
    stk__index_kind kind;
    uint32_t flags;
    stk__index_source source;
    uint64_t fingerprint[2];
    uint64_t samples, members;
    stk__index_section section[STK__INDEX_SECTION_COUNT]; /* [0] is empty */
    /* Who owns the bytes: one of these. */
    stk_view map; /* a mapped file */
    void *memory; /* a file that was read whole */
    size_t memory_bytes;
    struct stk__index_grown *grown; /* arrays of a builder */
} stk__index;

/* One member, checked: name, key and field lie in the index, the key is the head of the name. */
typedef struct stk__index_entry {
    stk_view name;
    size_t key_bytes;
    uint64_t offset, size_bytes; /* tar: inside the file that was indexed */
    uint32_t field;              /* number below the count of the section FIELDS */
} stk__index_entry;

typedef struct stk__index_field {
    stk_view name; /* a NUL follows it */
    uint64_t max_bytes, members;
} stk__index_field;

typedef struct stk__index_class {
    stk_view name; /* a NUL follows it */
    uint64_t first_sample;
} stk__index_class;

typedef struct stk__index_note {
    const char *text;
    uint64_t offset;
} stk__index_note;

typedef struct stk__index_folder {
    stk_view path; /* below the root, "" the root itself; a NUL follows it */
    int64_t mtime_ns;
    uint64_t names_hash;
} stk__index_folder;

/* Look at a tar file: size, time, ends. */
STK_MUST_CHECK stk_status stk__index_source_of(
    const stk__file *file, const char *path, stk__index_source *source_out, stk_error *err);

bool stk__index_source_equal(const stk__index_source *a, const stk__index_source *b);

/*
 * Open an index file: mapped, unless it is small, `read_whole` or the system refuses. `heap` is
 * kept.
 *
 * STK_ESOURCE (missing: os_errno is ENOENT), STK_EINDEX (no index, cut, damaged), STK_ENOTSUP
 * (another version), STK_ENOMEM. Sections of a file of more than 1 GiB are not read.
 */
STK_MUST_CHECK stk_status stk__index_open(
    stk__heap *heap, const char *path, bool read_whole, stk__index **index_out, stk_error *err);

/* The same from bytes that stay where they are for as long as the index is open; their sections are
 * not read. */
STK_MUST_CHECK stk_status stk__index_open_bytes(
    stk__heap *heap, stk_view bytes, stk__index **index_out, stk_error *err);

/* Takes NULL. */
void stk__index_close(stk__index *index);

/* Compare every section with its checksum: reads all of it. STK_EINDEX names the section. */
STK_MUST_CHECK stk_status stk__index_verify(const stk__index *index, stk_error *err);

/* Write it as a file under a name of its own, bring it to the disk, then give it the name `path`;
 * nothing of it stays after a failure. */
STK_MUST_CHECK stk_status stk__index_save(
    const stk__index *index, const char *path, stk_error *err);

/* Members [first, end) of a sample below the count; false if the entry makes no sense. */
bool stk__index_sample(
    const stk__index *index, uint64_t sample, uint64_t *first_out, uint64_t *end_out);

/* A member; false past the end or if the entry makes no sense. So too below. */
bool stk__index_member(const stk__index *index, uint64_t member, stk__index_entry *entry_out);
bool stk__index_member_field(const stk__index *index, uint64_t member, uint32_t *field_out);
bool stk__index_get_field(const stk__index *index, uint64_t nth, stk__index_field *field_out);
bool stk__index_get_class(const stk__index *index, uint64_t nth, stk__index_class *class_out);
bool stk__index_get_note(const stk__index *index, uint64_t nth, stk__index_note *note_out);
bool stk__index_get_folder(const stk__index *index, uint64_t nth, stk__index_folder *folder_out);

#endif
