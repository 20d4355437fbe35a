/* Headers of files to be written: ustar, with a pax header in front where ustar is too narrow. */
#ifndef STK__TAR_HEAD_MAKE_H
#define STK__TAR_HEAD_MAKE_H

#include "archive/tar_text.h"

enum {
    STK__TAR_LONGEST_NAME = 1 << 16, /* bytes; far under max_header_bytes of any reader */
};

/* The greatest mtime that the header has room for: 11 octal digits, the year 2242. */
#define STK__TAR_LAST_MTIME ((1ull << 33) - 1)

/*
 * Append the blocks that stand before the data of one file.
 *
 * @param name   1 to STK__TAR_LONGEST_NAME bytes without NUL, not ending in a slash.
 * @param mtime  At most STK__TAR_LAST_MTIME.
 * @return false: no memory.
 */
STK_MUST_CHECK bool stk__tar_head_make(
    stk__heap *heap, stk__tar_text *blocks, stk_view name, uint64_t size_bytes, uint64_t mtime);

#endif
