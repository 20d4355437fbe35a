/*
 * What people read: standard output and standard error, numbers with units, errors with their cure.
 *
 * Names of files and samples are bytes of strangers: control characters in them, and what is no
 * UTF-8, are shown as \xNN, so that no name can move the cursor or forge a line. Programs that need
 * the exact bytes ask for --json.
 */
#ifndef OUT_HUMAN_H
#define OUT_HUMAN_H

#include <stdio.h>

#include <stoker/base.h>

#define SAY_FORMAT(a, b) __attribute__((format(printf, a, b)))

/* To standard output, to standard error. A failure is seen by out_finish(). */
void say(const char *format, ...) SAY_FORMAT(1, 2);
void tell(const char *format, ...) SAY_FORMAT(1, 2);

/* A name, escaped. */
void say_view(stk_view text);
void say_text(const char *text);
void tell_view(stk_view text);
void tell_text(const char *text);

/* Columns that a name takes when shown so. */
size_t shown_width(stk_view text);

/* Write out what is buffered. @return `code`, or EXIT_MACHINE when the output could not be written.
 */
int out_finish(int code);

/* The exit status that a failure stands for. */
int exit_of(const stk_error *err);

/* Say an error: one line with its place, one with what to do about it; with `as_json` also as an
 * object on standard output. @return exit_of(err). */
int fail(const stk_error *err, bool as_json);

/* The same without the second line, where what to do is in the text. */
int fail_plainly(const stk_error *err, bool as_json);

/* Describe a failure of the command itself. @return st. */
stk_status error_make(stk_error *err, stk_status st, const char *source, const char *format, ...)
    SAY_FORMAT(4, 5);

/* The same with the cause that errno gives. */
stk_status error_os(stk_error *err, int os_errno, const char *source, const char *format, ...)
    SAY_FORMAT(4, 5);

/* A number as text, in the struct itself: count(8241664).text is "8,241,664". */
typedef struct shown {
    char text[32];
} shown;

shown count_text(uint64_t number);            /* 8,241,664 */
shown bytes_text(uint64_t size_bytes);        /* 55.1 kB, powers of 1000 */
shown seconds_text(double seconds);           /* 85 ms, 12.3 s, 2 min 5 s */
shown real_text(double number, int fraction); /* 1,234.5 */

/* "s" unless the number is 1. */
const char *plural(uint64_t number);

/* The sentence for an errno, in English. */
const char *errno_text(int os_errno);

/* A bar of `width` columns, `share` of them full. */
void say_bar(double share, size_t width);

#endif
