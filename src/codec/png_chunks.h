/*
 * Chunks of a PNG, without a library.
 *
 * The decoder is fed the critical chunks alone. Side chunks (texts, profiles, times, transparency
 * keys) are stepped over unread: a damaged or hostile one costs nothing and spoils nothing.
 *
 * Source: W3C PNG, third edition, 5.3 and 5.4.
 */
#ifndef STK__PNG_CHUNKS_H
#define STK__PNG_CHUNKS_H

#include <stoker/base.h>

/* What a walk over all chunks finds, as far as they go. */
typedef struct stk__png_survey {
    uint64_t data_bytes;  /* of all IDAT chunks, as far as they are there */
    uint32_t orientation; /* of eXIf; 1 without one */
} stk__png_survey;

stk__png_survey stk__png_walk(stk_view encoded);

/* A place in the stream of signature and critical chunks. Start: {encoded}. */
typedef struct stk__png_stream {
    stk_view encoded;
    size_t at;         /* next byte */
    size_t left_bytes; /* of the chunk, or of the signature, that `at` stands in */
} stk__png_stream;

/* Copy the next bytes of the stream. false: the file ends first. */
bool stk__png_stream_read(stk__png_stream *stream, uint8_t *to, size_t size_bytes);

#endif
