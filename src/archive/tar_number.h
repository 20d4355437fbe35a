/* Numbers in tar headers: octal text, or binary where text is too short. */
#ifndef STK__TAR_NUMBER_H
#define STK__TAR_NUMBER_H

#include <stoker/base.h>

/*
 * Read a numeric field.
 *
 * Text: spaces, octal digits, and at the first byte that is no digit a NUL or a space, after which
 * nothing counts; a field of spaces and NULs alone is 0. Binary ("base-256", GNU and star): top bit
 * of the first byte set, the rest a big-endian number.
 *
 * @return false, and number_out untouched, for anything else, negative numbers and 2^63 and above.
 */
bool stk__tar_number(stk_view field, uint64_t *number_out);

#endif
