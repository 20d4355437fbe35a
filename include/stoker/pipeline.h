/**
 * stoker/pipeline.h: what a loader is told: which fields a batch has, and its settings.
 *
 * Start from the initialisers. loader.h has the loader itself, and an example.
 */
#ifndef STOKER_PIPELINE_H
#define STOKER_PIPELINE_H

#include <stoker/base.h>
#include <stoker/transform.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum stk_field_kind {
    STK_FIELD_BYTES = 0, /* ragged uint8 */
    STK_FIELD_IMAGE = 1, /* (N, 3, H, W) or (N, H, W, 3) */
    STK_FIELD_LABEL = 2, /* (N) int64: stk_text_integer() of the bytes, or the class folder */
    STK_FIELD_TEXT = 3,  /* ragged uint8, checked UTF-8 */
    STK_FIELD_JSON = 4,  /* ragged uint8, checked JSON, not converted */
    STK_FIELD_ARRAY = 5, /* (N, ...) of a .npy; every sample of one shape and dtype */
    STK_FIELD_KEY = 6,   /* ragged uint8: the key of the sample; `source` is not used */
} stk_field_kind;

/** One field of the batch. Pointers are only read during the call that takes the spec. */
typedef struct stk_field_spec {
    size_t struct_bytes;
    const char *name;   /* in the batch; not empty, unique */
    const char *source; /* extensions, ';' between alternatives: the first that a sample has */
    stk_field_kind kind;
    const stk_transform *transforms; /* images only; may be NULL */
    size_t transform_count;
    stk_layout layout; /* images only; STK_NCHW */
    stk_dtype dtype;   /* images: STK_U8, STK_F16, STK_BF16, STK_F32; STK_U8 */
    bool orient;       /* images: apply EXIF orientation before the transforms; false */
    bool optional;     /* labels: -1 where the field is missing; ragged: empty; else STK_EINVAL */
} stk_field_spec;

#define STK_FIELD_SPEC_INIT \
    {sizeof(stk_field_spec), NULL, NULL, STK_FIELD_BYTES, NULL, 0, STK_NCHW, STK_U8, false, false}

typedef enum stk_shuffle {
    STK_SHUFFLE_NONE = 0,     /* dataset order */
    STK_SHUFFLE_FULL = 1,     /* a keyed permutation of all samples */
    STK_SHUFFLE_SHARDS = 2,   /* shards permuted, taken in windows, permuted inside each window */
    STK_SHUFFLE_WEIGHTED = 3, /* draws with replacement, by `weights` */
} stk_shuffle;

typedef enum stk_tail {
    STK_TAIL_SHORT = 0, /* deal the rest out as evenly as possible */
    STK_TAIL_DROP = 1,  /* leave the last short step out */
    STK_TAIL_WRAP = 2,  /* fill it from the start of the order */
} stk_tail;

typedef enum stk_on_error {
    STK_ON_ERROR_RAISE = 0,
    STK_ON_ERROR_SKIP = 1,    /* fill the row with the last sample of this rank's epoch not yet
                                 used, so that the last steps get shorter (docs/order.md) */
    STK_ON_ERROR_REPLACE = 2, /* fill the row with a substitute that is a pure function of seed,
                                 epoch and the damaged sample */
} stk_on_error;

#define STK_THREADS_AUTO (-1)

/** Settings of a loader. Start from the initialiser. Pointers are read during the call only. */
typedef struct stk_loader_options {
    size_t struct_bytes;
    const stk_field_spec *fields; /* field_count of them; none: every field of sample 0, as bytes */
    size_t field_count;
    uint32_t batch_size;       /* samples per step on this rank, 1 to 2^20; 256 */
    stk_shuffle shuffle;       /* STK_SHUFFLE_NONE */
    uint32_t shuffle_window;   /* shards per window of STK_SHUFFLE_SHARDS, 1 and more; 8 */
    const double *weights;     /* STK_SHUFFLE_WEIGHTED: one per sample, finite, >= 0; copied */
    uint64_t seed;             /* of order and transforms, any; 0 */
    uint32_t rank, world_size; /* rank < world_size; 0 of 1 */
    stk_tail tail;             /* STK_TAIL_SHORT */
    bool allow_empty;          /* tail short: a rank may get a batch of 0 rows in the last step
                                  when fewer samples than ranks remain; false: STK_EINVAL */
    int32_t threads;           /* compute threads, 0: inline, same order; STK_THREADS_AUTO */
    int32_t io_threads;        /* waiting for bytes that are not in memory yet, 1 to 64; 4 */
    uint32_t prefetch;         /* steps in flight ahead of the consumer, 1 to 64; 2 */
    uint64_t memory_bytes;     /* ceiling for all that the loader allocates, from 16 MiB; 2 GiB */
    stk_on_error on_error;     /* STK_ON_ERROR_RAISE */
    uint64_t max_errors;       /* STK_EBUDGET above this many; UINT64_MAX: no bound */
    double max_error_rate;     /* STK_EBUDGET above this share of an epoch's samples delivered,
                                  judged from the 100th on; 1: no bound */
    const uint64_t *known_damage; /* samples never to be touched; known_damage_count; copied */
    size_t known_damage_count;
    const stk_limits *limits; /* NULL: the defaults; copied */
} stk_loader_options;

#define STK_LOADER_OPTIONS_INIT                                                                    \
    {sizeof(stk_loader_options), NULL, 0, 256, STK_SHUFFLE_NONE, 8, NULL, 0, 0, 1, STK_TAIL_SHORT, \
        false, STK_THREADS_AUTO, 4, 2, 2ull << 30, STK_ON_ERROR_RAISE, UINT64_MAX, 1.0, NULL, 0,   \
        NULL}

#ifdef __cplusplus
}
#endif

#endif
