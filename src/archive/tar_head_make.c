/*
 * Headers of files to be written: see tar_head_make.h.
 *
 * Everything that is not given is constant (mode 0644, owner 0, no user and group names), so that
 * the same members give the same archive, bit for bit, on every machine.
 */
#include "archive/tar_head_make.h"

#include <stdio.h>

#include "archive/tar_head.h"
#include "base/compiler.h"

#define LARGEST_OCTAL_SIZE ((1ull << 33) - 1)

/* Where a name is cut for ustar: 0: fits the name field, SIZE_MAX: it does not fit at all. */
static size_t find_cut(stk_view name)
{
    const char *p = name.data;
    size_t at;

    if (name.size <= STK__TAR_NAME_BYTES)
        return 0;
    if (name.size > STK__TAR_NAME_BYTES + 1 + STK__TAR_PREFIX_BYTES)
        return SIZE_MAX;
    /* The first slash with no more than a name field behind it leaves the shortest prefix. */
    at = name.size - STK__TAR_NAME_BYTES - 1;
    if (at == 0) /* a prefix is not empty */
        at = 1;
    while (at < name.size - 1 && p[at] != '/')
        at++;
    return at < name.size - 1 && at <= STK__TAR_PREFIX_BYTES ? at : SIZE_MAX;
}

/* A block whose name does not pass its fields: it is cut, and a pax header has the whole. */
typedef struct head {
    stk_view prefix, name;
    uint64_t size, mtime;
    char type;
} head;

static void put_octal(uint8_t *field, int digits, uint64_t number)
{
    for (int i = digits - 1; i >= 0; i--) {
        field[i] = (uint8_t)('0' + (number & 7));
        number >>= 3;
    }
}

static void copy(uint8_t *field, size_t room, stk_view text)
{
    if (text.size > 0)
        memcpy(field, text.data, stk__size_min(text.size, room));
}

static bool add_block(stk__heap *heap, stk__tar_text *blocks, const head *h)
{
    static const uint8_t magic[] = {'u', 's', 't', 'a', 'r', 0, '0', '0'}; /* and version */
    uint8_t block[STK__TAR_BLOCK] = {0};

    copy(block, STK__TAR_NAME_BYTES, h->name);
    put_octal(block + 100, 7, 0644);
    put_octal(block + 108, 7, 0);
    put_octal(block + 116, 7, 0);
    put_octal(block + 124, 11, h->size);
    put_octal(block + 136, 11, h->mtime);
    block[156] = (uint8_t)h->type;
    memcpy(block + 257, magic, sizeof magic);
    put_octal(block + 329, 7, 0);
    put_octal(block + 337, 7, 0);
    copy(block + 345, STK__TAR_PREFIX_BYTES, h->prefix);
    put_octal(block + 148, 6, stk__tar_head_sum(block));
    block[155] = ' ';
    return stk__tar_text_add(heap, blocks, (stk_view){block, sizeof block});
}

static bool add_padding(stk__heap *heap, stk__tar_text *blocks, size_t size)
{
    static const uint8_t zeros[STK__TAR_BLOCK];
    size_t over = size % STK__TAR_BLOCK;

    return over == 0 || stk__tar_text_add(heap, blocks, (stk_view){zeros, sizeof zeros - over});
}

static size_t digits_of(size_t number)
{
    size_t digits = 1;

    for (; number >= 10; number /= 10)
        digits++;
    return digits;
}

/* One pax record; its length counts its own digits. */
static bool add_record(stk__heap *heap, stk__tar_text *records, const char *key, stk_view value)
{
    size_t body = strlen(key) + value.size + 3; /* blank, equals, newline */
    size_t length = body + digits_of(body);
    char start[64];
    int size;

    if (digits_of(length) > digits_of(body))
        length = body + digits_of(length);
    size = snprintf(start, sizeof start, "%zu %s=", length, key); /* fits: keys are ours */
    return stk__tar_text_add(heap, records, (stk_view){start, (size_t)size}) &&
           stk__tar_text_add(heap, records, value) &&
           stk__tar_text_add(heap, records, (stk_view){"\n", 1});
}

/* Bytes of a UTF-8 character that begins here; 0: none does (RFC 3629, 4). */
static size_t utf8_length(const uint8_t *p, size_t size)
{
    uint8_t low = 0x80, high = 0xbf;
    size_t length;

    if (p[0] < 0x80)
        return 1;
    if (p[0] < 0xc2 || p[0] > 0xf4)
        return 0;
    length = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (p[0] == 0xe0)
        low = 0xa0;
    else if (p[0] == 0xed)
        high = 0x9f; /* surrogates */
    else if (p[0] == 0xf0)
        low = 0x90;
    else if (p[0] == 0xf4)
        high = 0x8f;
    if (size < length || p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++) {
        if ((p[i] & 0xc0u) != 0x80)
            return 0;
    }
    return length;
}

static bool is_utf8(stk_view text)
{
    const uint8_t *p = text.data;
    size_t step;

    for (size_t at = 0; at < text.size; at += step) {
        step = utf8_length(p + at, text.size - at);
        if (step == 0)
            return false;
    }
    return true;
}

static bool make_records(
    stk__heap *heap, stk__tar_text *records, stk_view name, bool with_path, uint64_t size)
{
    char number[24];

    if (with_path) {
        if (!is_utf8(name) && !add_record(heap, records, "hdrcharset", (stk_view){"BINARY", 6}))
            return false;
        if (!add_record(heap, records, "path", name))
            return false;
    }
    if (size <= LARGEST_OCTAL_SIZE)
        return true;
    STK_IGNORE(snprintf(number, sizeof number, "%llu", (unsigned long long)size) < 0); /* fits */
    return add_record(heap, records, "size", (stk_view){number, strlen(number)});
}

/* The name of a pax header is seen by readers that do not know it: say what it is, and of whom. */
static bool add_pax(
    stk__heap *heap, stk__tar_text *blocks, stk_view name, stk_view records, uint64_t mtime)
{
    const char *slash = memrchr(name.data, '/', name.size);
    stk_view base = name;
    char title[STK__TAR_NAME_BYTES + 1];
    int size;

    if (slash != NULL)
        base = (stk_view){slash + 1, (size_t)((const char *)name.data + name.size - slash - 1)};
    size = snprintf(title, sizeof title, "PaxHeaders/%.*s", (int)stk__size_min(base.size, 80),
        (const char *)base.data); /* fits: 91 bytes at most */
    return add_block(heap, blocks,
               &(head){.name = {title, (size_t)size},
                   .size = records.size,
                   .mtime = mtime,
                   .type = 'x'}) &&
           stk__tar_text_add(heap, blocks, records) && add_padding(heap, blocks, records.size);
}

bool stk__tar_head_make(
    stk__heap *heap, stk__tar_text *blocks, stk_view name, uint64_t size_bytes, uint64_t mtime)
{
    size_t cut = find_cut(name);
    stk__tar_text records = {0};
    head h = {.name = name, .size = size_bytes, .mtime = mtime, .type = '0'};
    bool made;

    if (cut != 0 && cut != SIZE_MAX) {
        h.prefix = (stk_view){name.data, cut};
        h.name = (stk_view){(const char *)name.data + cut + 1, name.size - cut - 1};
    }
    if (size_bytes > LARGEST_OCTAL_SIZE)
        h.size = 0; /* the pax header has it: an octal number that is too large would be cut */
    made = make_records(heap, &records, name, cut == SIZE_MAX, size_bytes);
    if (made && records.size > 0)
        made = add_pax(heap, blocks, name, stk__tar_text_view(&records), mtime);
    made = made && add_block(heap, blocks, &h);
    stk__tar_text_fini(heap, &records);
    return made;
}
