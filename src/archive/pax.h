/*
 * Extended headers of POSIX pax archives, as far as a reader of names and bytes needs them.
 *
 * Source: POSIX.1-2017, pax, "pax Extended Header"; GNU tar manual, "Storing Sparse Files".
 */
#ifndef STK__PAX_H
#define STK__PAX_H

#include "archive/tar_text.h"

/* What records said. Empty values take an earlier one back, so "has" and the text go together. */
typedef struct stk__pax {
    bool has_path, has_link, has_size;
    bool sparse; /* a GNU.sparse keyword was there: the data is a map and pieces */
    bool has_sparse_name;
    uint64_t size;
    stk__tar_text path, link, sparse_name;
} stk__pax;

/*
 * Read the records of one extended header on top of what `pax` holds.
 *
 * Unknown keywords are passed over, whatever their value. Names stay bytes, whatever hdrcharset
 * says.
 *
 * @param offset  Of the records in the file: errors count from there.
 * @return STK_OK, STK_ECORRUPT (a malformed record, a size that is no number, a name with a NUL),
 *         STK_ENOMEM.
 */
STK_MUST_CHECK stk_status stk__pax_read(
    stk__heap *heap, stk__pax *pax, stk_view records, uint64_t offset, stk_error *err);

/* Forget what was read; memory is kept. */
void stk__pax_reset(stk__pax *pax);

void stk__pax_fini(stk__heap *heap, stk__pax *pax);

#endif
