/* PNG in a build without its library: recognised, so that the error can say what is missing. */
#include "codec/codec_table.h"
#include "codec/sniff.h"

const stk__codec stk__codec_png = {
    .name = "png",
    .missing = "png",
    .bid = stk__sniff_png,
};
