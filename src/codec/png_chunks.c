/* Chunks of a PNG, without a library: see png_chunks.h. */
#include "codec/png_chunks.h"

#include <string.h>

#include "base/bytes.h"
#include "base/size.h"
#include "codec/exif_orientation.h"

enum {
    SIGNATURE_BYTES = 8,
    HEAD_BYTES = 8, /* length and name */
    CRC_BYTES = 4,
};

/* One chunk at a time; false at the end of what is there. */
typedef struct chunk {
    const uint8_t *name;
    stk_view data;      /* as far as it is there */
    size_t whole_bytes; /* with head and CRC, whether there or not */
} chunk;

static bool chunk_at(stk_view encoded, size_t at, chunk *out)
{
    const uint8_t *head = (const uint8_t *)encoded.data + at;
    size_t left = encoded.size - at;
    size_t length;

    if (left < HEAD_BYTES)
        return false;
    length = stk__get_be32(head);
    *out = (chunk){
        .name = head + 4,
        .data = {head + HEAD_BYTES, stk__size_min(length, left - HEAD_BYTES)},
        .whole_bytes = HEAD_BYTES + length + CRC_BYTES,
    };
    return true;
}

stk__png_survey stk__png_walk(stk_view encoded)
{
    stk__png_survey survey = {.orientation = 1};
    size_t at = SIGNATURE_BYTES;
    chunk c;

    while (at < encoded.size && chunk_at(encoded, at, &c)) {
        if (memcmp(c.name, "IDAT", 4) == 0)
            survey.data_bytes += c.data.size;
        else if (memcmp(c.name, "eXIf", 4) == 0 && survey.orientation == 1)
            survey.orientation = stk__exif_orientation(c.data);
        else if (memcmp(c.name, "IEND", 4) == 0)
            break;
        if (c.whole_bytes > encoded.size - at)
            break;
        at += c.whole_bytes;
    }
    return survey;
}

/* Side chunks have a small first letter. What is no letter is left to the decoder to refuse. */
static bool is_side_chunk(const uint8_t *name)
{
    return name[0] >= 'a' && name[0] <= 'z';
}

/* Come to the next chunk that matters. */
static bool next_chunk(stk__png_stream *stream)
{
    chunk c;

    if (stream->at == 0) {
        stream->left_bytes = SIGNATURE_BYTES;
        return true;
    }
    while (chunk_at(stream->encoded, stream->at, &c)) {
        if (!is_side_chunk(c.name)) {
            stream->left_bytes = c.whole_bytes;
            return true;
        }
        if (c.whole_bytes > stream->encoded.size - stream->at)
            break;
        stream->at += c.whole_bytes;
    }
    stream->at = stream->encoded.size;
    return false;
}

bool stk__png_stream_read(stk__png_stream *stream, uint8_t *to, size_t size_bytes)
{
    while (size_bytes > 0) {
        size_t piece;

        if (stream->left_bytes == 0 && !next_chunk(stream))
            return false;
        piece = stk__size_min(size_bytes, stream->left_bytes);
        if (piece > stream->encoded.size - stream->at) {
            stream->at = stream->encoded.size;
            return false;
        }
        memcpy(to, (const uint8_t *)stream->encoded.data + stream->at, piece);
        to += piece;
        size_bytes -= piece;
        stream->at += piece;
        stream->left_bytes -= piece;
    }
    return true;
}
