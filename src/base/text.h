/* Text for people and programs, whatever the locale: bounded appending, numbers, system errors. */
#ifndef STK__TEXT_H
#define STK__TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* A line that is being written: never past capacity, always NUL-terminated if that is not 0. */
typedef struct stk__text {
    char *data;
    size_t capacity;
    size_t needed; /* bytes that the whole text needs, without its NUL */
} stk__text;

void stk__text_put(stk__text *text, const char *format, ...) STK__PRINTF(2, 3);

/* 8241664 as "8,241,664". capacity of 32 is always enough. */
void stk__text_grouped(uint64_t number, char *text, size_t capacity);

/* 1536 as "1.5 KiB". capacity of 32 is always enough. */
void stk__text_bytes(uint64_t size_bytes, char *text, size_t capacity);

/* "No such file or directory", in English, from any thread. */
void stk__text_errno(int os_errno, char *text, size_t capacity);

#endif
