/*
 * JSON, and with it UTF-8 and integers: what is refused is so at a byte of the text, and stays so
 * when the text is cut right behind that byte. A text that is taken is taken again between blanks.
 */
#include <stoker/codec.h>

#include "fuzz_target.h"

static void check_json(const uint8_t *text, size_t size)
{
    stk_error err = STK_ERROR_INIT;
    stk_status st = stk_json_check((stk_view){text, size}, NULL, &err);
    bool plain = size > 0 && text[0] < 0x80 && memchr(text, 0, size) == NULL;

    if (st < 0) {
        FUZZ_CHECK(st == STK_ECORRUPT || st == STK_ELIMIT);
        FUZZ_CHECK(err.text[0] != '\0' && err.has_offset && err.offset <= size);
        if (plain && err.offset < size && st == STK_ECORRUPT) {
            stk_error again = STK_ERROR_INIT;
            uint8_t *cut = fuzz_exact(text, (size_t)err.offset + 1);

            FUZZ_CHECK(stk_json_check((stk_view){cut, (size_t)err.offset + 1}, NULL, &again) ==
                       STK_ECORRUPT);
            FUZZ_CHECK(again.offset == err.offset);
            free(cut);
        }
    } else if (plain) {
        uint8_t *wider = malloc(size + 2);

        FUZZ_CHECK(wider != NULL);
        wider[0] = '\n';
        memcpy(wider + 1, text, size);
        wider[size + 1] = ' ';
        FUZZ_CHECK(stk_json_check((stk_view){wider, size + 2}, NULL, NULL) == STK_OK);
        free(wider);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *text = fuzz_exact(data, size);
    stk_error err = STK_ERROR_INIT;
    int64_t number;

    check_json(text, size);
    if (stk_text_utf8((stk_view){text, size}, &err) < 0)
        FUZZ_CHECK(err.has_offset && err.offset < size);
    if (stk_text_integer((stk_view){text, size}, &number, &err) < 0)
        FUZZ_CHECK(err.has_offset && err.offset <= size && err.text[0] != '\0');
    free(text);
    return 0;
}
