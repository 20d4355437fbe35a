/*
 * Decoders of pictures inside the engine.
 *
 * A stk__decoder belongs to one thread and is used for one picture after another: begin reads the
 * header, read gives the rows of a crop. It keeps the memory that libraries ask for, so that steady
 * state allocates nothing. Formats are entries of a table (codec_table.c); an entry of a library
 * that is not built has no functions and names its Meson option.
 */
#ifndef STK__CODEC_H
#define STK__CODEC_H

#include <stoker/codec.h>

#include "base/heap.h"

/* Bytes of a pixel that decoders hand out: RGB, and RGBX whose fourth byte is unspecified. */
typedef enum stk__pixels {
    STK__RGB8 = 3,
    STK__RGBX8 = 4,
} stk__pixels;

/*
 * Where decoded rows go: top to bottom, each once, in strips of one row and more; pixel 0 of a row
 * is the crop's left edge. The memory is the decoder's and valid during the call. A failure of
 * `rows` ends the decoding and is handed on as it is.
 */
typedef struct stk__row_sink {
    void *ctx;
    stk_status (*rows)(
        void *ctx, const uint8_t *pixels, size_t pitch_bytes, uint32_t count, stk_error *err);
} stk__row_sink;

typedef struct stk__decoder stk__decoder;

/* heap: counted against and kept, must outlive the decoder. limits: NULL for the defaults; copied.
 */
STK_MUST_CHECK stk_status stk__decoder_new(
    stk__heap *heap, const stk_limits *limits, stk__decoder **decoder_out, stk_error *err);
void stk__decoder_free(stk__decoder *decoder);

/* Recognise the format by its bytes and read the header. `encoded` is kept until the next begin and
 * must stay valid as long. Statuses as stk_image_probe(). */
STK_MUST_CHECK stk_status stk__decoder_begin(
    stk__decoder *decoder, stk_view encoded, stk_image_info *info_out, stk_error *err);

/* Rows of `crop` (inside the picture) of what begin was given; once for each begin. Statuses as
 * stk_image_decode(). A picture that is cut short is STK_ECORRUPT, even where the crop itself is
 * whole. */
STK_MUST_CHECK stk_status stk__decoder_read(stk__decoder *decoder, const stk_rect *crop,
    stk__pixels pixels, const stk__row_sink *sink, stk_error *err);

/* Memory that a decoder holds for pictures of up to width x height, by and large: for the plan. */
size_t stk__decoder_scratch_bytes(uint32_t width, uint32_t height);

#endif
