/* .npy: a header that is taken has as many bytes behind it as it says, and all of them come out. */
#include <stoker/codec.h>

#include "fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *exact = fuzz_exact(data, size);
    stk_error err = STK_ERROR_INIT;
    stk_npy_info info;
    stk_status st = stk_npy_probe((stk_view){exact, size}, NULL, &info, &err);

    if (st == STK_OK) {
        uint64_t count = 1;
        size_t bytes = (size_t)info.count * stk_dtype_bytes(info.dtype);
        uint8_t *elements = malloc(bytes > 0 ? bytes : 1);

        FUZZ_CHECK(elements != NULL && info.ndim <= 8);
        FUZZ_CHECK(info.data_bytes <= size && bytes <= size - info.data_bytes);
        for (uint32_t i = 0; i < info.ndim && info.count > 0; i++)
            count *= info.shape[i];
        FUZZ_CHECK(info.count == 0 || count == info.count);
        FUZZ_CHECK(stk_npy_read((stk_view){exact, size}, NULL, (stk_span){elements, bytes}, &err) ==
                   STK_OK);
        free(elements);
    } else {
        FUZZ_CHECK(st == STK_ECORRUPT || st == STK_ENOTSUP || st == STK_ELIMIT);
        FUZZ_CHECK(err.text[0] != '\0' && err.has_offset && err.offset <= size);
    }
    free(exact);
    return 0;
}
