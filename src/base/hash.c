/* CRC-32C and fingerprints: see hash.h. */
#include "base/hash.h"

#include "base/bytes.h"
#include "base/crc32c_table.h"
#include "base/philox.h"

uint32_t stk__crc32c(uint32_t crc, const void *data, size_t size)
{
    const uint32_t (*const table)[256] = stk__crc32c_table;
    const uint8_t *p = data;

    crc = ~crc;
    for (; size >= 8; size -= 8, p += 8) {
        uint32_t low = crc ^ stk__get_le32(p), high = stk__get_le32(p + 4);

        crc = table[7][low & 255] ^ table[6][low >> 8 & 255] ^ table[5][low >> 16 & 255] ^
              table[4][low >> 24] ^ table[3][high & 255] ^ table[2][high >> 8 & 255] ^
              table[1][high >> 16 & 255] ^ table[0][high >> 24];
    }
    for (; size > 0; size--, p++)
        crc = crc >> 8 ^ table[0][(crc ^ *p) & 255];
    return ~crc;
}

void stk__fingerprint_add_u64(stk__fingerprint *print, uint64_t number)
{
    uint64_t low, high;

    high = stk__mul_high(print->a ^ number ^ 0x9E3779B97F4A7C15u, 0xD2E7470EE14C6C93u, &low);
    print->a = print->b + stk__mix64(low ^ number);
    print->b = stk__mix64(high + print->a + 0xBB67AE8584CAA73Bu);
}

void stk__fingerprint_add(stk__fingerprint *print, const void *data, size_t size)
{
    const uint8_t *p = data;
    uint8_t tail[8] = {0};
    size_t i = 0;

    stk__fingerprint_add_u64(print, size);
    for (; i + 8 <= size; i += 8)
        stk__fingerprint_add_u64(print, stk__get_le64(p + i));
    if (i < size) {
        for (size_t k = 0; i + k < size; k++)
            tail[k] = p[i + k];
        stk__fingerprint_add_u64(print, stk__get_le64(tail));
    }
}
