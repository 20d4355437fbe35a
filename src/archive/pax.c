/*
 * Extended headers: see pax.h.
 *
 * A record is "LENGTH KEYWORD=VALUE\n", and the length counts itself. It is a claim: nothing past
 * the records is touched, whatever it says.
 */
#include "archive/pax.h"

#include "base/error.h"

typedef struct record {
    stk_view key, value;
    size_t size; /* of the whole record */
} record;

/* The number that a record begins with, up to a blank; 0 if there is none or it is out of reach. */
static size_t read_length(const char *p, size_t size, size_t *digits_out)
{
    size_t length = 0, at = 0;

    while (at < size && p[at] >= '0' && p[at] <= '9') {
        length = length * 10 + (size_t)(p[at] - '0');
        if (length > size)
            return 0;
        at++;
    }
    *digits_out = at;
    return at > 0 && at < size && p[at] == ' ' ? length : 0;
}

/* Cut the next record off; false if it is none. */
static bool cut_record(stk_view rest, record *record_out)
{
    const char *p = rest.data;
    size_t digits = 0;
    size_t length = read_length(p, rest.size, &digits);
    const char *key, *equals;

    if (length < digits + 4 || p[length - 1] != '\n') /* blank, key, equals, newline at least */
        return false;
    key = p + digits + 1;
    equals = memchr(key, '=', length - digits - 2);
    if (equals == NULL || equals == key)
        return false;
    record_out->key = (stk_view){key, (size_t)(equals - key)};
    record_out->value = (stk_view){equals + 1, (size_t)(p + length - 1 - (equals + 1))};
    record_out->size = length;
    return true;
}

static bool is(stk_view key, const char *name)
{
    return key.size == strlen(name) && memcmp(key.data, name, key.size) == 0;
}

static bool read_decimal(stk_view text, uint64_t *number_out)
{
    const char *p = text.data;
    uint64_t number = 0;

    for (size_t i = 0; i < text.size; i++) {
        uint64_t digit = (uint64_t)(uint8_t)p[i] - '0'; /* huge for a byte below '0' */

        if (digit > 9 || number > ((uint64_t)INT64_MAX - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    *number_out = number;
    return text.size > 0;
}

/* A name: kept, or taken back by an empty value. */
static stk_status keep_name(stk__heap *heap, const record *r, bool *has, stk__tar_text *text,
    uint64_t offset, stk_error *err)
{
    *has = false;
    if (r->value.size == 0)
        return STK_OK;
    if (memchr(r->value.data, '\0', r->value.size) != NULL)
        return STK_FAIL_AT(err, STK_ECORRUPT, offset, "extended header has a name with a NUL");
    if (!stk__tar_text_set(heap, text, r->value))
        return STK_FAIL(err, STK_ENOMEM, "no memory for a name of %zu bytes", r->value.size);
    *has = true;
    return STK_OK;
}

static stk_status keep(
    stk__heap *heap, stk__pax *pax, const record *r, uint64_t offset, stk_error *err)
{
    static const char sparse[] = "GNU.sparse.";

    if (is(r->key, "path"))
        return keep_name(heap, r, &pax->has_path, &pax->path, offset, err);
    if (is(r->key, "linkpath"))
        return keep_name(heap, r, &pax->has_link, &pax->link, offset, err);
    if (is(r->key, "size")) {
        pax->has_size = r->value.size > 0;
        if (pax->has_size && !read_decimal(r->value, &pax->size))
            return STK_FAIL_AT(
                err, STK_ECORRUPT, offset, "bad size in the extended header: not from 0 to 2^63");
        return STK_OK;
    }
    if (r->key.size >= sizeof sparse - 1 && memcmp(r->key.data, sparse, sizeof sparse - 1) == 0) {
        pax->sparse = true;
        if (is(r->key, "GNU.sparse.name"))
            return keep_name(heap, r, &pax->has_sparse_name, &pax->sparse_name, offset, err);
    }
    return STK_OK;
}

/* Some writers pad with zeros inside the size they state. */
static bool only_zeros(stk_view rest)
{
    const char *p = rest.data;

    for (size_t i = 0; i < rest.size; i++) {
        if (p[i] != '\0')
            return false;
    }
    return true;
}

stk_status stk__pax_read(
    stk__heap *heap, stk__pax *pax, stk_view records, uint64_t offset, stk_error *err)
{
    stk_view rest = records;
    record r;

    while (rest.size > 0 && !only_zeros(rest)) {
        if (!cut_record(rest, &r))
            return STK_FAIL_AT(err, STK_ECORRUPT, offset + (records.size - rest.size),
                "malformed extended header: no \"LENGTH KEYWORD=VALUE\" record");
        STK_TRY(keep(heap, pax, &r, offset + (records.size - rest.size), err));
        rest = (stk_view){(const char *)rest.data + r.size, rest.size - r.size};
    }
    return STK_OK;
}

void stk__pax_reset(stk__pax *pax)
{
    pax->has_path = pax->has_link = pax->has_size = pax->sparse = pax->has_sparse_name = false;
}

void stk__pax_fini(stk__heap *heap, stk__pax *pax)
{
    stk__tar_text_fini(heap, &pax->path);
    stk__tar_text_fini(heap, &pax->link);
    stk__tar_text_fini(heap, &pax->sparse_name);
}
