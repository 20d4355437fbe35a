/*
 * stoker pack, in four steps: what there is to pack (pack_collect.c, pack_csv.c), which samples
 * that makes (pack_group.c), which sample goes into which shard (pack_plan.c), and the writing
 * (pack_write.c). cmd_pack.c has the options and the order of the steps.
 *
 * Everything is decided before the first byte is written, from names and sizes alone, so the same
 * input gives the same shards, bit for bit, whatever the number of threads.
 */
#ifndef PACK_H
#define PACK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include <stoker/base.h>

#include "cli.h"
#include "progress.h"

enum { LABELS_AUTO, LABELS_NAME, LABELS_NUMBER, LABELS_NONE };

enum { SPLIT_AUTO, SPLIT_FIRST, SPLIT_LAST };

enum { ON_ERROR_RAISE, ON_ERROR_SKIP };

typedef struct pack_settings {
    const char *output, *ext, *classes, *root;
    uint64_t shard_count, shard_samples, shard_size;
    uint64_t threads, seed;
    unsigned labels, split, on_error;
    bool shuffle, go_on, force, no_index, json, quiet;
} pack_settings;

/* Strings that live as long as the job: blocks that are never moved. */
typedef struct pack_texts {
    char **blocks;
    size_t count, capacity, used, size; /* used and size are of the last block */
} pack_texts;

/* One file to pack. */
typedef struct pack_file {
    const char *path;  /* to open */
    const char *name;  /* of the member: key, dot, field; may point into path */
    const char *label; /* class name or number as text; NULL: none */
    uint64_t size_bytes;
    uint32_t key_size;
    uint32_t source; /* of the words on the command line */
    uint64_t order;  /* place among all files of the job */
} pack_file;

typedef struct pack_sample {
    size_t first; /* of its files */
    uint32_t count;
    bool adds_label; /* a member "cls" is added */
    int64_t label;
} pack_sample;

typedef struct pack_shard {
    char *path;
    size_t first; /* of the samples, in the order of the job */
    size_t count;
    uint64_t bytes;    /* as planned */
    bool kept;         /* --continue: it stands there complete */
    uint64_t left_out; /* samples that could not be read and were skipped */
    uint64_t files;    /* members of one that is kept */
} pack_shard;

/* --output, taken apart at its number. */
typedef struct pack_output {
    char *folder;         /* "." if there is none */
    char *prefix;         /* of the name inside the folder, up to the number */
    char *suffix;         /* after it */
    bool numbered, zeros; /* %06d: zeros, width 6 */
    unsigned width;
    dev_t device; /* of the folder, if it is there before the pack begins; else 0 */
    ino_t inode;
} pack_output;

enum { SKIPS_KEPT = 1000 };

typedef struct pack_job {
    const command *cmd;
    pack_settings s;
    pack_texts texts;
    pack_file *files;
    size_t file_count, file_capacity;
    pack_sample *samples;
    size_t sample_count;
    const char **classes; /* NULL: no class names */
    size_t class_count, class_capacity;
    pack_output out;
    pack_shard *shards;
    size_t shard_count;
    uint64_t left_out;  /* files that are no part of a sample */
    bool labels_of_csv; /* labels are what a table says, not names of folders */

    /* while writing */
    progress bar;
    _Atomic size_t next; /* shard to write */
    atomic_bool failed;
    pthread_mutex_t mutex;
    stk_error failure;                          /* guarded by mutex: of the lowest shard so far */
    size_t failed_shard;                        /* guarded by mutex */
    stk_error *skips;                           /* guarded by mutex: the first SKIPS_KEPT of them */
    uint64_t skip_count;                        /* guarded by mutex */
    uint64_t samples_out, files_out, bytes_out; /* guarded by mutex: written or kept */
} pack_job;

/* Each step returns EXIT_DONE, or the exit status after having said what is wrong. */
int pack_collect(pack_job *job, const words *sources);
int pack_group(pack_job *job);
int pack_plan(pack_job *job);
int pack_write(pack_job *job);

void pack_fini(pack_job *job);

const char *pack_keep(pack_job *job, stk_view text);

/* With --on-error skip: count a file that cannot be read, and go on. @return STK_OK or `st`. */
stk_status pack_forgive(pack_job *job, stk_status st, const stk_error *err);

/* One more class by name; duplicates are sorted out later. */
void pack_add_class(pack_job *job, const char *name);

/* One more file. `name` is that of the member; one that is no part of a sample is left out.
 * @return false if so. */
bool pack_add(pack_job *job, const char *path, const char *name, const char *label,
    uint64_t size_bytes, uint32_t source);

/* A path of a list or a CSV: look at the file and take it. */
stk_status pack_add_listed(pack_job *job, const char *list, const char *listed, const char *key,
    const char *label, uint32_t source, stk_error *err);

/* Take the rows of a CSV. */
stk_status pack_csv(pack_job *job, const char *path, uint32_t source, stk_error *err);

/* The whole of a text file; NUL-terminated, kept as long as the job. "-": standard input. */
stk_status pack_read_text(pack_job *job, const char *path, stk_view *text_out, stk_error *err);

/* Take --output apart. @return EXIT_DONE or EXIT_USAGE. */
int pack_output_parse(pack_job *job);

/* Name of the nth shard, with its folder; free() it. */
char *pack_output_path(const pack_job *job, uint64_t nth);

/* Is it the folder that the shards go to; is it the name of what an earlier pack put there? */
bool pack_is_output_folder(const pack_job *job, const struct stat *folder);
bool pack_is_output_name(const pack_job *job, const char *name);

/* Look at what stands in the folder of the output: refuse it, or clear the way. */
int pack_outputs(pack_job *job);

/* The class names beside the shards: classes.txt. */
int pack_save_classes(pack_job *job);

/* Key of a sample. */
stk_view pack_key(const pack_job *job, const pack_sample *sample);

/* Does the shard under its final name hold exactly the samples of the plan? STK_OK, and its
 * left_out and files are set (samples may be missing with --on-error skip); STK_EEXIST: it holds
 * others, the text says which; STK_ECORRUPT: it is damaged. Any thread. */
stk_status pack_shard_equals(const pack_job *job, pack_shard *shard, stk_error *err);

#endif
