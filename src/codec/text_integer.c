/*
 * Integers in decimal by the rules of Python's int() on bytes: see stk_text_integer().
 *
 * Source: CPython, PyLong_FromString and bytes.isspace(): blanks are space, \t, \n, \v, \f, \r.
 */
#include <stdio.h>

#include <stoker/codec.h>

#include "base/error.h"
#include "base/size.h"

enum { SHOWN_BYTES = 32 };

static bool is_blank(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The text between quotes, what is not printable ASCII as \xNN. */
static const char *quoted(stk_view text, char *to, size_t capacity)
{
    const uint8_t *p = text.data;
    size_t shown = stk__size_min(text.size, SHOWN_BYTES), used = 0;

    for (size_t i = 0; i < shown && used + 5 < capacity; i++) {
        if (p[i] >= ' ' && p[i] < 0x7f)
            to[used++] = (char)p[i];
        else
            used += (size_t)snprintf(to + used, capacity - used, "\\x%02x", p[i]);
    }
    STK_IGNORE(snprintf(to + used, capacity - used, "%s", shown < text.size ? "..." : "") < 0);
    return to;
}

static stk_status refuse(stk_view text, size_t at, const char *why, stk_error *err)
{
    char shown[SHOWN_BYTES * 4 + 8];

    return STK_FAIL_AT(err, STK_ECORRUPT, at, "%s: \"%s\"", why, quoted(text, shown, sizeof shown));
}

/* One more digit below zero, where there is room for one number more than above. */
static bool push_digit(int64_t *negative, uint8_t digit)
{
    return !__builtin_mul_overflow(*negative, 10, negative) &&
           !__builtin_sub_overflow(*negative, (int64_t)(digit - '0'), negative);
}

stk_status stk_text_integer(stk_view text, int64_t *number_out, stk_error *err)
{
    const uint8_t *p = text.data;
    size_t at = 0, end = text.size;
    int64_t negative = 0;
    bool minus = false, fits = true, digit = false; /* digit: one stands right before `at` */

    while (at < end && is_blank(p[at]))
        at++;
    while (end > at && is_blank(p[end - 1]))
        end--;
    if (at == end)
        return refuse(text, at, "no integer", err);
    if (p[at] == '+' || p[at] == '-')
        minus = p[at++] == '-';
    for (; at < end; at++) {
        if (p[at] >= '0' && p[at] <= '9') {
            fits = fits && push_digit(&negative, p[at]);
            digit = true;
        } else if (p[at] == '_' && digit) {
            digit = false;
        } else {
            break;
        }
    }
    if (at < end || !digit)
        return refuse(text, at, "not an integer", err);
    if (!fits || (!minus && negative == INT64_MIN))
        return refuse(text, 0, "integer does not fit int64", err);
    *number_out = minus ? negative : -negative;
    return STK_OK;
}
