/* The reader's insides, shared by tar_open.c and tar_read.c. */
#ifndef STK__TAR_INT_H
#define STK__TAR_INT_H

#include "archive/pax.h"
#include "archive/tar_head.h"
#include "archive/tar_links.h"
#include "archive/tar_read.h"
#include "archive/tar_text.h"

typedef enum stk__tar_state {
    STK__TAR_READING,
    STK__TAR_ENDED,
    STK__TAR_FAILED,
} stk__tar_state;

struct stk_tar {
    stk__heap *heap;     /* set at creation: own_heap, or the caller's */
    stk__heap own_heap;  /* of a reader made by stk_tar_open() */
    stk__file own_file;  /* the same */
    stk__file read_from; /* of a reader over a file: borrowed, or own_file */
    char *path;
    size_t path_size; /* without its NUL */
    bool data, concatenated;
    stk_limits limits;

    stk__tar_window window;
    uint64_t next; /* offset of the header to read next */
    stk__tar_state state;
    stk_error failure; /* of a failed reader: told again by every later call */
    stk_tar_notes notes;

    /* What extended headers said about the member to come. */
    bool extended;            /* there was one: what follows is not empty */
    uint64_t extended_offset; /* of the first of them */
    bool has_long_name, has_long_link;
    stk__tar_text long_name, long_link; /* GNU's L and K */
    stk__pax local, global;

    stk__tar_text name, link; /* of the member handed out, where they are no view of the window */
    stk__tar_links links;
};

/* Why is this no tar archive? Records the failure and returns its status. */
stk_status stk__tar_refuse(const uint8_t *bytes, size_t size, uint64_t offset, stk_error *err);

#endif
