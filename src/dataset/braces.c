/*
 * Brace patterns: see braces.h.
 *
 * A pattern becomes a small tree. A sequence has as many names as the product of its parts, a list
 * as many as their sum; the nth name is found by dividing n down the tree.
 */
#include "dataset/braces.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"

#define MOST_DEPTH  100u
#define MOST_DIGITS 18u

enum { NO_NODE = UINT32_MAX };

typedef enum kind { SEQUENCE, LIST, TEXT, NUMBERS, LETTERS } kind;

typedef struct node {
    kind kind;
    uint32_t child; /* SEQUENCE, LIST: the first of them, or NO_NODE */
    uint32_t next;  /* sibling, or NO_NODE */
    uint64_t count; /* names */
    stk_view text;  /* TEXT: with its backslashes */
    int64_t first, step;
    int width; /* NUMBERS: digits at least, the sign included */
} node;

struct stk__braces {
    stk__heap *heap; /* set at creation; so too pattern */
    const char *pattern;
    node *nodes; /* nodes[0] is the whole pattern */
    uint32_t used, capacity;
    uint32_t depth; /* while it is read */
};

static stk_status bad(const stk__braces *b, const char *what, stk_error *err)
{
    return STK_FAIL(err, STK_EINVAL, "%s: %s", what, b->pattern);
}

static stk_status too_many(const stk__braces *b, stk_error *err)
{
    return STK_FAIL(err, STK_ELIMIT, "the pattern stands for more than %u names: %s",
        STK__BRACES_MAX_NAMES, b->pattern);
}

static stk_status add(stk__braces *b, const node *from, uint32_t *at_out, stk_error *err)
{
    if (b->used == b->capacity) {
        uint32_t larger = b->capacity == 0 ? 16 : b->capacity * 2;
        node *grown = larger > NO_NODE / 4
                          ? NULL
                          : stk__heap_grow(b->heap, b->nodes, b->capacity, larger, sizeof *grown);

        if (grown == NULL)
            return STK_FAIL(err, STK_ENOMEM, "no memory for a brace pattern");
        b->nodes = grown;
        b->capacity = larger;
    }
    b->nodes[b->used] = *from;
    b->nodes[b->used].child = b->nodes[b->used].next = NO_NODE;
    *at_out = b->used++;
    return STK_OK;
}

/* Hang `child` behind the last child of `parent`, which `last` remembers. */
static void hang(stk__braces *b, uint32_t parent, uint32_t *last, uint32_t child)
{
    if (*last == NO_NODE)
        b->nodes[parent].child = child;
    else
        b->nodes[*last].next = child;
    *last = child;
}

/* End of the group that begins at text[0], its closing brace; SIZE_MAX if it has none. */
static size_t group_end(const char *text, size_t size)
{
    size_t depth = 0;

    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\\')
            i++;
        else if (text[i] == '{')
            depth++;
        else if (text[i] == '}' && --depth == 0)
            return i;
    }
    return SIZE_MAX;
}

/* Ranges. */

/* Reads -?[0-9]+ or [0-9]+; 0 bytes if there is none, SIZE_MAX if it is too long. */
static size_t read_number(const char *text, size_t size, int64_t *number_out)
{
    size_t sign = size > 0 && text[0] == '-' ? 1 : 0, i = sign;
    int64_t number = 0;

    for (; i < size && text[i] >= '0' && text[i] <= '9'; i++) {
        if (i - sign >= MOST_DIGITS)
            return SIZE_MAX;
        number = number * 10 + (text[i] - '0');
    }
    *number_out = sign ? -number : number;
    return i == sign ? 0 : i;
}

static bool has_dots(const char *text, size_t size, size_t at)
{
    return at + 2 <= size && text[at] == '.' && text[at + 1] == '.';
}

/* The rest of a range: "" or "..S". */
static bool read_step(const char *text, size_t size, size_t at, int64_t *step_out, bool *long_out)
{
    size_t length;

    *step_out = 1;
    if (at == size)
        return true;
    if (!has_dots(text, size, at))
        return false;
    length = read_number(text + at + 2, size - at - 2, step_out);
    *long_out = *long_out || length == SIZE_MAX;
    if (length == 0 || length == SIZE_MAX || at + 2 + length != size)
        return false;
    if (*step_out < 0)
        *step_out = -*step_out;
    if (*step_out == 0)
        *step_out = 1;
    return true;
}

static void set_range(node *n, int64_t first, int64_t last, int64_t step)
{
    uint64_t distance =
        first <= last ? (uint64_t)last - (uint64_t)first : (uint64_t)first - (uint64_t)last;

    n->first = first;
    n->step = first <= last ? step : -step;
    n->count = distance / (uint64_t)step + 1;
}

static bool pads(const char *number, size_t size)
{
    size_t sign = number[0] == '-' ? 1 : 0;

    return size > sign + 1 && number[sign] == '0';
}

static bool read_numbers(const char *text, size_t size, node *n, bool *long_out)
{
    int64_t first, last, step;
    size_t a = read_number(text, size, &first), b;

    *long_out = a == SIZE_MAX;
    if (a == 0 || a == SIZE_MAX || !has_dots(text, size, a))
        return false;
    b = read_number(text + a + 2, size - a - 2, &last);
    *long_out = b == SIZE_MAX;
    if (b == 0 || b == SIZE_MAX || !read_step(text, size, a + 2 + b, &step, long_out))
        return false;
    n->kind = NUMBERS;
    set_range(n, first, last, step);
    if (pads(text, a) || pads(text + a + 2, b))
        n->width = (int)stk__size_max(a, b);
    return true;
}

/* Place of a letter in A to Z, a to z; -1 if it is none. */
static int64_t letter_place(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    return c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}

static bool read_letters(const char *text, size_t size, node *n, bool *long_out)
{
    int64_t first, last, step;

    if (size < 4 || !has_dots(text, size, 1))
        return false;
    first = letter_place(text[0]);
    last = letter_place(text[3]);
    if (first < 0 || last < 0 || !read_step(text, size, 4, &step, long_out))
        return false;
    n->kind = LETTERS;
    set_range(n, first, last, step);
    return true;
}

/* Groups and sequences call each other. */
static stk_status read_sequence(
    stk__braces *b, const char *text, size_t size, uint32_t *at_out, stk_error *err);

static stk_status add_text(
    stk__braces *b, uint32_t parent, uint32_t *last, const char *text, size_t size, stk_error *err)
{
    uint32_t at;

    if (size == 0)
        return STK_OK;
    STK_TRY(add(b, &(node){.kind = TEXT, .count = 1, .text = {text, size}}, &at, err));
    hang(b, parent, last, at);
    return STK_OK;
}

/* The next comma of a list outside its inner groups, or the end. */
static size_t item_end(const char *text, size_t size)
{
    size_t depth = 0, i;

    for (i = 0; i < size; i++) {
        if (text[i] == '\\')
            i++;
        else if (text[i] == '{')
            depth++;
        else if (text[i] == '}')
            depth--;
        else if (text[i] == ',' && depth == 0)
            break;
    }
    return stk__size_min(i, size);
}

static stk_status read_list(
    stk__braces *b, const char *text, size_t size, uint32_t *at_out, stk_error *err)
{
    uint32_t list, item, last = NO_NODE;
    size_t at = 0;

    STK_TRY(add(b, &(node){.kind = LIST}, &list, err));
    for (;;) {
        size_t length = item_end(text + at, size - at);

        STK_TRY(read_sequence(b, text + at, length, &item, err));
        hang(b, list, &last, item);
        b->nodes[list].count += b->nodes[item].count;
        if (b->nodes[list].count > STK__BRACES_MAX_NAMES)
            return too_many(b, err);
        at += length;
        if (at >= size)
            break;
        at++; /* the comma */
    }
    *at_out = list;
    return STK_OK;
}

/* A group that is neither range nor list stands for itself, braces included; what is in it is still
 * read. */
static stk_status read_literal(
    stk__braces *b, const char *text, size_t size, uint32_t *at_out, stk_error *err)
{
    uint32_t whole, inner, last = NO_NODE;

    STK_TRY(add(b, &(node){.kind = SEQUENCE, .count = 1}, &whole, err));
    STK_TRY(add_text(b, whole, &last, text - 1, 1, err));
    STK_TRY(read_sequence(b, text, size, &inner, err));
    hang(b, whole, &last, inner);
    b->nodes[whole].count = b->nodes[inner].count;
    STK_TRY(add_text(b, whole, &last, text + size, 1, err));
    *at_out = whole;
    return STK_OK;
}

/* What stands between a pair of braces. */
static stk_status read_group(
    stk__braces *b, const char *text, size_t size, uint32_t *at_out, stk_error *err)
{
    node range = {0};
    bool too_long = false;

    if (read_numbers(text, size, &range, &too_long) ||
        (!too_long && read_letters(text, size, &range, &too_long))) {
        if (range.count > STK__BRACES_MAX_NAMES)
            return too_many(b, err);
        return add(b, &range, at_out, err);
    }
    if (too_long)
        return bad(b, "a number of more than 18 digits in the pattern", err);
    if (item_end(text, size) < size)
        return read_list(b, text, size, at_out, err);
    return read_literal(b, text, size, at_out, err);
}

static stk_status read_parts(
    stk__braces *b, const char *text, size_t size, uint32_t whole, stk_error *err)
{
    uint32_t part, last = NO_NODE;
    size_t start = 0, i = 0;

    while (i < size) {
        if (text[i] == '}')
            return bad(b, "unbalanced braces", err);
        if (text[i] == '{') {
            size_t end = group_end(text + i, size - i);

            if (end == SIZE_MAX)
                return bad(b, "unbalanced braces", err);
            STK_TRY(add_text(b, whole, &last, text + start, i - start, err));
            STK_TRY(read_group(b, text + i + 1, end - 1, &part, err));
            hang(b, whole, &last, part);
            if (!stk__u64_mul(
                    b->nodes[whole].count, b->nodes[part].count, &b->nodes[whole].count) ||
                b->nodes[whole].count > STK__BRACES_MAX_NAMES)
                return too_many(b, err);
            i += end + 1;
            start = i;
        } else {
            i += text[i] == '\\' ? 2 : 1;
        }
    }
    return add_text(b, whole, &last, text + start, size - start, err);
}

static stk_status read_sequence(
    stk__braces *b, const char *text, size_t size, uint32_t *at_out, stk_error *err)
{
    uint32_t whole;

    if (b->depth == MOST_DEPTH)
        return bad(b, "braces nested more than 100 deep", err);
    STK_TRY(add(b, &(node){.kind = SEQUENCE, .count = 1}, &whole, err));
    b->depth++;
    STK_TRY(read_parts(b, text, size, whole, err));
    b->depth--;
    *at_out = whole;
    return STK_OK;
}

stk_status stk__braces_new(
    stk__heap *heap, const char *pattern, stk__braces **braces_out, stk_error *err)
{
    stk__braces *b = stk__heap_zalloc(heap, 1, sizeof *b);
    stk_status st;
    uint32_t root;

    if (b == NULL)
        return STK_FAIL(err, STK_ENOMEM, "no memory for a brace pattern");
    b->heap = heap;
    b->pattern = pattern;
    st = read_sequence(b, pattern, strlen(pattern), &root, err);
    if (st < 0) {
        stk__braces_free(b);
        return st;
    }
    *braces_out = b;
    return STK_OK;
}

void stk__braces_free(stk__braces *braces)
{
    if (braces == NULL)
        return;
    stk__heap_free(braces->heap, braces->nodes, braces->capacity, sizeof *braces->nodes);
    stk__heap_free(braces->heap, braces, 1, sizeof *braces);
}

uint64_t stk__braces_count(const stk__braces *braces)
{
    return braces->nodes[0].count;
}

/* Writing a name. */

typedef struct writer {
    char *name;
    size_t capacity, used;
} writer;

static void put(writer *w, const char *text, size_t size)
{
    if (w->used < w->capacity)
        memcpy(w->name + w->used, text, stk__size_min(size, w->capacity - w->used));
    w->used += size;
}

static void put_text(writer *w, stk_view view)
{
    const char *text = view.data;

    for (size_t i = 0; i < view.size; i++) {
        if (text[i] == '\\' && i + 1 < view.size && strchr("{},\\", text[i + 1]) != NULL)
            i++;
        put(w, text + i, 1);
    }
}

static void put_number(writer *w, const node *n, uint64_t nth)
{
    char text[32];
    int length = snprintf(
        text, sizeof text, "%0*lld", n->width, (long long)(n->first + (int64_t)nth * n->step));

    if (length > 0)
        put(w, text, stk__size_min((size_t)length, sizeof text - 1));
}

static void put_node(const stk__braces *b, writer *w, uint32_t at, uint64_t nth);

/* Each part takes its digit: the leftmost the highest. */
static void put_sequence(const stk__braces *b, writer *w, const node *n, uint64_t nth)
{
    uint64_t below = n->count;

    for (uint32_t part = n->child; part != NO_NODE; part = b->nodes[part].next) {
        below /= b->nodes[part].count;
        put_node(b, w, part, nth / below);
        nth %= below;
    }
}

static void put_node(const stk__braces *b, writer *w, uint32_t at, uint64_t nth)
{
    const node *n = &b->nodes[at];
    uint32_t item = n->child;
    int64_t place;
    char letter;

    switch (n->kind) {
    case SEQUENCE:
        put_sequence(b, w, n, nth);
        break;
    case LIST:
        for (; nth >= b->nodes[item].count; item = b->nodes[item].next)
            nth -= b->nodes[item].count;
        put_node(b, w, item, nth);
        break;
    case TEXT:
        put_text(w, n->text);
        break;
    case NUMBERS:
        put_number(w, n, nth);
        break;
    case LETTERS:
        place = n->first + (int64_t)nth * n->step;
        letter = (char)(place < 26 ? 'A' + place : 'a' + place - 26);
        put(w, &letter, 1);
        break;
    }
}

size_t stk__braces_get(const stk__braces *braces, uint64_t nth, char *name, size_t capacity)
{
    writer w = {.name = name, .capacity = capacity};

    put_node(braces, &w, 0, nth);
    if (capacity > 0)
        name[stk__size_min(w.used, capacity - 1)] = '\0';
    return w.used;
}
