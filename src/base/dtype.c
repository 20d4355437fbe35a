/* Names and sizes of element types: see <stoker/base.h>. */
#include <string.h>

#include <stoker/base.h>

size_t stk_dtype_bytes(stk_dtype dtype)
{
    switch (dtype) {
    case STK_DTYPE_NONE:
        break;
/* NOLINTBEGIN(bugprone-branch-clone): a line for each dtype, whatever it gives */
#define BYTES(number, name, text, code, bits) \
    case STK_##name:                          \
        return (bits) / 8;
        STK_DTYPE_LIST(BYTES)
#undef BYTES
        /* NOLINTEND(bugprone-branch-clone) */
    }
    return 0;
}

const char *stk_dtype_name(stk_dtype dtype)
{
    switch (dtype) {
    case STK_DTYPE_NONE:
        break;
#define NAME(number, name, text, code, bits) \
    case STK_##name:                         \
        return text;
        STK_DTYPE_LIST(NAME)
#undef NAME
    }
    return "?";
}

stk_dtype stk_dtype_of(const char *name)
{
#define OF(number, dtype, text, code, bits) \
    if (strcmp(name, text) == 0)            \
        return STK_##dtype;
    STK_DTYPE_LIST(OF)
#undef OF
    return STK_DTYPE_NONE;
}
