/*
 * What programs read: one JSON document (RFC 8259) on standard output or in a file.
 *
 * JSON is UTF-8, names of files and samples need not be. A name that is no UTF-8 is written twice:
 * under its own name with U+FFFD for each bad byte, for people, and under NAME_base64 with the
 * exact bytes. Lone surrogates are never written.
 */
#ifndef OUT_JSON_H
#define OUT_JSON_H

#include <stdio.h>

#include <stoker/base.h>

enum { JSON_DEEPEST = 16 };

typedef struct json {
    FILE *file;
    unsigned depth;
    bool lines[JSON_DEEPEST]; /* each element of this level on a line of its own */
    bool first[JSON_DEEPEST];
} json;

void json_start(json *out, FILE *file);

/* `name` is NULL inside arrays and for the document itself. `lines`: one element a line. */
void json_object(json *out, const char *name, bool lines);
void json_array(json *out, const char *name, bool lines);
void json_end_object(json *out);
void json_end_array(json *out);

void json_view(json *out, const char *name, stk_view text);
void json_text(json *out, const char *name, const char *text); /* NULL: null */
void json_count(json *out, const char *name, uint64_t number);
void json_integer(json *out, const char *name, int64_t number);
void json_real(json *out, const char *name, double number); /* null if it is not finite */
void json_bool(json *out, const char *name, bool flag);

/* The members of an error, into an open object. */
void json_error(json *out, const stk_error *err);

/* {"error": {...}} on standard output. */
void json_failure(const stk_error *err);

#endif
