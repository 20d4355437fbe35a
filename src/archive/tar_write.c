/*
 * Writing of tar shards.
 *
 * Everything goes to a draft beside the final name (os/draft.h), through one buffer; big members
 * pass by it. Only a whole archive that is on the disk gets its name. The index is grown member by
 * member and gets its name first: an index without its archive is found to be stale, an archive
 * without its index costs the first user a scan. A writer that failed stays failed: every later
 * call tells the first failure again.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <stoker/archive.h>

#include "archive/index_build.h"
#include "archive/tar_head.h"
#include "archive/tar_head_make.h"
#include "base/error.h"
#include "base/heap.h"
#include "base/size.h"
#include "os/draft.h"

enum {
    BUFFER_BYTES = 1 << 20,
    PATH_BYTES = 4096 /* PATH_MAX of Linux */
};

struct stk_tar_writer {
    stk__heap heap;
    char *path; /* the final name; path_size + 1 bytes */
    size_t path_size;
    stk__draft draft;
    uint64_t mtime;
    stk__index_build *index;
    stk__tar_text head; /* of the member being added; memory is used again */
    uint8_t *buffer;
    size_t used;
    uint64_t bytes; /* handed in so far, in the buffer or beyond */
    bool failed;
    stk_error failure; /* if so */
};

static stk_status in_writing(
    const stk_tar_writer *writer, stk_view name, stk_status st, stk_error *err)
{
    const stk__place place = {.stage = STK_STAGE_WRITE, .source = writer->path, .key = name};

    return stk__error_in(st, &place, err);
}

/* Keep a failure, and tell it. */
static stk_status stop(stk_tar_writer *writer, stk_view name, stk_status st, stk_error *err)
{
    if (st >= 0)
        return st;
    writer->failed = true;
    STK_IGNORE(in_writing(writer, name, st, &writer->failure) != st); /* returns what it is given */
    if (err != NULL)
        *err = writer->failure;
    return st;
}

static stk_status again(const stk_tar_writer *writer, stk_error *err)
{
    if (err != NULL)
        *err = writer->failure;
    return writer->failure.status;
}

/* --- The file --- */

static stk_status check_free(const char *path, stk_error *err)
{
    stk_error seen = STK_ERROR_INIT;
    stk__file_stat found;
    const stk__place place = {.source = path};

    if (stk__path_stat(path, &found, &seen) >= 0)
        return stk__error_in(
            STK_FAIL(err, STK_EEXIST, "could not write the archive: something has that name"),
            &place, err);
    if (seen.os_errno == ENOENT)
        return STK_OK;
    if (err != NULL)
        *err = seen;
    return seen.status;
}

static stk_status flush(stk_tar_writer *writer, stk_error *err)
{
    stk_view data = {writer->buffer, writer->used};

    writer->used = 0;
    return stk__file_write(&writer->draft.file, writer->path, data, err);
}

static stk_status put(stk_tar_writer *writer, stk_view data, stk_error *err)
{
    writer->bytes += data.size;
    if (data.size > BUFFER_BYTES - writer->used) {
        STK_TRY(flush(writer, err));
        if (data.size >= BUFFER_BYTES)
            return stk__file_write(&writer->draft.file, writer->path, data, err);
    }
    if (data.size > 0)
        memcpy(writer->buffer + writer->used, data.data, data.size);
    writer->used += data.size;
    return STK_OK;
}

/* --- The writer --- */

static void close_writer(stk_tar_writer *writer)
{
    stk__heap death = {0}; /* outlives the heap in the writer by one call */

    if (writer == NULL)
        return;
    stk__draft_fini(&writer->draft);
    stk__index_build_free(writer->index);
    stk__tar_text_fini(&writer->heap, &writer->head);
    stk__heap_free_aligned(&writer->heap, writer->buffer, BUFFER_BYTES);
    stk__heap_free(&writer->heap, writer->path, writer->path_size + 1, 1);
    STK_IGNORE(!stk__heap_reserve(&death, sizeof *writer)); /* no ceiling */
    stk__heap_free(&death, writer, 1, sizeof *writer);
}

static stk_tar_writer *make(const char *path, uint64_t mtime)
{
    stk__heap birth = {0}; /* the writer's own heap stands in the writer */
    stk_tar_writer *writer = stk__heap_zalloc(&birth, 1, sizeof *writer);

    if (writer == NULL)
        return NULL;
    writer->draft.file.fd = -1;
    writer->failure = (stk_error)STK_ERROR_INIT;
    writer->mtime = mtime;
    writer->path_size = strlen(path);
    writer->path = stk__heap_text(&writer->heap, path, writer->path_size);
    writer->buffer = stk__heap_alloc_aligned(&writer->heap, BUFFER_BYTES);
    if (writer->path != NULL && writer->buffer != NULL)
        return writer;
    close_writer(writer);
    return NULL;
}

stk_status stk_tar_writer_open(
    const char *path, uint64_t mtime, stk_tar_writer **writer_out, stk_error *err)
{
    const stk__place place = {.stage = STK_STAGE_OPEN, .source = path};
    stk_tar_writer *writer = NULL;
    stk_status st;

    if (mtime > STK__TAR_LAST_MTIME) {
        st = STK_FAIL(err, STK_EINVAL, "mtime is %llu; a tar header has room for %llu",
            (unsigned long long)mtime, STK__TAR_LAST_MTIME);
        goto out;
    }
    writer = make(path, mtime);
    if (writer == NULL) {
        st = STK_FAIL(err, STK_ENOMEM, "no memory for a tar writer");
        goto out;
    }
    st = stk__index_build_new(&writer->heap, STK__INDEX_TAR, 0, &writer->index, err);
    if (st < 0)
        goto out;
    st = check_free(path, err);
    if (st < 0)
        goto out;
    st = stk__draft_create(&writer->draft, path, err);
    if (st < 0)
        goto out;
    *writer_out = writer;
    writer = NULL; /* the caller's from here on */
out:
    close_writer(writer);
    return stk__error_in(st, &place, err);
}

static stk_status check_name(stk_view name, stk_error *err)
{
    if (name.size == 0)
        return STK_FAIL(err, STK_EINVAL, "a member has an empty name");
    if (name.size > STK__TAR_LONGEST_NAME)
        return STK_FAIL(err, STK_EINVAL, "a member has a name of %zu bytes; the most is %d",
            name.size, (int)STK__TAR_LONGEST_NAME);
    if (memchr(name.data, '\0', name.size) != NULL)
        return STK_FAIL(err, STK_EINVAL, "a member has a name with a NUL in it");
    if (((const char *)name.data)[name.size - 1] == '/')
        return STK_FAIL(err, STK_EINVAL, "a member has a name that ends in a slash, as folders do");
    return STK_OK;
}

/* The member whose header is made and whose bytes come next, as the index sees it. */
static stk_status tell_index(
    stk_tar_writer *writer, stk_view name, size_t size_bytes, stk_error *err)
{
    stk__index_told told = {
        .name = name,
        .header = writer->bytes,
        .offset = writer->bytes + writer->head.size,
        .size_bytes = size_bytes,
    };

    if (!stk_name_split(name, &told.key, &told.field))
        return STK_OK; /* part of no sample */
    return stk__index_build_member(writer->index, &told, err);
}

static stk_status put_member(stk_tar_writer *writer, stk_view name, stk_view data, stk_error *err)
{
    static const uint8_t zeros[STK__TAR_BLOCK];
    size_t over = data.size % STK__TAR_BLOCK;

    writer->head.size = 0;
    if (!stk__tar_head_make(&writer->heap, &writer->head, name, data.size, writer->mtime))
        return STK_FAIL(err, STK_ENOMEM, "no memory for the header of a member");
    STK_TRY(tell_index(writer, name, data.size, err));
    STK_TRY(put(writer, stk__tar_text_view(&writer->head), err));
    STK_TRY(put(writer, data, err));
    return over == 0 ? STK_OK : put(writer, (stk_view){zeros, sizeof zeros - over}, err);
}

stk_status stk_tar_writer_add(stk_tar_writer *writer, stk_view name, stk_view data, stk_error *err)
{
    stk_status st;

    if (writer->failed)
        return again(writer, err);
    st = check_name(name, err);
    if (st < 0) /* nothing was written: the writer is as it was */
        return in_writing(writer, name, st, err);
    return stop(writer, name, put_member(writer, name, data, &writer->failure), err);
}

uint64_t stk_tar_writer_bytes(const stk_tar_writer *writer)
{
    return writer->bytes;
}

/* The whole archive, on the disk. */
static stk_status complete(stk_tar_writer *writer, stk_error *err)
{
    static const uint8_t end_marker[2 * STK__TAR_BLOCK];

    STK_TRY(put(writer, (stk_view){end_marker, sizeof end_marker}, err));
    STK_TRY(flush(writer, err));
    STK_TRY(stk__file_sync(&writer->draft.file, writer->path, err));
    return STK_OK;
}

/* What the index remembers of the archive, and the index itself. */
static stk_status make_index(stk_tar_writer *writer, stk__index **index_out, stk_error *err)
{
    stk__index_source source;

    STK_TRY(stk__index_source_of(&writer->draft.file, writer->path, &source, err));
    return stk__index_build_finish(writer->index, &source, index_out, err);
}

/* Both under their final names. */
static stk_status publish(stk_tar_writer *writer, const stk__index *index, stk_error *err)
{
    char path[PATH_BYTES + 16];
    stk_status st;

    STK_TRY(check_free(writer->path, err)); /* somebody may have been faster */
    STK_IGNORE(snprintf(path, sizeof path, "%s.stoker", writer->path) < 0); /* the system took it */
    STK_TRY(stk__index_save(index, path, err));
    st = stk__draft_publish(&writer->draft, writer->path, err);
    if (st < 0)
        STK_IGNORE(stk__path_remove(path, NULL) < 0); /* the first failure is the one told */
    return st;
}

static stk_status finish(stk_tar_writer *writer, stk_error *err)
{
    stk__index *index = NULL;
    stk_status st = complete(writer, err);

    if (st >= 0)
        st = make_index(writer, &index, err);
    if (st >= 0)
        st = publish(writer, index, err);
    stk__index_close(index);
    return st;
}

stk_status stk_tar_writer_finish(stk_tar_writer *writer, stk_error *err)
{
    static const stk_view no_name = {"", 0};
    stk_status st;

    if (writer->failed) {
        st = again(writer, err);
        goto out;
    }
    st = stop(writer, no_name, finish(writer, &writer->failure), err);
out:
    close_writer(writer);
    return st;
}

void stk_tar_writer_abandon(stk_tar_writer *writer)
{
    close_writer(writer);
}
