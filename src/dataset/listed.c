/* A run of listed files: see listed.h. */
#include "dataset/listed.h"

#include <string.h>

#include <stoker/archive.h>

#include "archive/index_build.h"
#include "base/error.h"

/* Bytes of a path up to its last slash, that one included. */
static size_t folder_bytes(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

size_t stk__listed_root(const stk__path *files, size_t count)
{
    const char *first = files[0].name;
    size_t common = folder_bytes(first);

    for (size_t i = 1; i < count; i++) {
        size_t same = 0;

        while (same < common && files[i].name[same] == first[same])
            same++;
        while (same > 0 && first[same - 1] != '/')
            same--;
        common = same;
    }
    return common > 1 ? common - 1 : common;
}

static stk_status add_file(
    stk__index_build *build, const stk__path *file, size_t root_bytes, size_t *kept, stk_error *err)
{
    const char *name = file->name + root_bytes;
    stk_view key, field;
    stk__index_told told;
    size_t base;

    if (root_bytes > 0 && name[0] == '/')
        name++;
    base = folder_bytes(name);
    if (!stk_file_name_split((stk_view){name + base, strlen(name) - base}, &key, &field))
        return stk__index_build_note(build, STK__NOTE_FOLDER, 0, err,
            "a file without an extension, or a hidden one, was left out: %.300s", name);
    told = (stk__index_told){
        .name = {name, strlen(name)},
        .key = {name, base + key.size},
        .field = field,
        .size_bytes = file->size_bytes,
    };
    (*kept)++;
    stk__index_build_break(build);
    return stk__index_build_member(build, &told, err);
}

stk_status stk__listed_index(stk__heap *heap, const stk__path *files, size_t count,
    size_t root_bytes, uint32_t flags, stk__index **index_out, stk_error *err)
{
    stk__index_build *build;
    size_t kept = 0;
    stk_status st = stk__index_build_new(heap, STK__INDEX_FOLDER, flags, &build, err);

    if (st < 0)
        return st;
    for (size_t i = 0; st >= 0 && i < count; i++)
        st = add_file(build, &files[i], root_bytes, &kept, err);
    if (st >= 0 && kept == 0)
        st = STK_FAIL(err, STK_ESOURCE, "no listed file has an extension");
    if (st >= 0)
        st = stk__index_build_finish(build, NULL, index_out, err);
    stk__index_build_free(build);
    return st;
}
