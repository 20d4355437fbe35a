/* One code point of UTF-8. */
#ifndef STK__TEXT_UTF8_H
#define STK__TEXT_UTF8_H

#include <stddef.h>
#include <stdint.h>

/*
 * Length in bytes of the code point at p, of which `left` bytes are there (1 or more), and its
 * number. 0: not UTF-8 (RFC 3629: no overlong forms, nothing past U+10FFFF). Surrogates, which
 * UTF-8 does not have, are told by their number alone.
 */
size_t stk__utf8_point(const uint8_t *p, size_t left, uint32_t *point_out);

#endif
