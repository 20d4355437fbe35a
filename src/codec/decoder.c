/*
 * A decoder: the bytes choose an entry of the table, whose state is made when it is first needed
 * and kept for the pictures that follow.
 */
#include "base/error.h"
#include "codec/codec_table.h"

struct stk__decoder {
    stk__heap *heap; /* set at creation; not ours */
    stk_limits limits;
    void *states[STK__CODEC_COUNT];
    size_t nth; /* entry of the picture that was begun */
    bool begun; /* and not read yet */
    stk_image_info info;
};

stk_status stk__decoder_new(
    stk__heap *heap, const stk_limits *limits, stk__decoder **decoder_out, stk_error *err)
{
    stk__decoder *decoder = stk__heap_zalloc(heap, 1, sizeof *decoder);

    if (decoder == NULL)
        return STK_FAIL(err, STK_ENOMEM, "no memory for a picture decoder");
    decoder->heap = heap;
    decoder->limits = limits != NULL ? *limits : (stk_limits)STK_LIMITS_INIT;
    *decoder_out = decoder;
    return STK_OK;
}

void stk__decoder_free(stk__decoder *decoder)
{
    if (decoder == NULL)
        return;
    for (size_t i = 0; i < STK__CODEC_COUNT; i++) {
        if (decoder->states[i] != NULL)
            stk__codecs[i]->close(decoder->states[i]);
    }
    stk__heap_free(decoder->heap, decoder, 1, sizeof *decoder);
}

stk_status stk__decoder_begin(
    stk__decoder *decoder, stk_view encoded, stk_image_info *info_out, stk_error *err)
{
    const stk__codec *codec;
    void **state;

    decoder->begun = false;
    STK_TRY(stk__codec_for(encoded, &decoder->nth, err));
    codec = stk__codecs[decoder->nth];
    state = &decoder->states[decoder->nth];
    if (*state == NULL)
        STK_TRY(codec->open(decoder->heap, &decoder->limits, state, err));
    decoder->info = (stk_image_info){.orientation = 1, .format = codec->name};
    STK_TRY(codec->begin(*state, encoded, &decoder->info, err));
    decoder->begun = true;
    *info_out = decoder->info;
    return STK_OK;
}

stk_status stk__decoder_read(stk__decoder *decoder, const stk_rect *crop, stk__pixels pixels,
    const stk__row_sink *sink, stk_error *err)
{
    const stk_image_info *info = &decoder->info;

    if (!decoder->begun)
        return STK_FAIL(err, STK_EINVAL, "a picture was read twice, or before it was begun");
    if (crop->width == 0 || crop->height == 0 || crop->left >= info->width ||
        crop->width > info->width - crop->left || crop->top >= info->height ||
        crop->height > info->height - crop->top)
        return STK_FAIL(err, STK_ESHAPE,
            "crop of %u x %u pixels at (%u, %u) does not lie in a picture of %u x %u", crop->width,
            crop->height, crop->left, crop->top, info->width, info->height);
    decoder->begun = false;
    return stk__codecs[decoder->nth]->read(decoder->states[decoder->nth], crop, pixels, sink, err);
}

/*
 * What one decoder holds after pictures of that size. The worst is a progressive JPEG in 4:4:4,
 * which lies in memory as coefficients of 16 bits, and an interlaced PNG, which lies there as
 * pixels of 4 bytes; baseline JPEG holds some rows only.
 */
size_t stk__decoder_scratch_bytes(uint32_t width, uint32_t height)
{
    size_t pixels = ((size_t)width + 15) / 16 * 16 * (((size_t)height + 15) / 16 * 16);

    return pixels * 6 + (size_t)width * 320 + ((size_t)512 << 10);
}
