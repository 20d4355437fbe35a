/* One header block: see tar_head.h. */
#include "archive/tar_head.h"

#include <string.h>

#include "archive/tar_number.h"

/* Where fields stand in the block. */
enum {
    SIZE_AT = 124,
    SIZE_BYTES = 12,
    SUM_AT = 148,
    SUM_BYTES = 8,
    TYPE_AT = 156,
    LINK_AT = 157,
    MAGIC_AT = 257,
    PREFIX_AT = 345,
};

/*
 * All bytes, with the checksum field counted as spaces.
 *
 * Even and odd bytes are added in lanes of 16 bits: 64 words of at most 2 * 255 each do not fill
 * one, and a compiler turns the loop into a few wide additions.
 */
uint32_t stk__tar_head_sum(const uint8_t *block)
{
    const uint64_t even = 0x00ff00ff00ff00ffu;
    uint64_t lanes = 0;
    uint32_t sum;

    for (size_t i = 0; i < STK__TAR_BLOCK; i += 8) {
        uint64_t word;

        memcpy(&word, block + i, sizeof word);
        lanes += (word & even) + (word >> 8 & even);
    }
    sum = (uint32_t)(lanes & 0xffff) + (uint32_t)(lanes >> 16 & 0xffff) +
          (uint32_t)(lanes >> 32 & 0xffff) + (uint32_t)(lanes >> 48);
    for (size_t i = 0; i < SUM_BYTES; i++)
        sum += (uint32_t)' ' - block[SUM_AT + i];
    return sum;
}

/* Old writers added signed bytes: each byte from 0x80 on counts 256 less. */
static uint32_t signed_sum(const uint8_t *block, uint32_t unsigned_sum)
{
    uint32_t high = 0;

    for (size_t i = 0; i < STK__TAR_BLOCK; i++) {
        if (i < SUM_AT || i >= SUM_AT + SUM_BYTES)
            high += block[i] >> 7;
    }
    return unsigned_sum - 256 * high;
}

bool stk__tar_head_valid(const uint8_t *block)
{
    uint64_t said;
    uint32_t sum;

    if (!stk__tar_number((stk_view){block + SUM_AT, SUM_BYTES}, &said))
        return false;
    sum = stk__tar_head_sum(block);
    return said == sum || (said <= UINT32_MAX && said == signed_sum(block, sum));
}

bool stk__tar_head_has_magic(const uint8_t *block)
{
    return memcmp(block + MAGIC_AT, "ustar", 5) == 0;
}

static stk_view text_at(const uint8_t *block, size_t at, size_t size)
{
    return (stk_view){block + at, strnlen((const char *)block + at, size)};
}

void stk__tar_head_read(const uint8_t *block, stk__tar_head *head_out)
{
    head_out->name = text_at(block, 0, STK__TAR_NAME_BYTES);
    head_out->link = text_at(block, LINK_AT, STK__TAR_NAME_BYTES);
    head_out->size = (stk_view){block + SIZE_AT, SIZE_BYTES};
    head_out->type = block[TYPE_AT];
    /* GNU's "ustar  " keeps times and sparse maps there, v7 whatever was in memory. */
    if (stk__tar_head_has_magic(block) && block[MAGIC_AT + 5] != ' ')
        head_out->prefix = text_at(block, PREFIX_AT, STK__TAR_PREFIX_BYTES);
    else
        head_out->prefix = (stk_view){block + PREFIX_AT, 0};
}

bool stk__tar_is_zero(const uint8_t *bytes, size_t size)
{
    uint64_t any = 0;
    size_t i = 0;

    if (size > 0 && bytes[0] != 0)
        return false;
    for (; i + 8 <= size; i += 8) {
        uint64_t word;

        memcpy(&word, bytes + i, sizeof word);
        any |= word;
    }
    for (; i < size; i++)
        any |= bytes[i];
    return any == 0;
}
