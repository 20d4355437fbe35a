/*
 * Opening and closing of tar readers, and the sources they read from.
 *
 * The first block decides: a valid header, or zeros, make it a tar archive. Only then are the first
 * bytes compared with the marks of compressed files, so that a member whose name begins with "BZh9"
 * is still read.
 */
#include <errno.h>
#include <string.h>

#include "archive/tar_int.h"
#include "archive/tar_read.h"
#include "base/error.h"

/* Marks of files that people give the name .tar; what to do about it is in the text. */
static const struct {
    const char *mark;
    size_t size;
    const char *name, *tool;
} compressed[] = {
    {"\x1f\x8b", 2, "gzip", "gzip -d"},
    {"\x28\xb5\x2f\xfd", 4, "zstd", "zstd -d"},
    {"\xfd\x37zXZ\0", 6, "xz", "xz -d"},
    {"BZh", 3, "bzip2", "bzip2 -d"},
    {"\x04\x22\x4d\x18", 4, "lz4", "lz4 -d"},
    {"LZIP", 4, "lzip", "lzip -d"},
    {"\x1f\x9d", 2, "compress", "uncompress"},
    {"PK\3\4", 4, "zip", "unzip"},
};

/* A zstd frame that carries no data may stand first. */
static bool is_zstd_skippable(const uint8_t *bytes, size_t size)
{
    return size >= 4 && (bytes[0] & 0xf0u) == 0x50 && memcmp(bytes + 1, "\x2a\x4d\x18", 3) == 0;
}

static stk_status refuse_compressed(const char *name, const char *tool, stk_error *err)
{
    return STK_FAIL_AT(err, STK_ENOTSUP, 0,
        "compressed with %s; tar shards are read uncompressed, so that any sample can be reached: "
        "unpack it once (%s)",
        name, tool);
}

stk_status stk__tar_refuse(const uint8_t *bytes, size_t size, uint64_t offset, stk_error *err)
{
    for (size_t i = 0; offset == 0 && i < STK__COUNT_OF(compressed); i++) {
        if (size >= compressed[i].size &&
            memcmp(bytes, compressed[i].mark, compressed[i].size) == 0)
            return refuse_compressed(compressed[i].name, compressed[i].tool, err);
    }
    if (offset == 0 && is_zstd_skippable(bytes, size))
        return refuse_compressed("zstd", "zstd -d", err);
    if (size < STK__TAR_BLOCK)
        return STK_FAIL_AT(err, STK_ECORRUPT, offset,
            "the file ended inside a tar header, after %zu of its 512 bytes", size);
    if (stk__tar_head_has_magic(bytes))
        return STK_FAIL_AT(err, STK_ECORRUPT, offset,
            "the tar header is damaged: its checksum should be %u and is not",
            (unsigned)stk__tar_head_sum(bytes));
    return STK_FAIL_AT(err, STK_ECORRUPT, offset, "not a tar header");
}

/* Is the beginning that of an archive? */
static stk_status check_start(stk_tar *tar, stk_error *err)
{
    uint64_t size = stk__u64_min(tar->window.source.size_bytes, STK__TAR_BLOCK);
    const uint8_t *bytes;

    if (size == 0)
        return STK_FAIL_AT(err, STK_ECORRUPT, 0, "empty file");
    STK_TRY(stk__tar_window_get(&tar->window, 0, size, &bytes, err));
    if (size == STK__TAR_BLOCK && stk__tar_head_valid(bytes))
        return STK_OK;
    if (stk__tar_is_zero(bytes, (size_t)size))
        return STK_OK;
    return stk__tar_refuse(bytes, (size_t)size, 0, err);
}

/* A zeroed reader on a heap, which it is counted on. */
static stk_tar *make(stk__heap *heap, const char *path, stk_error *err)
{
    stk_tar *tar = stk__heap_zalloc(heap, 1, sizeof *tar);

    if (tar == NULL)
        goto no_memory;
    tar->heap = heap;
    tar->own_file.fd = -1;
    tar->failure = (stk_error)STK_ERROR_INIT;
    tar->path_size = strlen(path);
    tar->path = stk__heap_text(heap, path, tar->path_size);
    if (tar->path != NULL)
        return tar;
    stk__heap_free(heap, tar, 1, sizeof *tar);
no_memory:
    STK_IGNORE(STK_FAIL(err, STK_ENOMEM, "no memory for a tar reader") < 0); /* NULL says it */
    return NULL;
}

static stk_status start(
    stk_tar *tar, const stk__tar_source *source, const stk_tar_options *options, stk_error *err)
{
    static const stk_tar_options defaults = STK_TAR_OPTIONS_INIT;
    static const stk_limits no_limits = STK_LIMITS_INIT;

    if (options == NULL)
        options = &defaults;
    tar->data = options->data;
    tar->concatenated = options->concatenated;
    tar->limits = options->limits != NULL ? *options->limits : no_limits;
    STK_TRY(stk__tar_window_init(&tar->window, tar->heap, source, err));
    return check_start(tar, err);
}

static stk_status opened(stk_status st, const char *path, stk_error *err)
{
    return stk__error_in(st, &(stk__place){.stage = STK_STAGE_OPEN, .source = path}, err);
}

stk_status stk__tar_open_source(stk__heap *heap, const stk__tar_source *source, const char *path,
    const stk_tar_options *options, stk_tar **tar_out, stk_error *err)
{
    stk_tar *tar = make(heap, path, err);
    stk_status st = STK_ENOMEM;

    if (tar != NULL)
        st = start(tar, source, options, err);
    if (st < 0)
        stk_tar_close(tar);
    else
        *tar_out = tar;
    return opened(st, path, err);
}

static stk_status read_file(
    void *ctx, uint64_t offset, stk_span dst, size_t *got_out, stk_error *err)
{
    stk_tar *tar = ctx;

    return stk__file_read_at(&tar->read_from, tar->path, offset, dst, got_out, err);
}

/* Only a regular file has a size to hold claims against, and can be read anywhere. */
static stk_status check_kind(const stk__file_stat *found, stk_error *err)
{
    if (found->folder)
        return STK_FAIL_OS(err, STK_ESOURCE, EISDIR, "could not read the archive");
    if (!found->regular)
        return STK_FAIL(
            err, STK_ESOURCE, "not a regular file: an archive must be readable at any place");
    return STK_OK;
}

static stk_status start_file(stk_tar *tar, const stk_tar_options *options, stk_error *err)
{
    stk__tar_source source = {.read = read_file, .ctx = tar};
    stk__file_stat found;

    STK_TRY(stk__file_stat_of(&tar->read_from, tar->path, &found, err));
    STK_TRY(check_kind(&found, err));
    source.size_bytes = found.size_bytes;
    return start(tar, &source, options, err);
}

stk_status stk__tar_open_file(stk__heap *heap, const stk__file *file, const char *path,
    const stk_tar_options *options, stk_tar **tar_out, stk_error *err)
{
    stk_tar *tar = make(heap, path, err);
    stk_status st = STK_ENOMEM;

    if (tar != NULL) {
        tar->read_from = *file;
        st = start_file(tar, options, err);
    }
    if (st < 0)
        stk_tar_close(tar);
    else
        *tar_out = tar;
    return opened(st, path, err);
}

static stk_status read_memory(
    void *ctx, uint64_t offset, stk_span dst, size_t *got_out, stk_error *err)
{
    const stk_view *bytes = ctx;
    size_t left = offset < bytes->size ? bytes->size - (size_t)offset : 0;

    (void)err;
    *got_out = stk__size_min(left, dst.size);
    if (*got_out > 0)
        memcpy(dst.data, (const char *)bytes->data + offset, *got_out);
    return STK_OK;
}

stk_status stk__tar_open_memory(stk__heap *heap, const stk_view *bytes, const char *path,
    const stk_tar_options *options, stk_tar **tar_out, stk_error *err)
{
    const stk__tar_source source = {
        .read = read_memory,
        .ctx = (void *)(uintptr_t)bytes, /* only read: see read_memory */
        .size_bytes = bytes->size,
    };

    return stk__tar_open_source(heap, &source, path, options, tar_out, err);
}

stk_status stk_tar_open(
    const char *path, const stk_tar_options *options, stk_tar **tar_out, stk_error *err)
{
    stk__heap birth = {0}; /* the reader's own heap stands in the reader */
    stk_tar *tar = make(&birth, path, err);
    stk_status st = STK_ENOMEM;

    if (tar == NULL)
        goto out;
    tar->heap = &tar->own_heap;
    STK_IGNORE(!stk__heap_reserve(tar->heap, sizeof *tar + tar->path_size + 1)); /* no ceiling */
    st = stk__file_open(&tar->own_file, path, err);
    if (st < 0)
        goto out;
    tar->read_from = tar->own_file;
    st = start_file(tar, options, err);
    if (st < 0)
        goto out;
    *tar_out = tar;
    tar = NULL; /* the caller's from here on */
out:
    stk_tar_close(tar);
    return opened(st, path, err);
}

void stk_tar_get_notes(const stk_tar *tar, stk_tar_notes *notes_out)
{
    *notes_out = tar->notes;
}

void stk_tar_close(stk_tar *tar)
{
    stk__heap death = {0}; /* outlives the heap in the reader by one call */
    stk__heap *heap;

    if (tar == NULL)
        return;
    heap = tar->heap;
    stk__tar_window_fini(&tar->window);
    stk__tar_text_fini(heap, &tar->long_name);
    stk__tar_text_fini(heap, &tar->long_link);
    stk__tar_text_fini(heap, &tar->name);
    stk__tar_text_fini(heap, &tar->link);
    stk__pax_fini(heap, &tar->local);
    stk__pax_fini(heap, &tar->global);
    stk__tar_links_fini(heap, &tar->links);
    stk__file_fini(&tar->own_file);
    stk__heap_free(heap, tar->path, tar->path_size + 1, 1);
    if (heap == &tar->own_heap) {
        STK_IGNORE(!stk__heap_reserve(&death, sizeof *tar)); /* no ceiling */
        heap = &death;
    }
    stk__heap_free(heap, tar, 1, sizeof *tar);
}
