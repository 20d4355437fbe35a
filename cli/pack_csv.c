/*
 * A CSV of paths and labels (RFC 4180): the first row names the columns path, label, key; path is
 * needed, others are told and left out. Fields may be quoted; a quote in them is doubled; lines end
 * in LF or CRLF; a byte order mark is stepped over. Every error names the line and the byte.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "out_human.h"
#include "pack.h"

enum { MOST_COLUMNS = 4096 };

typedef struct csv {
    pack_job *job;
    const char *path;
    const char *text;
    size_t size, at;
    uint64_t line;     /* of `at`, from 1 */
    uint64_t row_line; /* where the row in hand begins */
    size_t row_at;
    const char **cells;
    size_t count, capacity;
    size_t columns;                               /* of the first row */
    size_t path_column, label_column, key_column; /* SIZE_MAX: there is none */
} csv;

static stk_status refuse(const csv *c, size_t at, stk_error *err, const char *text)
{
    stk_status st =
        error_make(err, STK_ECORRUPT, c->path, "line %llu: %s", (unsigned long long)c->line, text);

    err->has_offset = true;
    err->offset = at;
    return st;
}

/* Where a quoted cell ends: its closing quote; SIZE_MAX if there is none. */
static size_t closing_quote(const csv *c)
{
    for (size_t at = c->at + 1; at < c->size; at++) {
        if (c->text[at] != '"')
            continue;
        if (at + 1 >= c->size || c->text[at + 1] != '"')
            return at;
        at++; /* a doubled one stands for itself */
    }
    return SIZE_MAX;
}

/* A quoted cell, `at` on its first quote. */
static stk_status read_quoted(csv *c, stk_view *cell_out, stk_error *err)
{
    size_t end = closing_quote(c), used = 0;
    char *out;

    if (end == SIZE_MAX)
        return refuse(c, c->at, err, "a quote that is never closed");
    out = memory_get(NULL, end - c->at, 1);
    for (c->at++; c->at < end; c->at++) {
        c->at += c->text[c->at] == '"'; /* the first of two */
        c->line += c->text[c->at] == '\n';
        out[used++] = c->text[c->at];
    }
    c->at = end + 1;
    cell_out->data = pack_keep(c->job, (stk_view){out, used});
    cell_out->size = used;
    free(out);
    if (c->at < c->size && strchr(",\r\n", c->text[c->at]) == NULL)
        return refuse(c, c->at, err, "text after a closing quote");
    return STK_OK;
}

static stk_status read_cell(csv *c, stk_view *cell_out, stk_error *err)
{
    size_t begin = c->at;

    if (c->at < c->size && c->text[c->at] == '"')
        return read_quoted(c, cell_out, err);
    while (c->at < c->size && strchr(",\r\n", c->text[c->at]) == NULL) {
        if (c->text[c->at] == '"')
            return refuse(c, c->at, err, "a quote inside an unquoted field");
        c->at++;
    }
    cell_out->data = pack_keep(c->job, (stk_view){c->text + begin, c->at - begin});
    cell_out->size = c->at - begin;
    return STK_OK;
}

static stk_status end_line(csv *c, stk_error *err)
{
    if (c->at < c->size && c->text[c->at] == '\r') {
        c->at++;
        if (c->at < c->size && c->text[c->at] != '\n')
            return refuse(c, c->at, err, "a carriage return without a line feed");
    }
    if (c->at < c->size)
        c->at++;
    c->line++;
    return STK_OK;
}

/* The next row into c->cells. @return STK_END after the last. */
static stk_status read_row(csv *c, stk_error *err)
{
    stk_view cell = {NULL, 0};
    stk_status st;

    c->count = 0;
    c->row_line = c->line;
    c->row_at = c->at;
    if (c->at >= c->size)
        return STK_END;
    for (;;) {
        st = read_cell(c, &cell, err);
        if (st < 0)
            return st;
        c->cells =
            (const char **)memory_more((void *)c->cells, c->count, &c->capacity, sizeof *c->cells);
        c->cells[c->count++] = cell.data;
        if (c->count > MOST_COLUMNS)
            return refuse(c, c->row_at, err, "more columns than any table has");
        if (c->at >= c->size || c->text[c->at] != ',')
            return end_line(c, err);
        c->at++;
    }
}

static stk_status read_head(csv *c, stk_error *err)
{
    stk_status st = read_row(c, err);

    if (st != STK_OK)
        return st;
    c->columns = c->count;
    c->path_column = c->label_column = c->key_column = SIZE_MAX;
    for (size_t i = 0; i < c->count; i++) {
        size_t *column = strcmp(c->cells[i], "path") == 0    ? &c->path_column
                         : strcmp(c->cells[i], "label") == 0 ? &c->label_column
                         : strcmp(c->cells[i], "key") == 0   ? &c->key_column
                                                             : NULL;

        if (column != NULL && *column != SIZE_MAX) {
            return error_make(
                err, STK_ECORRUPT, c->path, "line 1: column %s stands there twice", c->cells[i]);
        }
        if (column != NULL) {
            *column = i;
        } else if (!c->job->s.quiet) {
            tell("stoker pack: column '");
            tell_text(c->cells[i]);
            tell("' of ");
            tell_text(c->path);
            tell(" is left out; path, label and key are taken\n");
        }
    }
    if (c->path_column == SIZE_MAX) {
        return error_make(err, STK_ECORRUPT, c->path,
            "line 1: no column is named path; the first row names the columns");
    }
    return STK_OK;
}

static stk_status at_row(const csv *c, stk_status st, stk_error *err)
{
    char text[sizeof err->text];

    if (st >= 0 || err->source[0] == '\0')
        return st;
    memcpy(text, err->text, sizeof text);
    if (snprintf(err->text, sizeof err->text, "%.160s, in line %llu of %.60s", text,
            (unsigned long long)c->row_line, c->path) < 0)
        memcpy(err->text, text, sizeof text);
    return st;
}

static stk_status take_row(csv *c, uint32_t source, stk_error *err)
{
    const char *label = c->label_column < c->count ? c->cells[c->label_column] : NULL;
    const char *key;

    if (c->count == 1 && c->cells[0][0] == '\0')
        return STK_OK;     /* an empty line */
    c->line = c->row_line; /* what is wrong is wrong with this row */
    if (c->count != c->columns) {
        char text[96];

        if (snprintf(text, sizeof text, "%zu fields, where the first row has %zu", c->count,
                c->columns) < 0)
            text[0] = '\0';
        return refuse(c, c->row_at, err, text);
    }
    if (c->cells[c->path_column][0] == '\0')
        return refuse(c, c->row_at, err, "the path is empty");
    if (label != NULL && label[0] == '\0')
        return refuse(c, c->row_at, err, "the label is empty");
    key = c->key_column == SIZE_MAX ? NULL : c->cells[c->key_column];
    if (key != NULL &&
        (key[0] == '\0' || key[0] == '/' || key[strlen(key) - 1] == '/' ||
            strchr(strrchr(key, '/') == NULL ? key : strrchr(key, '/'), '.') != NULL)) {
        return refuse(c, c->row_at, err,
            "the key is empty, begins or ends with a slash, or has a dot in its last part");
    }
    if (c->job->s.labels == LABELS_NONE)
        label = NULL;
    return at_row(c,
        pack_add_listed(c->job, c->path, c->cells[c->path_column], key, label, source, err), err);
}

stk_status pack_csv(pack_job *job, const char *path, uint32_t source, stk_error *err)
{
    csv c = {.job = job, .path = path, .line = 1};
    stk_view text;
    stk_status st = pack_read_text(job, path, &text, err);

    if (st < 0)
        return st;
    c.text = text.data;
    c.size = text.size;
    if (memchr(c.text, '\0', c.size) != NULL)
        return error_make(err, STK_ECORRUPT, path, "a table has no NUL bytes");
    job->labels_of_csv = true;
    if (c.size >= 3 && memcmp(c.text, "\xef\xbb\xbf", 3) == 0)
        c.at = 3;
    st = read_head(&c, err);
    if (st == STK_END)
        st = error_make(err, STK_ECORRUPT, path, "the table is empty");
    while (st == STK_OK) {
        uint64_t next_line;

        st = read_row(&c, err);
        if (st != STK_OK)
            break;
        next_line = c.line;
        st = take_row(&c, source, err);
        c.line = next_line;
    }
    free((void *)c.cells);
    return st == STK_END ? STK_OK : st;
}
