/*
 * The dictionary of a .npy header.
 *
 * It is a literal of Python with three keys in any order. What writers of other languages do with
 * spaces, quotes and commas is taken; anything that is not of this form is refused, so that no
 * expression of Python is ever looked at.
 *
 * Source: NumPy, "npy format" (NEP 1); dtype strings: the array interface protocol, version 3.
 */
#include "codec/npy_head.h"

#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/size.h"

enum { QUOTE_BYTES = 48 }; /* of a strange dtype, in an error */

typedef struct cursor {
    const char *text;
    size_t size, at;
    size_t base; /* of text in the file */
    stk_error *err;
} cursor;

/* A piece of the text. */
typedef struct piece {
    const char *text;
    size_t size;
} piece;

static stk_status refuse(const cursor *c, const char *what)
{
    return STK_FAIL_AT(c->err, STK_ECORRUPT, c->base + c->at, "npy header: %s", what);
}

static void skip_blanks(cursor *c)
{
    while (c->at < c->size && (c->text[c->at] == ' ' || c->text[c->at] == '\t' ||
                                  c->text[c->at] == '\n' || c->text[c->at] == '\r'))
        c->at++;
}

/* Step over blanks and then over `letter`, if it stands there. */
static bool accept(cursor *c, char letter)
{
    skip_blanks(c);
    if (c->at == c->size || c->text[c->at] != letter)
        return false;
    c->at++;
    return true;
}

static bool accept_word(cursor *c, const char *word)
{
    size_t length = strlen(word);

    skip_blanks(c);
    if (c->size - c->at < length || memcmp(c->text + c->at, word, length) != 0)
        return false;
    c->at += length;
    return true;
}

/* A string in either quotes; none of those that are needed here has an escape in it. */
static bool accept_string(cursor *c, piece *out)
{
    const char *end;
    char quote;

    skip_blanks(c);
    if (c->at == c->size || (c->text[c->at] != '\'' && c->text[c->at] != '"'))
        return false;
    quote = c->text[c->at];
    end = memchr(c->text + c->at + 1, quote, c->size - c->at - 1);
    if (end == NULL)
        return false;
    *out = (piece){c->text + c->at + 1, (size_t)(end - (c->text + c->at + 1))};
    c->at = (size_t)(end + 1 - c->text);
    return true;
}

static bool is(piece p, const char *word)
{
    return p.size == strlen(word) && memcmp(p.text, word, p.size) == 0;
}

/* ---- dtype ----------------------------------------------------------------------------------- */

static stk_status refuse_dtype(const cursor *c, size_t at, piece descr)
{
    int shown = (int)stk__size_min(descr.size, QUOTE_BYTES);

    return STK_FAIL_AT(c->err, STK_ENOTSUP, c->base + at, "dtype %.*s%s not supported", shown,
        descr.text, descr.size > QUOTE_BYTES ? "..." : "");
}

static bool is_order(char c)
{
    return c == '<' || c == '>' || c == '=' || c == '|';
}

/* "<f4": byte order, kind, bytes. Without an order it is this machine's. */
static stk_dtype dtype_of(piece descr, bool *swapped_out)
{
    static const struct {
        const char *name;
        stk_dtype dtype;
    } known[] = {
        {"u1", STK_U8},
        {"i1", STK_I8},
        {"u2", STK_U16},
        {"i2", STK_I16},
        {"u4", STK_U32},
        {"i4", STK_I32},
        {"u8", STK_U64},
        {"i8", STK_I64},
        {"f2", STK_F16},
        {"f4", STK_F32},
        {"f8", STK_F64},
        {"b1", STK_BOOL},
        {"?", STK_BOOL},
    };

    const uint16_t one = 1;
    bool big_machine = *(const uint8_t *)&one == 0;
    char order = '=';

    if (descr.size > 0 && is_order(descr.text[0])) {
        order = descr.text[0];
        descr = (piece){descr.text + 1, descr.size - 1};
    }
    for (size_t i = 0; i < STK__COUNT_OF(known); i++) {
        if (is(descr, known[i].name)) {
            *swapped_out =
                order == (big_machine ? '<' : '>') && stk_dtype_bytes(known[i].dtype) > 1;
            return known[i].dtype;
        }
    }
    return STK_DTYPE_NONE;
}

static stk_status read_dtype(cursor *c, stk_npy_info *info)
{
    size_t begin;
    piece descr;

    skip_blanks(c);
    begin = c->at;
    if (c->at < c->size && c->text[c->at] == '[') {
        int shown = (int)stk__size_min(c->size - begin, QUOTE_BYTES);

        return STK_FAIL_AT(c->err, STK_ENOTSUP, c->base + begin,
            "structured dtype not supported: %.*s...", shown, c->text + begin);
    }
    if (!accept_string(c, &descr))
        return refuse(c, "no string for descr");
    if (descr.size > 0 && memchr(descr.text, 'O', descr.size) != NULL)
        return STK_FAIL_AT(c->err, STK_ENOTSUP, c->base + begin,
            "array of Python objects (a pickle); those are never read");
    info->dtype = dtype_of(descr, &info->swapped);
    if (info->dtype == STK_DTYPE_NONE)
        return refuse_dtype(c, begin, descr);
    return STK_OK;
}

/* ---- shape ----------------------------------------------------------------------------------- */

static stk_status read_axis(cursor *c, uint64_t *length_out)
{
    uint64_t length = 0;
    size_t begin;

    skip_blanks(c);
    begin = c->at;
    while (c->at < c->size && c->text[c->at] >= '0' && c->text[c->at] <= '9') {
        if (!stk__u64_mul(length, 10, &length) ||
            !stk__u64_add(length, (uint64_t)(c->text[c->at] - '0'), &length))
            return refuse(c, "an axis does not fit 64 bits");
        c->at++;
    }
    if (c->at == begin)
        return refuse(c, "shape is no tuple of lengths");
    STK_IGNORE(!accept(c, 'L')); /* how Python 2 wrote large ones */
    *length_out = length;
    return STK_OK;
}

static stk_status count_elements(const cursor *c, stk_npy_info *info)
{
    info->count = 1;
    for (uint32_t i = 0; i < info->ndim; i++) {
        if (info->shape[i] == 0) {
            info->count = 0; /* however long the others claim to be */
            return STK_OK;
        }
    }
    for (uint32_t i = 0; i < info->ndim; i++) {
        if (!stk__u64_mul(info->count, info->shape[i], &info->count))
            return refuse(c, "more elements than 64 bits can count");
    }
    return STK_OK;
}

static stk_status read_shape(cursor *c, stk_npy_info *info)
{
    bool comma = true; /* before the next axis */

    if (!accept(c, '('))
        return refuse(c, "shape is no tuple");
    info->ndim = 0;
    while (!accept(c, ')')) {
        if (!comma)
            return refuse(c, "no comma between two axes");
        if (info->ndim == STK__COUNT_OF(info->shape))
            return STK_FAIL_AT(c->err, STK_ENOTSUP, c->base + c->at,
                "npy array of more than %zu axes", STK__COUNT_OF(info->shape));
        STK_TRY(read_axis(c, &info->shape[info->ndim]));
        info->ndim++;
        comma = accept(c, ',');
    }
    if (info->ndim == 1 && !comma)
        return refuse(c, "shape is a number, not a tuple");
    return count_elements(c, info);
}

/* ---- The dictionary -------------------------------------------------------------------------- */

enum { HAS_DESCR = 1, HAS_ORDER = 2, HAS_SHAPE = 4, HAS_ALL = 7 };

static stk_status read_pair(cursor *c, unsigned *seen, stk_npy_info *info)
{
    piece key;
    unsigned which;

    if (!accept_string(c, &key))
        return refuse(c, "no string where a key should be");
    which = is(key, "descr")           ? HAS_DESCR
            : is(key, "fortran_order") ? HAS_ORDER
            : is(key, "shape")         ? HAS_SHAPE
                                       : 0;
    if (which == 0)
        return refuse(c, "a key that is none of descr, fortran_order, shape");
    if ((*seen & which) != 0)
        return refuse(c, "a key stands there twice");
    *seen |= which;
    if (!accept(c, ':'))
        return refuse(c, "no colon after a key");
    if (which == HAS_DESCR)
        return read_dtype(c, info);
    if (which == HAS_SHAPE)
        return read_shape(c, info);
    if (accept_word(c, "True"))
        info->fortran = true;
    else if (!accept_word(c, "False"))
        return refuse(c, "fortran_order is neither True nor False");
    return STK_OK;
}

stk_status stk__npy_dictionary(stk_view text, size_t base, stk_npy_info *info_out, stk_error *err)
{
    cursor c = {.text = text.data, .size = text.size, .base = base, .err = err};
    stk_npy_info info = {0};
    unsigned seen = 0;
    bool comma = true; /* before the next pair */

    if (!accept(&c, '{'))
        return refuse(&c, "no dictionary");
    while (!accept(&c, '}')) {
        if (!comma)
            return refuse(&c, "no comma between two pairs");
        STK_TRY(read_pair(&c, &seen, &info));
        comma = accept(&c, ',');
    }
    skip_blanks(&c);
    while (c.at < c.size && c.text[c.at] == '\0')
        c.at++; /* padding of some writers */
    if (c.at != c.size)
        return refuse(&c, "more text behind the dictionary");
    if (seen != HAS_ALL)
        return refuse(&c, "descr, fortran_order or shape is missing");
    *info_out = info;
    return STK_OK;
}
