/**
 * stoker/batch.h: what a loader hands out.
 *
 * A batch lies in one slot of the loader's arena. It is the caller's alone, to read and to write,
 * until its last reference goes; then the slot is used again. A batch outlives its loader.
 */
#ifndef STOKER_BATCH_H
#define STOKER_BATCH_H

#include <stoker/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STK_TENSOR_MAX_DIMS 8

/**
 * One field of a batch: an array whose first axis is the samples, or, where samples differ in
 * length, their bytes one after the other with `offsets`.
 *
 * The meaning of dtype, shape and strides is that of DLPack (strides in elements).
 */
typedef struct stk_tensor {
    const char *name; /* of the field; borrowed from the batch */
    void *data;       /* aligned to STK_ALIGN_BYTES */
    stk_dtype dtype;
    int32_t ndim;
    int64_t shape[STK_TENSOR_MAX_DIMS];
    int64_t strides[STK_TENSOR_MAX_DIMS];
    const int64_t *offsets; /* NULL, or rows + 1 numbers: row i is data[offsets[i], offsets[i+1]) */
    bool text;              /* ragged rows that are checked UTF-8 */
} stk_tensor;

typedef struct stk_batch stk_batch;

/** Samples in the batch: at most the batch size; 0 only with allow_empty or when all were skipped.
 */
STK_API size_t stk_batch_rows(const stk_batch *batch);

/** Fields. */
STK_API size_t stk_batch_count(const stk_batch *batch);

/** The nth field in the order of declaration; NULL past the end. Borrowed from the batch. */
STK_API const stk_tensor *stk_batch_tensor(const stk_batch *batch, size_t nth);

/** Epoch and step of the batch. */
STK_API uint64_t stk_batch_epoch(const stk_batch *batch);
STK_API uint64_t stk_batch_step(const stk_batch *batch);

/** Index in the dataset of each row: stk_batch_rows() numbers. Borrowed from the batch. */
STK_API const uint64_t *stk_batch_samples(const stk_batch *batch);

/** One more reference. Any thread. */
STK_API stk_batch *stk_batch_ref(stk_batch *batch);

/** Drop a reference; takes NULL. Any thread, also after the loader was closed. */
STK_API void stk_batch_unref(stk_batch *batch);

#ifdef __cplusplus
}
#endif

#endif
