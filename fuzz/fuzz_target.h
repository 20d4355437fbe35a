/* What every fuzz target is: see https://llvm.org/docs/LibFuzzer.html. */
#ifndef FUZZ_TARGET_H
#define FUZZ_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An invariant that does not hold ends the run, in builds without assertions, too. */
#define FUZZ_CHECK(condition) \
    do {                      \
        if (!(condition))     \
            abort();          \
    } while (0)

/* The input in a block of exactly its size, so that a sanitizer sees one byte too far. */
static inline uint8_t *fuzz_exact(const uint8_t *data, size_t size)
{
    uint8_t *exact = malloc(size > 0 ? size : 1);

    FUZZ_CHECK(exact != NULL);
    if (size > 0)
        memcpy(exact, data, size);
    return exact;
}

#endif
