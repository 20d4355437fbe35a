/* Walking bytes that ought to be UTF-8. */
#ifndef UTF8_H
#define UTF8_H

#include <stddef.h>
#include <stdint.h>

/*
 * Bytes of the character at the start of `bytes`, 1 to 4, and the character itself; 0 if they are
 * none: a stray or missing continuation, an overlong form, a surrogate, beyond U+10FFFF.
 * Source: Unicode 15, table 3-7.
 */
static inline size_t utf8_step(const uint8_t *bytes, size_t size, uint32_t *character_out)
{
    uint8_t lead = bytes[0];
    size_t length = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    uint32_t c;

    *character_out = lead;
    if (length == 1)
        return 1;
    if (lead < 0xc2 || lead > 0xf4 || length > size)
        return 0;
    c = lead & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (bytes[i] & 0x3fu);
    }
    if ((length == 3 && c < 0x800) || (length == 4 && (c < 0x10000 || c > 0x10ffff)) ||
        (c >= 0xd800 && c <= 0xdfff))
        return 0;
    *character_out = c;
    return length;
}

#endif
