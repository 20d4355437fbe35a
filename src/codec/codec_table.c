/* The table of picture formats: see codec_table.h. */
#include "codec/codec_table.h"

#include "base/error.h"
#include "codec/sniff.h"

const stk__codec *const stk__codecs[STK__CODEC_COUNT] = {
    &stk__codec_jpeg,
    &stk__codec_png,
    &stk__codec_webp,
};

/* No entry wants it: say by name what it is. */
static stk_status refuse(stk_view encoded, stk_error *err)
{
    stk__looks looks = stk__sniff_other(encoded);

    if (encoded.size == 0)
        return STK_FAIL_AT(err, STK_ECORRUPT, 0, "not a picture (no bytes at all)");
    if (looks.name == NULL)
        return STK_FAIL_AT(err, STK_ECORRUPT, 0, "not a picture (none of the known formats)");
    if (looks.picture)
        return STK_FAIL_AT(
            err, STK_ENOTSUP, 0, "%s picture; this version does not read that format", looks.name);
    return STK_FAIL_AT(err, STK_ECORRUPT, 0, "not a picture (looks like %s)", looks.name);
}

stk_status stk__codec_for(stk_view encoded, size_t *nth_out, stk_error *err)
{
    uint32_t best = 0;
    size_t nth = 0;

    for (size_t i = 0; i < STK__CODEC_COUNT; i++) {
        uint32_t bid = stk__codecs[i]->bid(encoded);

        if (bid > best) {
            best = bid;
            nth = i;
        }
    }
    if (best == 0)
        return refuse(encoded, err);
    if (stk__codecs[nth]->missing != NULL)
        return STK_FAIL_AT(err, STK_ENOTSUP, 0, "%s picture; this build lacks it (Meson option %s)",
            stk__codecs[nth]->name, stk__codecs[nth]->missing);
    *nth_out = nth;
    return STK_OK;
}
