/* Bytes of a dataset: which file, and reads of it. */
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "dataset/dataset.h"
#include "dataset/dataset_int.h"

const stk__part *stk__dataset_part_of(const stk_dataset *ds, uint32_t source)
{
    uint32_t low = 0, high = ds->part_count;

    if (source >= ds->sources)
        return NULL;
    if (ds->tar)
        return &ds->parts[source];
    while (high - low > 1) { /* the last one that begins at or before it */
        uint32_t middle = low + (high - low) / 2;

        if (ds->parts[middle].first_source <= source)
            low = middle;
        else
            high = middle;
    }
    return &ds->parts[low];
}

/* Append as much as fits; returns the bytes needed so far. */
static size_t append(char *path, size_t capacity, size_t used, const void *from, size_t size)
{
    if (used < capacity && size > 0)
        memcpy(path + used, from, stk__size_min(size, capacity - used));
    return used + size;
}

static size_t close_text(char *path, size_t capacity, size_t used)
{
    if (capacity > 0)
        path[stk__size_min(used, capacity - 1)] = '\0';
    return used;
}

size_t stk__dataset_path(const void *ctx, uint32_t source, char *path, size_t capacity)
{
    const stk_dataset *ds = ctx;
    const stk__part *part = stk__dataset_part_of(ds, source);
    stk__index_entry entry;
    size_t used = 0;

    if (part == NULL)
        return close_text(path, capacity, 0);
    used = append(path, capacity, used, part->path, part->path_bytes);
    if (!ds->tar && stk__index_member(part->index, source - part->first_source, &entry)) {
        if (used > 0 && part->path[used - 1] != '/')
            used = append(path, capacity, used, "/", 1);
        used = append(path, capacity, used, entry.name.data, entry.name.size);
    }
    return close_text(path, capacity, used);
}

size_t stk_dataset_source_path(
    const stk_dataset *dataset, uint32_t source, char *path, size_t capacity)
{
    return stk__dataset_path(dataset, source, path, capacity);
}

/* Would the name of a file lead out of its folder? One that was indexed by this process is what the
 * folder or the user said; one in an index file may be anything. */
static bool leads_out(const stk__index *index, stk_view name)
{
    const char *text = name.data;

    if (index->grown != NULL)
        return false;
    for (size_t i = 0; i < name.size; i++) {
        bool begins = i == 0 || text[i - 1] == '/';

        if (begins &&
            (text[i] == '/' || (name.size - i >= 2 && text[i] == '.' && text[i + 1] == '.' &&
                                   (name.size - i == 2 || text[i + 2] == '/'))))
            return true;
    }
    return false;
}

/* What the set of files has to know about a read. */
static stk_status want_of(const stk_dataset *ds, uint32_t source, uint64_t offset, size_t size,
    stk__file_want *want_out, stk_error *err)
{
    const stk__part *part = stk__dataset_part_of(ds, source);
    stk__index_entry entry;
    uint64_t end;

    if (part == NULL)
        return STK_FAIL(err, STK_ERANGE, "source %u of a dataset with %llu", source,
            (unsigned long long)ds->sources);
    *want_out = (stk__file_want){.id = source, .offset = offset};
    if (ds->tar) {
        want_out->indexed_bytes = part->index->source.size_bytes;
    } else {
        if (!stk__index_member(part->index, source - part->first_source, &entry) ||
            leads_out(part->index, entry.name))
            return stk__dataset_damaged(part, err);
        want_out->indexed_bytes = entry.size_bytes;
        want_out->exact = true; /* a field is a whole file: one more byte is another field */
    }
    if (!stk__u64_add(offset, size, &end) || end > want_out->indexed_bytes)
        return STK_FAIL(err, STK_ERANGE, "bytes %llu to %llu of a source with %llu",
            (unsigned long long)offset, (unsigned long long)end,
            (unsigned long long)want_out->indexed_bytes);
    return STK_OK;
}

stk_status stk_dataset_read(
    const stk_dataset *dataset, uint32_t source, uint64_t offset, stk_span dst, stk_error *err)
{
    stk__file_want want;

    STK_TRY(want_of(dataset, source, offset, dst.size, &want, err));
    return stk__error_in(stk__file_set_read(dataset->files, &want, dst, err),
        &(stk__place){.stage = STK_STAGE_READ}, err);
}

stk_status stk__dataset_try_read(
    const stk_dataset *dataset, uint32_t source, uint64_t offset, stk_span dst, stk_error *err)
{
    stk__file_want want;

    STK_TRY(want_of(dataset, source, offset, dst.size, &want, err));
    return stk__error_in(stk__file_set_try_read(dataset->files, &want, dst, err),
        &(stk__place){.stage = STK_STAGE_READ}, err);
}
