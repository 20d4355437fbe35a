/*
 * What are these bytes? All magic numbers of the project's pictures, and no library.
 *
 * Bids are for the codec table; stk__sniff_other() names what no entry reads, so that an error can
 * say more than "unknown".
 */
#ifndef STK__SNIFF_H
#define STK__SNIFF_H

#include <stoker/base.h>

uint32_t stk__sniff_jpeg(stk_view encoded);
uint32_t stk__sniff_png(stk_view encoded);
uint32_t stk__sniff_webp(stk_view encoded);

typedef struct stk__looks {
    const char *name; /* "GIF", "HTML"; NULL: no idea */
    bool picture;
} stk__looks;

stk__looks stk__sniff_other(stk_view bytes);

#endif
