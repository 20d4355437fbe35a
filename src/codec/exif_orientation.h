/* The one thing of EXIF that matters here. */
#ifndef STK__EXIF_ORIENTATION_H
#define STK__EXIF_ORIENTATION_H

#include <stoker/base.h>

/*
 * Orientation that a TIFF structure tells ("II*\0" or "MM\0*" first): 1 to 8, and 1 whenever it has
 * none or makes no sense. "Exif\0\0" before it is stepped over.
 *
 * Source: EXIF 2.32, 4.6.4 (tag 0x0112); TIFF 6.0, section 2.
 */
uint32_t stk__exif_orientation(stk_view exif);

#endif
