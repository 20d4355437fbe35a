/*
 * The table of picture formats.
 *
 * An entry is constant and holds no state; what a library needs from one picture to the next is a
 * `state` that its decoder owns. Entries know no file, shard or key: offsets count from the first
 * byte of the picture.
 */
#ifndef STK__CODEC_TABLE_H
#define STK__CODEC_TABLE_H

#include "codec/codec.h"

typedef struct stk__codec {
    const char *name;    /* "webp": in errors, stk_image_info.format and `stoker doctor` */
    const char *missing; /* NULL, or the build option without which the functions are NULL */

    /* How sure is it that these bytes are its own? 0: no, 100: certain. Looks at 64 at most. */
    uint32_t (*bid)(stk_view encoded);

    /* What the library keeps between pictures. heap and limits must outlive it. */
    stk_status (*open)(stk__heap *heap, const stk_limits *limits, void **state_out, stk_error *err);
    void (*close)(void *state); /* takes NULL */

    /* See stk__decoder_begin() and stk__decoder_read(). The crop of read was checked. */
    stk_status (*begin)(void *state, stk_view encoded, stk_image_info *info_out, stk_error *err);
    stk_status (*read)(void *state, const stk_rect *crop, stk__pixels pixels,
        const stk__row_sink *sink, stk_error *err);
} stk__codec;

/* jpeg_turbo.c or jpeg_absent.c, and so on: the build takes one of each pair. */
extern const stk__codec stk__codec_jpeg;
extern const stk__codec stk__codec_png;
extern const stk__codec stk__codec_webp;

enum { STK__CODEC_COUNT = 3 };

/* All entries, in the order of the table. */
extern const stk__codec *const stk__codecs[STK__CODEC_COUNT];

/* Index of the entry that reads these bytes. STK_ECORRUPT: not a picture, the text says what it
 * looks like. STK_ENOTSUP: a picture of a format that has no entry, or whose entry is not built. */
STK_MUST_CHECK stk_status stk__codec_for(stk_view encoded, size_t *nth_out, stk_error *err);

#endif
