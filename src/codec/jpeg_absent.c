/* JPEG in a build without its library: recognised, so that the error can say what is missing. */
#include "codec/codec_table.h"
#include "codec/sniff.h"

const stk__codec stk__codec_jpeg = {
    .name = "jpeg",
    .missing = "jpeg",
    .bid = stk__sniff_jpeg,
};
