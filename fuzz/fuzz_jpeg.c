/*
 * JPEG: see fuzz_picture.h. Besides, our own Huffman decoder gives what the library gives: a fill
 * byte before the first marker is legal, changes nothing, and keeps the former from the picture.
 */
#include "fuzz_picture.h"

/* Status of the first rows of a picture, and their pixels. */
static stk_status decode_top(stk__heap *heap, stk_view encoded, fuzz_rows *out)
{
    stk_limits limits = STK_LIMITS_INIT;
    stk__decoder *decoder = NULL;
    stk_error err = STK_ERROR_INIT;
    stk_image_info info;
    stk_status st;

    *out = (fuzz_rows){0};
    limits.max_pixels = 1u << 18;
    limits.max_scans = 20;
    FUZZ_CHECK(stk__decoder_new(heap, &limits, &decoder, &err) == STK_OK);
    st = stk__decoder_begin(decoder, encoded, &info, &err);
    if (st == STK_OK) {
        stk_rect top = {.width = info.width, .height = (info.height + 1) / 2};

        st = fuzz_decode(decoder, encoded, &top, STK__RGB8, out, &err);
    }
    stk__decoder_free(decoder);
    return st;
}

static void check_twin(const uint8_t *data, size_t size)
{
    stk__heap heap = {0};
    uint8_t *exact = fuzz_exact(data, size), *twin = malloc(size + 1);
    fuzz_rows ours, theirs;
    stk_status st;

    FUZZ_CHECK(twin != NULL);
    memcpy(twin, data, 2);
    twin[2] = 0xff;
    memcpy(twin + 3, data + 2, size - 2);
    st = decode_top(&heap, (stk_view){exact, size}, &ours);
    FUZZ_CHECK(decode_top(&heap, (stk_view){twin, size + 1}, &theirs) == st);
    if (st == STK_OK)
        FUZZ_CHECK(memcmp(ours.data, theirs.data, ours.row_bytes * ours.height) == 0);
    free(ours.data);
    free(theirs.data);
    free(exact);
    free(twin);
    FUZZ_CHECK(stk__load_relaxed_u64(&heap.used_bytes) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_picture(data, size);
    if (size > 8 && data[0] == 0xff && data[1] == 0xd8 && data[2] == 0xff)
        check_twin(data, size - 4);
    return 0;
}
