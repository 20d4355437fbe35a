/*
 * A dataset as the pipeline sees it: where the bytes of a field lie, and reads that do not wait.
 *
 * Nothing here allocates or takes a lock but the use of a file, which may have to be opened.
 */
#ifndef STK__DATASET_H
#define STK__DATASET_H

#include <stoker/dataset.h>

/*
 * The first of `n` alternatives that a sample has. Ids are those of stk_dataset_field(); one that
 * is no field of the dataset is never found.
 *
 * STK_EFIELD when it has none: the text lists what it has. STK_ERANGE, STK_EINDEX (the entry of the
 * index is damaged).
 */
STK_MUST_CHECK stk_status stk__dataset_locate(const stk_dataset *ds, uint64_t sample,
    const uint32_t *field_ids, size_t n, stk_sample_field *found_out, stk_error *err);

/*
 * stk_dataset_read() without waiting for the disk: STK_AGAIN when not all of the bytes are in
 * memory, or when the system cannot tell. A file that is not open is opened.
 */
STK_MUST_CHECK stk_status stk__dataset_try_read(
    const stk_dataset *ds, uint32_t source, uint64_t offset, stk_span dst, stk_error *err);

/* Number of the field's name, or UINT32_MAX. */
uint32_t stk__dataset_field_id(const stk_dataset *ds, const char *field);

/* Shard of a sample below the count. */
uint32_t stk__dataset_shard_of(const stk_dataset *ds, uint64_t sample);

/* Fill what is empty in err with what a dataset knows about a sample: source, shard, key, index.
 * Returns `st`. */
stk_status stk__dataset_error_in(
    const stk_dataset *ds, uint64_t sample, stk_stage stage, stk_status st, stk_error *err);

#endif
