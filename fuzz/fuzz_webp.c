/* WebP: see fuzz_picture.h. Input of another format is decoded by its own entry, or refused. */
#include "fuzz_picture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_picture(data, size);
    return 0;
}
