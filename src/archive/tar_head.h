/*
 * One header block of a tar archive: v7, ustar, GNU.
 *
 * Source: POSIX.1-2017, pax, "ustar Interchange Format"; GNU tar manual, "Basic Tar Format".
 */
#ifndef STK__TAR_HEAD_H
#define STK__TAR_HEAD_H

#include <stoker/base.h>

enum {
    STK__TAR_BLOCK = 512, /* bytes: of a header, and what data is padded to */
    STK__TAR_NAME_BYTES = 100,
    STK__TAR_PREFIX_BYTES = 155,
};

/* What a header says. Views lie in the block. */
typedef struct stk__tar_head {
    stk_view name;
    stk_view prefix; /* stands before the name with a slash between; empty where there is none */
    stk_view link;
    stk_view size; /* the field as it is: members without data often have nonsense there */
    uint8_t type;
} stk__tar_head;

/* Does the checksum fit, by unsigned or by signed bytes? A block of zeros does not. */
bool stk__tar_head_valid(const uint8_t *block);

/* What the bytes add up to, and whether the block at least claims to be ustar: for messages. */
uint32_t stk__tar_head_sum(const uint8_t *block);
bool stk__tar_head_has_magic(const uint8_t *block);

/* Take a valid header apart. */
void stk__tar_head_read(const uint8_t *block, stk__tar_head *head_out);

/* Are these bytes all zero? */
bool stk__tar_is_zero(const uint8_t *bytes, size_t size);

#endif
