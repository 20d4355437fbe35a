/* What people read: see out_human.h. */
#include "out_human.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "cli.h"
#include "out_json.h"
#include "utf8.h"

void say(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (vfprintf(stdout, format, args) < 0)
        clearerr(stderr); /* the error flag of stdout stays: out_finish() tells */
    va_end(args);
}

void tell(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (vfprintf(stderr, format, args) < 0)
        clearerr(stderr); /* there is nowhere left to complain */
    va_end(args);
}

/* Is a character shown as it is? Controls of ASCII and Latin-1, and marks that reorder a line, are
 * not. */
static bool shown_plainly(uint32_t c)
{
    return c >= 0x20 && !(c >= 0x7f && c < 0xa0) && !(c >= 0x200e && c <= 0x200f) &&
           !(c >= 0x2028 && c <= 0x202e) && !(c >= 0x2066 && c <= 0x2069);
}

/* The length of what can be shown as it is at the start of text. */
static size_t plain_run(stk_view text)
{
    const uint8_t *p = text.data;
    size_t at = 0;

    while (at < text.size) {
        uint32_t c;
        size_t length = utf8_step(p + at, text.size - at, &c);

        if (length == 0 || !shown_plainly(c))
            break;
        at += length;
    }
    return at;
}

/* A failure is seen by out_finish(). */
static void put_escaped(FILE *file, stk_view text)
{
    const uint8_t *p = text.data;
    size_t at = 0;

    while (at < text.size && !ferror(file)) {
        size_t run = plain_run((stk_view){p + at, text.size - at});
        uint32_t c;
        size_t length;

        if (run > 0 && fwrite(p + at, 1, run, file) != run)
            return;
        at += run;
        if (at == text.size)
            return;
        length = utf8_step(p + at, text.size - at, &c);
        for (size_t end = at + (length > 0 ? length : 1); at < end; at++) {
            if (fprintf(file, "\\x%02x", p[at]) < 0)
                return;
        }
    }
}

size_t shown_width(stk_view text)
{
    const uint8_t *p = text.data;
    size_t left = text.size, width = 0;

    while (left > 0) {
        uint32_t c;
        size_t length = utf8_step(p, left, &c);
        bool plain = length > 0 && shown_plainly(c);

        length = length > 0 ? length : 1;
        width += plain ? 1 : 4 * length;
        p += length;
        left -= length;
    }
    return width;
}

void say_view(stk_view text)
{
    put_escaped(stdout, text);
}

void say_text(const char *text)
{
    put_escaped(stdout, (stk_view){text, strlen(text)});
}

void tell_view(stk_view text)
{
    put_escaped(stderr, text);
}

void tell_text(const char *text)
{
    put_escaped(stderr, (stk_view){text, strlen(text)});
}

int out_finish(int code)
{
    bool failed = fflush(stdout) != 0;
    int os_errno = errno;

    if (!failed && !ferror(stdout))
        return code;
    tell("stoker: standard output could not be written: %s\n",
        failed ? errno_text(os_errno) : "input/output error");
    return EXIT_MACHINE;
}

static bool machine_at_fault(int os_errno)
{
    switch (os_errno) {
    case ENOMEM:
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EROFS:
    case EMFILE:
    case ENFILE:
    case EIO:
        return true;
    default:
        return false;
    }
}

int exit_of(const stk_error *err)
{
    switch (err->status) {
    case STK_EINVAL:
    case STK_EEXIST:
    case STK_ESHAPE: /* the transforms asked for do not fit the pictures */
        return EXIT_USAGE;
    case STK_ENOMEM:
    case STK_EFORK:
    case STK_ECLOSED:
    case STK_EBUSY:
        return EXIT_MACHINE;
    case STK_ESOURCE:
        return err->stage == STK_STAGE_WRITE || machine_at_fault(err->os_errno) ? EXIT_MACHINE
                                                                                : EXIT_DATA;
    default:
        return EXIT_DATA;
    }
}

static int tell_error(const stk_error *err, const char *cure, bool as_json)
{
    char line[1536];

    stk_error_format(err, line, sizeof line);
    tell("stoker: ");
    tell_text(line);
    tell("\n");
    if (cure[0] != '\0')
        tell("  %s\n", cure);
    if (as_json)
        json_failure(err);
    return exit_of(err);
}

int fail(const stk_error *err, bool as_json)
{
    return tell_error(err, stk_error_cure(err), as_json);
}

int fail_plainly(const stk_error *err, bool as_json)
{
    return tell_error(err, "", as_json);
}

SAY_FORMAT(4, 0)

static void fill(
    stk_error *err, stk_status st, const char *source, const char *format, va_list args)
{
    size_t length = strlen(source);

    *err = (stk_error)STK_ERROR_INIT;
    err->status = st;
    if (vsnprintf(err->text, sizeof err->text, format, args) < 0)
        err->text[0] = '\0';
    if (length < sizeof err->source) {
        memcpy(err->source, source, length + 1);
    } else { /* the tail is what tells two files apart */
        memcpy(err->source, "...", 3);
        memcpy(err->source + 3, source + length - (sizeof err->source - 4), sizeof err->source - 3);
    }
}

stk_status error_make(stk_error *err, stk_status st, const char *source, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fill(err, st, source, format, args);
    va_end(args);
    return st;
}

stk_status error_os(stk_error *err, int os_errno, const char *source, const char *format, ...)
{
    va_list args;
    size_t used;

    va_start(args, format);
    fill(err, STK_ESOURCE, source, format, args);
    va_end(args);
    err->os_errno = os_errno;
    used = strlen(err->text);
    if (snprintf(err->text + used, sizeof err->text - used, ": %s", errno_text(os_errno)) < 0)
        err->text[used] = '\0';
    return STK_ESOURCE;
}

const char *errno_text(int os_errno)
{
    const char *text = strerrordesc_np(os_errno); /* never translated, safe in threads */

    return text != NULL ? text : "unknown system error";
}

shown count_text(uint64_t number)
{
    shown out;
    char digits[32];
    size_t count = 0, used = 0;

    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (count > 0) {
        out.text[used++] = digits[--count];
        if (count > 0 && count % 3 == 0)
            out.text[used++] = ',';
    }
    out.text[used] = '\0';
    return out;
}

shown real_text(double number, int fraction)
{
    shown out = {""};
    char rounded[64];
    size_t whole, used = 0;

    if (!isfinite(number) || number < 0 || number > 1e15)
        number = 0; /* rates of nothing in no time */
    if (snprintf(rounded, sizeof rounded, "%.*f", fraction, number) < 0)
        return out;
    whole = strcspn(rounded, ".");
    for (size_t i = 0; rounded[i] != '\0' && used + 2 < sizeof out.text; i++) {
        if (i > 0 && i < whole && (whole - i) % 3 == 0)
            out.text[used++] = ',';
        out.text[used++] = rounded[i];
    }
    out.text[used] = '\0';
    return out;
}

shown bytes_text(uint64_t size_bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    shown out;
    double number = (double)size_bytes;
    size_t unit = 0;

    while (number >= 999.5 && unit + 1 < COUNT_OF(units)) {
        number /= 1000;
        unit++;
    }
    if (snprintf(out.text, sizeof out.text, "%.*f %s", unit > 0 && number < 99.95 ? 1 : 0, number,
            units[unit]) < 0)
        out.text[0] = '\0';
    return out;
}

shown seconds_text(double seconds)
{
    shown out;
    int length;

    if (seconds < 0.001) {
        length = snprintf(out.text, sizeof out.text, "%.0f us", seconds * 1e6);
    } else if (seconds < 1) {
        length =
            snprintf(out.text, sizeof out.text, "%.*f ms", seconds < 0.1 ? 1 : 0, seconds * 1e3);
    } else if (seconds < 100) {
        length = snprintf(out.text, sizeof out.text, "%.1f s", seconds);
    } else {
        length = snprintf(out.text, sizeof out.text, "%.0f min %.0f s", floor(seconds / 60),
            floor(fmod(seconds, 60)));
    }
    if (length < 0)
        out.text[0] = '\0';
    return out;
}

const char *plural(uint64_t number)
{
    return number == 1 ? "" : "s";
}

void say_bar(double share, size_t width)
{
    size_t full = share > 0 ? (size_t)(share * (double)width + 0.5) : 0;

    for (size_t i = 0; i < width; i++)
        say("%s", i < full ? "#" : "-");
}
