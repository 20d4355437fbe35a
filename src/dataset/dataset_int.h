/* What a dataset is made of; for the files of this folder only. */
#ifndef STK__DATASET_INT_H
#define STK__DATASET_INT_H

#include <stoker/dataset.h>

#include "archive/index_file.h"
#include "base/atomic.h"
#include "base/heap.h"
#include "os/thread.h"
#include "source/file_set.h"

/* One index: a tar file, a folder tree, or a run of listed files. */
typedef struct stk__part {
    stk__index *index; /* owned */
    char *path;        /* of the tar file; of the folder that the names of members are in */
    size_t path_bytes; /* without the NUL */
    uint64_t first_sample;
    uint32_t first_source; /* of its sources: one for a tar, one a member for the rest */
    uint32_t first_shard;  /* of its shards: one, or one a class */
    uint32_t *fields;      /* number of each of its fields in the dataset */
    bool fields_owned;     /* else they are those of a part before it that has the same */
} stk__part;

/* One shard; 16 bytes, since they are searched. */
typedef struct stk__shard {
    uint64_t start; /* its first sample */
    uint32_t part;
    int32_t label; /* -1: none */
} stk__shard;

/* A NUL-terminated text that is owned. */
typedef struct stk__owned_text {
    char *data;
    size_t size; /* without the NUL */
} stk__owned_text;

typedef struct stk__dataset_field {
    stk__owned_text name;
    uint64_t max_bytes;
} stk__dataset_field;

/* A key's hash and its sample in one word, sorted: see find.c. */
typedef struct stk__key_table {
    stk__atomic_u32 ready; /* atomic: fork generation + 1 in which the rest is known to be set */
    uint32_t sample_bits;  /* set when the dataset is opened */
    uint64_t *entries;
    uint64_t sum;
} stk__key_table;

struct stk_dataset {
    stk__heap heap;
    stk__atomic_u32 references; /* atomic */
    stk_limits limits;
    bool tar;       /* else files */
    uint32_t flags; /* STK__INDEX_..., as it was opened */
    stk__part *parts;
    uint32_t part_count;
    uint64_t samples;
    uint64_t sources;
    uint64_t fingerprint[2];
    stk__shard *shards; /* one more than there are: the last one starts at the end */
    uint32_t shard_count, shard_capacity;
    stk__owned_text *shard_names; /* of each shard */
    uint32_t *guide; /* for each 2^guide_shift samples: the last shard that starts before them */
    size_t guide_count;
    uint32_t guide_shift;
    stk__dataset_field *fields;
    uint32_t field_count, field_capacity;
    uint32_t *field_slots; /* by hash of the name: number + 1, 0: free */
    size_t field_slot_count;
    stk__owned_text *classes;
    uint32_t class_count;
    stk__file_set *files;
    stk__mutex find_mutex;
    bool find_mutex_made;
    stk__atomic_u32 find_generation; /* atomic: fork generation that the mutex belongs to */
    stk__atomic_u32 find_repairing;  /* atomic: generation for which somebody makes it anew */
    stk__key_table keys;
};

/* An empty dataset with one reference. */
STK_MUST_CHECK stk_status stk__dataset_new(
    const stk_limits *limits, stk_dataset **dataset_out, stk_error *err);

/*
 * Tie the parts together: samples, sources, shards, fields, classes, fingerprint. They have their
 * index and path; the dataset owns them already.
 */
STK_MUST_CHECK stk_status stk__dataset_join(stk_dataset *ds, stk_error *err);

/* A part of it: fields. */
STK_MUST_CHECK stk_status stk__dataset_join_fields(stk_dataset *ds, stk_error *err);

/* Number of a field, or UINT32_MAX. */
uint32_t stk__dataset_find_field(const stk_dataset *ds, stk_view name);

/* A copy with a NUL behind, and its end. */
STK_MUST_CHECK stk_status stk__owned_text_set(
    stk__heap *heap, stk__owned_text *text, stk_view from, stk_error *err);
void stk__owned_text_fini(stk__heap *heap, stk__owned_text *text);

/* The part that a source belongs to, or NULL. */
const stk__part *stk__dataset_part_of(const stk_dataset *ds, uint32_t source);

/* "the index is damaged", with the part's path. */
stk_status stk__dataset_damaged(const stk__part *part, stk_error *err);

/* A member of a part as a field of a sample. */
void stk__dataset_fill_field(const stk_dataset *ds, const stk__part *part, uint64_t member,
    const stk__index_entry *entry, stk_sample_field *field_out);

/* The path of a source: stk__file_path for the set of files. */
size_t stk__dataset_path(const void *ctx, uint32_t source, char *path, size_t capacity);

/* Key of a sample of a part, by its number there; false if the index is damaged. */
bool stk__part_key(const stk__part *part, uint64_t local, stk_view *key_out);

#endif
