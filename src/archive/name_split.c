/*
 * From the name of a member to a key and a field, by WebDataset's rules.
 *
 * WebDataset states them as two regular expressions: ^((?:.*[/]|)[^.]+)[.]([^/]*)$ for the split,
 * ^__[^/]*__($|[/]) for members about the archive itself. Here they are the few scans that they
 * amount to; the table of docs/formats.md says what comes out. One difference on purpose: a newline
 * is a character like any other, where the "." of the expression stops at it.
 */
#include <string.h>

#include <stoker/archive.h>

/* Is the first component "__x__"? */
static bool is_meta(const char *name, size_t first_size)
{
    return first_size >= 4 && memcmp(name, "__", 2) == 0 &&
           memcmp(name + first_size - 2, "__", 2) == 0;
}

/*
 * May the base name begin with its dot? The expression then lets the folder right above, with its
 * slash, stand for the characters before the dot, if it has no dot itself.
 */
static bool folder_stands_in(const char *name, size_t base_at)
{
    for (size_t i = base_at - 1; i > 0 && name[i - 1] != '/'; i--) {
        if (name[i - 1] == '.')
            return false;
    }
    return true;
}

bool stk_name_split(stk_view name, stk_view *key_out, stk_view *field_out)
{
    const char *p = name.data;
    const char *slash, *dot;
    size_t base_at, first_size, dot_at;

    if (name.size == 0)
        return false;
    slash = memrchr(p, '/', name.size);
    base_at = slash == NULL ? 0 : (size_t)(slash - p) + 1;
    if (p[0] == '_') {
        const char *end = base_at == 0 ? NULL : memchr(p, '/', name.size);

        first_size = end == NULL ? name.size : (size_t)(end - p);
        if (is_meta(p, first_size))
            return false;
    }
    dot = memchr(p + base_at, '.', name.size - base_at);
    if (dot == NULL)
        return false;
    dot_at = (size_t)(dot - p);
    if (dot_at == base_at && (base_at == 0 || !folder_stands_in(p, base_at)))
        return false;
    *key_out = (stk_view){p, dot_at};
    *field_out = (stk_view){dot + 1, name.size - dot_at - 1};
    return true;
}
