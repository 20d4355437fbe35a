/* What tests want to know of the JPEG entry of the codec table. */
#ifndef STK__JPEG_TURBO_H
#define STK__JPEG_TURBO_H

#include <stdint.h>

/* Pictures whose coefficients our own decoder gave, and those of them that the library had to
 * decode anew. */
typedef struct stk__jpeg_counts {
    uint64_t ours, anew;
} stk__jpeg_counts;

/* Of a state that stk__codec_jpeg.open() made. */
stk__jpeg_counts stk__jpeg_counted(const void *state);

#endif
