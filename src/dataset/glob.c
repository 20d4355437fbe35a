/* Globs: see glob.h. */
#include "dataset/glob.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"

static bool has_magic(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\\')
            i++;
        else if (text[i] == '*' || text[i] == '?' || text[i] == '[')
            return true;
    }
    return false;
}

bool stk__glob_has_magic(const char *pattern)
{
    return has_magic(pattern, strlen(pattern));
}

/* A set that begins behind its bracket. Its bytes with the closing bracket, 0 if it is not closed:
 * then the bracket stands for itself. */
static size_t match_set(const char *set, size_t size, unsigned char c, bool *in_out)
{
    bool inverted = size > 0 && (set[0] == '!' || set[0] == '^');
    size_t i = inverted ? 1 : 0;
    bool in = false;

    for (size_t start = i; i < size && (set[i] != ']' || i == start); i++) {
        unsigned char low, high;

        if (set[i] == '\\' && i + 1 < size)
            i++;
        low = high = (unsigned char)set[i];
        if (i + 2 < size && set[i + 1] == '-' && set[i + 2] != ']') {
            i += 2;
            if (set[i] == '\\' && i + 1 < size)
                i++;
            high = (unsigned char)set[i];
        }
        in = in || (c >= low && c <= high);
    }
    *in_out = in != inverted;
    return i < size ? i + 1 : 0;
}

/* One item of a pattern other than a star against one byte; its length, 0: no match. */
static size_t match_one(const char *pattern, size_t size, unsigned char c)
{
    bool in;

    if (pattern[0] == '?')
        return 1;
    if (pattern[0] == '[') {
        size_t length = match_set(pattern + 1, size - 1, c, &in);
        if (length > 0)
            return in ? length + 1 : 0;
    }
    if (pattern[0] == '\\' && size > 1)
        return (unsigned char)pattern[1] == c ? 2 : 0;
    return (unsigned char)pattern[0] == c ? 1 : 0;
}

bool stk__glob_match(stk_view pattern, const char *name)
{
    const char *p = pattern.data;
    size_t at = 0, n = 0;                        /* in the pattern, in the name */
    size_t star = SIZE_MAX, star_name = 0, step; /* where to go on when a star takes one more */

    if (name[0] == '.' && (pattern.size == 0 || (p[0] != '.' && p[0] != '\\')))
        return false;
    for (;;) {
        if (at < pattern.size && p[at] == '*') {
            star = ++at;
            star_name = n;
            continue;
        }
        if (name[n] == '\0' && at == pattern.size)
            return true;
        step = name[n] != '\0' && at < pattern.size
                   ? match_one(p + at, pattern.size - at, (unsigned char)name[n])
                   : 0;
        if (step > 0) {
            at += step;
            n++;
        } else if (star != SIZE_MAX && name[star_name] != '\0') {
            at = star;
            n = ++star_name;
        } else {
            return false;
        }
    }
}

/* The walk: `path` is what has been settled, with its slash; it grows and shrinks in place. */
typedef struct walk {
    stk__paths *paths;
    char path[STK__PATH_BYTES];
    size_t length;
    const char *rest; /* components to come */
} walk;

static bool append(walk *w, const char *text, size_t size)
{
    if (size >= sizeof w->path - w->length)
        return false;
    memcpy(w->path + w->length, text, size);
    w->length += size;
    w->path[w->length] = '\0';
    return true;
}

/* A component without magic, its backslashes taken out. */
static bool append_plain(walk *w, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\\' && i + 1 < size)
            i++;
        if (!append(w, text + i, 1))
            return false;
    }
    return true;
}

static bool is_own_index(const char *name)
{
    size_t length = strlen(name);

    return length >= 7 && strcmp(name + length - 7, ".stoker") == 0;
}

static stk_status step(walk *w, stk_error *err);

/* What is listed is matched against one component; `ctx` of the listing. */
typedef struct match {
    walk *w;
    stk_view component;
    const char *rest; /* behind it */
} match;

static stk_status try_name(void *ctx, const char *name, stk_error *err)
{
    const match *m = ctx;
    walk *w = m->w;
    size_t length = w->length;
    stk_status st = STK_OK;

    if (!stk__glob_match(m->component, name) || is_own_index(name))
        return STK_OK;
    if (append(w, name, strlen(name))) {
        w->rest = m->rest;
        st = step(w, err);
    }
    w->length = length;
    w->path[length] = '\0';
    return st;
}

static stk_status list_matches(walk *w, stk_view component, const char *rest, stk_error *err)
{
    match m = {.w = w, .component = component, .rest = rest};
    stk_error why = STK_ERROR_INIT;
    stk_status st;
    char folder[STK__PATH_BYTES];

    memcpy(folder, w->length > 0 ? w->path : ".", (w->length > 0 ? w->length : 1) + 1);
    st = stk__folder_list(folder, try_name, &m, &why);
    if (st == STK_ESOURCE && (why.os_errno == ENOENT || why.os_errno == ENOTDIR))
        return STK_OK; /* then nothing is in it */
    if (st < 0 && err != NULL)
        *err = why;
    return st;
}

/* All components are settled: is it there? */
static stk_status finish(walk *w, stk_error *err)
{
    stk__file_stat found;

    if (stk__path_stat(w->path, &found, NULL) < 0 || (!found.folder && !found.regular))
        return STK_OK;
    return stk__paths_add(w->paths, w->path, &found, err);
}

/* Settle the components of w->rest, one by one. */
static stk_status step(walk *w, stk_error *err)
{
    for (;;) {
        size_t size;

        for (; w->rest[0] == '/'; w->rest++)
            if ((w->length == 0 || w->path[w->length - 1] != '/') && !append(w, "/", 1))
                return STK_OK; /* longer than any path that exists; so too below */
        if (w->rest[0] == '\0')
            return finish(w, err);
        size = strcspn(w->rest, "/");
        if (has_magic(w->rest, size))
            return list_matches(w, (stk_view){w->rest, size}, w->rest + size, err);
        if (!append_plain(w, w->rest, size))
            return STK_OK;
        w->rest += size;
    }
}

stk_status stk__glob(stk__paths *paths, const char *pattern, stk_error *err)
{
    walk w = {.paths = paths, .rest = pattern};

    return step(&w, err);
}
