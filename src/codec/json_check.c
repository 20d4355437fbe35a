/*
 * Is it one JSON text? See stk_json_check().
 *
 * Accepts what json.loads() of Python accepts when it is given bytes: RFC 8259 in UTF-8, UTF-16 or
 * UTF-32, told by a byte order mark or by where the zeros of the first four bytes are, and besides
 * it NaN, Infinity and -Infinity, and lone surrogates within strings. Nothing is converted or
 * kept; nesting costs one bit a level, so no text can exhaust the stack.
 */
#include <string.h>

#include <stoker/codec.h>

#include "base/bytes.h"
#include "base/error.h"
#include "codec/text_utf8.h"

enum { DEPTH_MOST = 1 << 16 }; /* whatever the limits say */

typedef enum encoding { UTF8, UTF16_LE, UTF16_BE, UTF32_LE, UTF32_BE } encoding;

/* What stands where the text ends, and where bytes are no code point. */
#define NO_MORE  UINT32_MAX
#define NO_POINT (UINT32_MAX - 1)

typedef struct reader {
    const uint8_t *data;
    size_t size, at;
    encoding encoding;
    uint32_t point; /* at `at` */
    size_t length;  /* of it, in bytes */
    uint32_t depth, max_depth;
    stk_error *err;
    uint8_t objects[DEPTH_MOST / 8]; /* a bit a level: object, or else array */
} reader;

/* ---- Code points ----------------------------------------------------------------------------- */

static void load16(reader *r)
{
    const uint8_t *p = r->data + r->at;
    size_t left = r->size - r->at;
    uint32_t low;

    if (left < 2)
        return;
    r->point = r->encoding == UTF16_LE ? stk__get_le16(p) : stk__get_be16(p);
    r->length = 2;
    if (r->point < 0xd800 || r->point > 0xdbff || left < 4)
        return;
    low = r->encoding == UTF16_LE ? stk__get_le16(p + 2) : stk__get_be16(p + 2);
    if (low >= 0xdc00 && low <= 0xdfff) {
        r->point = 0x10000 + ((r->point - 0xd800) << 10) + (low - 0xdc00);
        r->length = 4;
    }
}

static void load32(reader *r)
{
    const uint8_t *p = r->data + r->at;
    uint32_t point;

    if (r->size - r->at < 4)
        return;
    point = r->encoding == UTF32_LE ? stk__get_le32(p) : stk__get_be32(p);
    if (point > 0x10ffff)
        return;
    r->point = point;
    r->length = 4;
}

/* Look at the point at r->at. */
static void load(reader *r)
{
    if (r->at == r->size) {
        r->point = NO_MORE;
        r->length = 0;
        return;
    }
    r->point = NO_POINT;
    if (r->encoding == UTF8) {
        uint32_t point;

        r->length = stk__utf8_point(r->data + r->at, r->size - r->at, &point);
        if (r->length > 0)
            r->point = point;
    } else if (r->encoding == UTF16_LE || r->encoding == UTF16_BE) {
        load16(r);
    } else {
        load32(r);
    }
}

static void next(reader *r)
{
    r->at += r->length;
    load(r);
}

/* As json.detect_encoding() of Python does. */
static void find_encoding(reader *r)
{
    static const struct {
        const char *mark;
        size_t length;
        encoding encoding;
    } marks[] = {
        {"\0\0\xfe\xff", 4, UTF32_BE},
        {"\xff\xfe\0\0", 4, UTF32_LE},
        {"\xfe\xff", 2, UTF16_BE},
        {"\xff\xfe", 2, UTF16_LE},
        {"\xef\xbb\xbf", 3, UTF8},
    };

    const uint8_t *p = r->data;

    for (size_t i = 0; i < STK__COUNT_OF(marks); i++) {
        if (r->size >= marks[i].length && memcmp(p, marks[i].mark, marks[i].length) == 0) {
            r->encoding = marks[i].encoding;
            r->at = marks[i].length;
            return;
        }
    }
    if (r->size >= 4 && p[0] == 0)
        r->encoding = p[1] != 0 ? UTF16_BE : UTF32_BE;
    else if (r->size >= 4 && p[1] == 0)
        r->encoding = p[2] != 0 || p[3] != 0 ? UTF16_LE : UTF32_LE;
    else if (r->size == 2 && p[0] == 0)
        r->encoding = UTF16_BE;
    else if (r->size == 2 && p[1] == 0)
        r->encoding = UTF16_LE;
}

static stk_status refuse(const reader *r, const char *what)
{
    if (r->point == NO_POINT)
        what = "bytes that are no character";
    else if (r->point == NO_MORE)
        what = "it ended too early";
    return STK_FAIL_AT(r->err, STK_ECORRUPT, r->at, "not a JSON text: %s", what);
}

/* ---- Scalars --------------------------------------------------------------------------------- */

static bool is_digit(uint32_t point)
{
    return point >= '0' && point <= '9';
}

static bool is_hex(uint32_t point)
{
    return is_digit(point) || (point >= 'a' && point <= 'f') || (point >= 'A' && point <= 'F');
}

static void skip_blanks(reader *r)
{
    while (r->point == ' ' || r->point == '\t' || r->point == '\n' || r->point == '\r')
        next(r);
}

static stk_status read_word(reader *r, const char *word)
{
    for (; *word != '\0'; word++) {
        if (r->point != (uint8_t)*word)
            return refuse(r, "no value");
        next(r);
    }
    return STK_OK;
}

static stk_status read_escape(reader *r)
{
    if (r->point == 'u') {
        for (int i = 0; i < 4; i++) {
            next(r);
            if (!is_hex(r->point))
                return refuse(r, "\\u without four hexadecimal digits");
        }
    } else if (r->point >= 0x80 || r->point == 0 || strchr("\"\\/bfnrt", (int)r->point) == NULL) {
        return refuse(r, "an unknown escape in a string");
    }
    next(r);
    return STK_OK;
}

static stk_status read_string(reader *r)
{
    next(r); /* the quote */
    while (r->point != '"') {
        if (r->point == NO_MORE || r->point == NO_POINT || r->point < ' ')
            return refuse(r, "a control character in a string");
        if (r->point == '\\') {
            next(r);
            STK_TRY(read_escape(r));
        } else {
            next(r);
        }
    }
    next(r);
    return STK_OK;
}

static stk_status read_digits(reader *r)
{
    if (!is_digit(r->point))
        return refuse(r, "a number without digits");
    while (is_digit(r->point))
        next(r);
    return STK_OK;
}

static stk_status read_number(reader *r)
{
    if (r->point == '-') {
        next(r);
        if (r->point == 'I')
            return read_word(r, "Infinity");
    }
    if (r->point == '0') /* no zeros before other digits */
        next(r);
    else
        STK_TRY(read_digits(r));
    if (r->point == '.') {
        next(r);
        STK_TRY(read_digits(r));
    }
    if (r->point == 'e' || r->point == 'E') {
        next(r);
        if (r->point == '+' || r->point == '-')
            next(r);
        STK_TRY(read_digits(r));
    }
    return STK_OK;
}

static stk_status read_scalar(reader *r)
{
    switch (r->point) {
    case '"':
        return read_string(r);
    case 't':
        return read_word(r, "true");
    case 'f':
        return read_word(r, "false");
    case 'n':
        return read_word(r, "null");
    case 'N':
        return read_word(r, "NaN");
    case 'I':
        return read_word(r, "Infinity");
    default:
        return r->point == '-' || is_digit(r->point) ? read_number(r) : refuse(r, "no value");
    }
}

/* ---- Containers ------------------------------------------------------------------------------ */

static bool in_object(const reader *r)
{
    return (r->objects[(r->depth - 1) / 8] >> ((r->depth - 1) % 8) & 1) != 0;
}

static stk_status enter(reader *r, bool object)
{
    uint32_t nth = r->depth % 8;
    uint8_t *byte = &r->objects[r->depth / 8];

    if (r->depth == r->max_depth)
        return STK_FAIL_AT(r->err, STK_ELIMIT, r->at,
            "JSON nested deeper than %u (limit max_depth)", r->max_depth);
    if (nth == 0)
        *byte = 0;
    *byte = (uint8_t)((*byte & ((1u << nth) - 1)) | (unsigned)object << nth);
    r->depth++;
    next(r);
    skip_blanks(r);
    return STK_OK;
}

static stk_status read_key(reader *r)
{
    if (r->point != '"')
        return refuse(r, "no string where a name should be");
    STK_TRY(read_string(r));
    skip_blanks(r);
    if (r->point != ':')
        return refuse(r, "no colon after a name");
    next(r);
    skip_blanks(r);
    return STK_OK;
}

/* From a value up to the next: closes what ends here. *more: is there a next one? */
static stk_status after_value(reader *r, bool *more)
{
    while (r->depth > 0) {
        bool object = in_object(r);

        skip_blanks(r);
        if (r->point == ',') {
            next(r);
            skip_blanks(r);
            *more = true;
            return object ? read_key(r) : STK_OK;
        }
        if (r->point != (object ? '}' : ']'))
            return refuse(r,
                object ? "neither comma nor } after a value" : "neither comma nor ] after a value");
        r->depth--;
        next(r);
    }
    *more = false;
    return STK_OK;
}

/* One value and all that is in it. */
static stk_status read_value(reader *r)
{
    for (bool more = true; more;) {
        if (r->point == '{' || r->point == '[') {
            bool object = r->point == '{';

            STK_TRY(enter(r, object));
            if (r->point != (object ? '}' : ']')) {
                if (object)
                    STK_TRY(read_key(r));
                continue;
            }
            r->depth--;
            next(r);
        } else {
            STK_TRY(read_scalar(r));
        }
        STK_TRY(after_value(r, &more));
    }
    return STK_OK;
}

stk_status stk_json_check(stk_view text, const stk_limits *limits, stk_error *err)
{
    const stk_limits defaults = STK_LIMITS_INIT;
    uint32_t max_depth = limits != NULL ? limits->max_depth : defaults.max_depth;
    reader r; /* not cleared: of `objects` only what was entered is looked at */

    r.data = text.data;
    r.size = text.size;
    r.at = 0;
    r.encoding = UTF8;
    r.depth = 0;
    r.max_depth = max_depth < DEPTH_MOST ? max_depth : DEPTH_MOST;
    r.err = err;
    find_encoding(&r);
    load(&r);
    skip_blanks(&r);
    STK_TRY(read_value(&r));
    skip_blanks(&r);
    if (r.point != NO_MORE)
        return refuse(&r, "more text behind the value");
    return STK_OK;
}
