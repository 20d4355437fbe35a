/* The header of .npy files: see stk_npy_probe(). */
#ifndef STK__NPY_HEAD_H
#define STK__NPY_HEAD_H

#include <stoker/codec.h>

/*
 * The dictionary of the header ("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }").
 *
 * `base` is where `text` begins in the file, for offsets. Fills dtype, ndim, shape, count, fortran
 * and swapped. Statuses as stk_npy_probe().
 */
STK_MUST_CHECK stk_status stk__npy_dictionary(
    stk_view text, size_t base, stk_npy_info *info_out, stk_error *err);

#endif
