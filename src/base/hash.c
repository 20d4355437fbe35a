/* CRC-32C and fingerprints: see hash.h. */
#include "base/hash.h"

#include "base/bytes.h"
#include "base/philox.h"

/* One byte at a time by the reflected polynomial, two nibbles: 16 words instead of tables that must
 * be built by somebody. Headers and ends of files only: speed does not matter here. */
static const uint32_t nibble[16] = {
    0x00000000,
    0x105ec76f,
    0x20bd8ede,
    0x30e349b1,
    0x417b1dbc,
    0x5125dad3,
    0x61c69362,
    0x7198540d,
    0x82f63b78,
    0x92a8fc17,
    0xa24bb5a6,
    0xb21572c9,
    0xc38d26c4,
    0xd3d3e1ab,
    0xe330a81a,
    0xf36e6f75,
};

uint32_t stk__crc32c(uint32_t crc, const void *data, size_t size)
{
    const uint8_t *p = data;

    crc = ~crc;
    for (size_t i = 0; i < size; i++) {
        crc ^= p[i];
        crc = crc >> 4 ^ nibble[crc & 15];
        crc = crc >> 4 ^ nibble[crc & 15];
    }
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
