/* Numbers in files, byte by byte: any alignment, any machine. */
#ifndef STK__BYTES_H
#define STK__BYTES_H

#include <stdint.h>

static inline uint16_t stk__get_le16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t stk__get_le32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t stk__get_le64(const uint8_t *p)
{
    return stk__get_le32(p) | (uint64_t)stk__get_le32(p + 4) << 32;
}

static inline uint16_t stk__get_be16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t stk__get_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
}

static inline uint64_t stk__get_be64(const uint8_t *p)
{
    return (uint64_t)stk__get_be32(p) << 32 | stk__get_be32(p + 4);
}

static inline void stk__put_le32(uint8_t *p, uint32_t x)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(x >> (8 * i));
}

static inline void stk__put_le64(uint8_t *p, uint64_t x)
{
    for (int i = 0; i < 8; i++)
        p[i] = (uint8_t)(x >> (8 * i));
}

#endif
