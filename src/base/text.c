/* Text for people and programs: see text.h. */
#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void stk__text_put(stk__text *text, const char *format, ...)
{
    size_t room = text->needed < text->capacity ? text->capacity - text->needed : 0;
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(room > 0 ? text->data + text->needed : NULL, room, format, args);
    va_end(args);
    if (length > 0)
        text->needed += (size_t)length;
}

void stk__text_grouped(uint64_t number, char *text, size_t capacity)
{
    char digits[32];
    size_t count = 0, used = 0;

    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (count > 0 && used + 1 < capacity) {
        text[used++] = digits[--count];
        if (count > 0 && count % 3 == 0 && used + 1 < capacity)
            text[used++] = ',';
    }
    if (capacity > 0)
        text[used] = '\0';
}

void stk__text_bytes(uint64_t size_bytes, char *text, size_t capacity)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    stk__text out = {.data = text, .capacity = capacity};
    uint64_t whole = size_bytes, tenth = 0;
    size_t unit = 0;

    while (whole >= 1024 && unit + 1 < STK__COUNT_OF(units)) {
        tenth = whole % 1024 * 10 / 1024;
        whole /= 1024;
        unit++;
    }
    if (unit == 0 || whole >= 100)
        stk__text_put(&out, "%u %s", (unsigned)whole, units[unit]);
    else
        stk__text_put(&out, "%u.%u %s", (unsigned)whole, (unsigned)tenth, units[unit]);
}

/* The common ones by hand: strerror is neither free of the locale nor safe in threads everywhere.
 */
void stk__text_errno(int os_errno, char *text, size_t capacity)
{
    static const struct {
        int number;
        const char *text;
    } known[] = {
        {ENOENT, "no such file or folder"},
        {EACCES, "permission denied"},
        {EPERM, "operation not permitted"},
        {EISDIR, "it is a folder"},
        {ENOTDIR, "a part of the path is no folder"},
        {ENOSPC, "no space left on the disk"},
        {EDQUOT, "disk quota used up"},
        {EROFS, "the file system is read-only"},
        {EMFILE, "too many open files in this process"},
        {ENFILE, "too many open files in the system"},
        {EIO, "input/output error"},
        {EEXIST, "it exists already"},
        {ENOMEM, "out of memory"},
        {EFBIG, "file too large"},
        {ENAMETOOLONG, "name too long"},
        {ELOOP, "too many symbolic links"},
        {EAGAIN, "resource temporarily unavailable"},
    };

    stk__text out = {.data = text, .capacity = capacity};

    for (size_t i = 0; i < STK__COUNT_OF(known); i++) {
        if (known[i].number == os_errno) {
            stk__text_put(&out, "%s", known[i].text);
            return;
        }
    }
    stk__text_put(&out, "system error %d", os_errno);
}
