/* Numbers in tar headers: see tar_number.h. */
#include "archive/tar_number.h"

static bool read_binary(const uint8_t *p, size_t size, uint64_t *number_out)
{
    uint64_t number = p[0] & 0x7fu;

    if ((p[0] & 0x40u) != 0)
        return false; /* two's complement: below zero */
    for (size_t i = 1; i < size; i++) {
        if (number > (uint64_t)INT64_MAX >> 8)
            return false;
        number = number << 8 | p[i];
    }
    *number_out = number;
    return true;
}

/* Spaces and NULs only: a digit after a NUL would otherwise be lost in silence. */
static bool is_blank(const uint8_t *p, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (p[i] != '\0' && p[i] != ' ')
            return false;
    }
    return true;
}

bool stk__tar_number(stk_view field, uint64_t *number_out)
{
    const uint8_t *p = field.data;
    uint64_t number = 0;
    size_t at = 0, first;

    if (field.size > 0 && (p[0] & 0x80u) != 0)
        return read_binary(p, field.size, number_out);
    while (at < field.size && p[at] == ' ')
        at++;
    first = at;
    while (at < field.size && (p[at] & 0xf8u) == '0') {
        if (number > (uint64_t)INT64_MAX >> 3)
            return false;
        number = number << 3 | (p[at] & 7u);
        at++;
    }
    if (at == first ? !is_blank(p + at, field.size - at)
                    : at < field.size && p[at] != '\0' && p[at] != ' ')
        return false;
    *number_out = number;
    return true;
}
