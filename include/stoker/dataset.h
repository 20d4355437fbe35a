/**
 * stoker/dataset.h: shards, folders and lists as one thing: samples, numbered from 0.
 *
 * A dataset is opened from patterns (braces and globs are expanded, braces first), each of them
 *   - a tar shard: members grouped by WebDataset's rules, in the order of the archive;
 *   - a folder whose sub-folders hold files: each sub-folder is a class, classes sorted by bytes
 *     (torchvision's ImageFolder); files of one folder and one key form a sample (`a.jpg`,
 *     `a.json`, `a.seg.png`); the key ends at the last dot, but for words such as "seg";
 *   - a folder that holds files directly: the same, without classes;
 *   - one file: a sample by itself.
 * A folder of tar shards is taken as those shards, sorted. All parts of one dataset must be of one
 * kind: tar, or files.
 *
 * Field "cls" of a folder tree is the class number where no file of the sample has that extension.
 *
 * Relative paths stay relative: they are looked up again when a file is opened.
 *
 * An index is made on first use and kept beside the data (`x.tar.stoker`, `folder/.stoker-index`),
 * or under the user's cache folder where that cannot be written, or in memory. A stale one (size,
 * time or hash of the ends of the shard differ) is made anew.
 *
 * Threads: an open dataset never changes; any number of threads may use it at once. After fork it
 * may be used in parent and child.
 */
#ifndef STOKER_DATASET_H
#define STOKER_DATASET_H

#include <stoker/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stk_dataset stk_dataset;

typedef enum stk_index_mode {
    STK_INDEX_AUTO = 0,    /* use it, make it when missing or stale, keep it where possible */
    STK_INDEX_REQUIRE = 1, /* STK_EINDEX when missing or stale */
    STK_INDEX_MEMORY = 2,  /* read no index file and write none */
    STK_INDEX_REBUILD = 3, /* make it anew and keep it; STK_ESOURCE when it cannot be written */
} stk_index_mode;

typedef struct stk_dataset_options {
    size_t struct_bytes;
    stk_index_mode index;
    bool keep_case;           /* do not lower-case field names; false */
    bool concatenated;        /* tar: go on after an end-of-archive marker; false */
    bool skip_damaged_shards; /* false: STK_ECORRUPT names the shard. true: what stands before the
                                 damage is used, a sub-folder that may not be read is left out,
                                 and stk_dataset_get_note() tells of it */
    int32_t threads;          /* for indexing, 1 and more; 0: the cores this process may use */
    const stk_limits *limits; /* NULL: the defaults; copied */
    bool (*stop)(void *ctx);  /* asked by the thread that opens, every 20 ms as long as it takes:
                                 shall it be given up? NULL: never */
    void *stop_ctx;           /* what it is given */
} stk_dataset_options;

#define STK_DATASET_OPTIONS_INIT \
    {sizeof(stk_dataset_options), STK_INDEX_AUTO, false, false, false, 0, NULL, NULL, NULL}

/** One field of a sample. Views are borrowed as long as the dataset is open. */
typedef struct stk_sample_field {
    stk_view field;  /* "jpg", "seg.png"; lower-cased unless keep_case */
    stk_view name;   /* path of the member in its shard, or of the file in its folder */
    uint64_t offset; /* of its bytes in the source */
    uint64_t size_bytes;
    uint32_t source;   /* number of the file that holds the bytes; see stk_dataset_source() */
    uint32_t field_id; /* number of the field's name in the dataset; see stk_dataset_field() */
} stk_sample_field;

/** One sample. Views are borrowed as long as the dataset is open. */
typedef struct stk_sample {
    uint64_t index; /* in the dataset */
    stk_view key;   /* bytes as stored */
    uint32_t shard; /* number of its shard: a tar file, or a class folder */
    uint32_t field_count;
    int64_t label; /* class number of a folder tree; -1 where there is none */
} stk_sample;

/** Something met while indexing that is no failure of the whole. */
typedef struct stk_dataset_note {
    const char *shard; /* path of the tar file or folder; borrowed as long as the dataset is open */
    uint64_t offset;   /* in the shard; 0 where it makes no sense */
    const char *text;  /* "no end-of-archive marker", "key a comes back after others", ... */
} stk_dataset_note;

/**
 * Open a dataset.
 *
 * @param where  `count` patterns, 1 and more. Copied.
 * @return STK_OK, STK_EINVAL (unbalanced brace, count 0, kinds mixed), STK_ESOURCE (nothing
 * matches; a listed file does not exist; cannot be read), STK_ECORRUPT (a damaged shard),
 *         STK_EFIELD (the same field twice in one sample), STK_EINDEX, STK_ENOTSUP, STK_ENOMEM,
 *         STK_ESTOPPED (options->stop said so).
 * May block on files for as long as indexing takes. With options->stop it returns within some 0.1 s
 * of the answer to give up, whatever the file system does: what is on its way then ends in a thread
 * of its own, and no index that is not whole has its name. Where no thread can be started it is
 * not asked.
 */
STK_API STK_MUST_CHECK stk_status stk_dataset_open(const char *const *where, size_t count,
    const stk_dataset_options *options, stk_dataset **dataset_out, stk_error *err);

/** One more reference. Any thread. */
STK_API stk_dataset *stk_dataset_ref(stk_dataset *dataset);

/** Drop a reference; the last one closes. Takes NULL. Any thread. */
STK_API void stk_dataset_unref(stk_dataset *dataset);

/** Samples. */
STK_API uint64_t stk_dataset_count(const stk_dataset *dataset);

/** A number that is the same for the same samples: names, sizes, order. 128 bits. */
STK_API void stk_dataset_fingerprint(const stk_dataset *dataset, uint64_t fingerprint_out[2]);

/** Shards (tar files or class folders), and the first sample of each; `shard` may equal the count.
 */
STK_API uint32_t stk_dataset_shard_count(const stk_dataset *dataset);
STK_API const char *stk_dataset_shard_name(const stk_dataset *dataset, uint32_t shard);
STK_API uint64_t stk_dataset_shard_start(const stk_dataset *dataset, uint32_t shard);

/** Names of fields met anywhere, in order of first appearance; NUL-terminated; NULL past the end.
 */
STK_API uint32_t stk_dataset_field_count(const stk_dataset *dataset);
STK_API const char *stk_dataset_field(const stk_dataset *dataset, uint32_t field_id);

/** Classes of a folder tree: names sorted by bytes; 0 and NULL where there are none. */
STK_API uint32_t stk_dataset_class_count(const stk_dataset *dataset);
STK_API const char *stk_dataset_class(const stk_dataset *dataset, uint32_t label);

/** Notes of indexing. @return false past the end. */
STK_API bool stk_dataset_get_note(
    const stk_dataset *dataset, size_t nth, stk_dataset_note *note_out);

/** Path of the file `source`. Written into `path`; @return bytes needed without the NUL. */
STK_API size_t stk_dataset_source_path(
    const stk_dataset *dataset, uint32_t source, char *path, size_t capacity);

/** Largest field of the dataset named by field_id, in bytes (0 if it never appears). */
STK_API uint64_t stk_dataset_field_max_bytes(const stk_dataset *dataset, uint32_t field_id);

/** A sample by its index. @return STK_OK, STK_ERANGE. Never blocks on files. */
STK_API STK_MUST_CHECK stk_status stk_dataset_sample(
    const stk_dataset *dataset, uint64_t index, stk_sample *sample_out, stk_error *err);

/** The nth field of a sample, in the order of the shard. @return STK_OK, STK_ERANGE. */
STK_API STK_MUST_CHECK stk_status stk_dataset_sample_field(const stk_dataset *dataset,
    uint64_t index, uint32_t nth, stk_sample_field *field_out, stk_error *err);

/**
 * Index of a sample by its key (linear in the dataset the first time is not acceptable: a sorted
 * table is made on first use and kept). The first of equal keys. @return STK_OK, STK_EFIELD.
 */
STK_API STK_MUST_CHECK stk_status stk_dataset_find(
    stk_dataset *dataset, stk_view key, uint64_t *index_out, stk_error *err);

/**
 * Read bytes of a source: the whole of a field with its offset and size, or a stretch of several.
 *
 * @return STK_OK, STK_ESOURCE (open or read failed; the file vanished), STK_ECORRUPT (the file is
 *         shorter than the index says, or a file of a folder has another size), STK_ERANGE (past
 *         the end of the file as it was indexed). May block on the file.
 */
STK_API STK_MUST_CHECK stk_status stk_dataset_read(
    const stk_dataset *dataset, uint32_t source, uint64_t offset, stk_span dst, stk_error *err);

/**
 * Compare every section of every index in use with its checksum. Opening does so with indexes of up
 * to 1 GiB. @return STK_OK, STK_EINDEX (names the shard and the section). May block on files.
 */
STK_API STK_MUST_CHECK stk_status stk_dataset_check_index(
    const stk_dataset *dataset, stk_error *err);

/**
 * The same for the index file that is kept of the nth tar file or folder, whichever way this
 * dataset was opened: the one that the next opening with these options would look at.
 *
 * @return STK_OK (whole; or there is none), STK_EINDEX (names the file), STK_ERANGE (nth is past
 *         the last), STK_ENOMEM. May block on files.
 */
STK_API STK_MUST_CHECK stk_status stk_dataset_check_kept_index(
    const stk_dataset *dataset, uint32_t nth, stk_error *err);

/** A pass over samples in dataset order, with large sequential reads. */
typedef struct stk_scan stk_scan;

/**
 * Start a pass over the samples [first, last).
 * The scan keeps a reference to the dataset. @return STK_OK, STK_ERANGE, STK_ENOMEM.
 */
STK_API STK_MUST_CHECK stk_status stk_scan_open(
    stk_dataset *dataset, uint64_t first, uint64_t last, stk_scan **scan_out, stk_error *err);

/**
 * The next sample.
 *
 * @param fields_out  Array of sample_out->field_count entries, borrowed until the next call.
 * @param data_out    The bytes of each of them, borrowed until the next call.
 * @return STK_OK, STK_END, STK_ESOURCE, STK_ECORRUPT, STK_EINDEX, STK_ELIMIT (a field over
 *         max_member_bytes), STK_ENOMEM. A failed sample is stepped over by the next
 *         call. May block on files.
 */
STK_API STK_MUST_CHECK stk_status stk_scan_next(stk_scan *scan, stk_sample *sample_out,
    const stk_sample_field **fields_out, const stk_view **data_out, stk_error *err);

/** End the pass; takes NULL. */
STK_API void stk_scan_close(stk_scan *scan);

#ifdef __cplusplus
}
#endif

#endif
