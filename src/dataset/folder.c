/*
 * From a folder of files to its index: see folder.h.
 *
 * All folders are listed first, breadth first; what they hold goes into two flat arrays, which are
 * then sorted and told to the builder of the index.
 *
 * A folder is remembered with its time and a hash of its names. The time alone tells that nothing
 * changed, if it was no longer fresh when it was read: a change within one tick of the clock of the
 * file system leaves no trace in it. Else the names are listed again and compared. Nor does it tell
 * that a folder can be read again (chmod, a network that is back), so of one that could not the
 * time is never trusted.
 */
#include "dataset/folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stoker/archive.h>

#include "archive/index_build.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/size.h"
#include "dataset/paths.h"
#include "os/clock.h"
#include "os/file.h"

/* A time is trusted when it was this old as it was read: file systems count in up to 2 seconds. */
#define SETTLED_NS ((int64_t)2500000000)

/* Stands for a time that is not to be trusted. */
#define UNSETTLED INT64_MIN

/* Stands for the hash of the names of a folder in which something could not be looked at. */
#define UNSEEN UINT64_MAX

enum { NO_FOLDER = UINT32_MAX };

typedef struct folder {
    char *path; /* below the root, "" the root; owned */
    size_t length;
    uint32_t parent;
    uint32_t top; /* the folder of the first level that it is in; NO_FOLDER: the root */
    uint64_t device, inode;
    int64_t mtime_ns;
    uint64_t names_hash;
    bool unseen;    /* it could not be listed, or a name in it not be looked at */
    uint64_t files; /* that are part of a sample, in it and below */
} folder;

typedef struct file {
    uint32_t folder; /* then, when sorted: its place in the order of folders */
    char *name;      /* owned */
    size_t length;
    size_t key_bytes; /* of the name */
    size_t first;     /* when sorted: place of the first file of its sample */
    uint64_t size_bytes;
} file;

typedef struct walk {
    stk__heap *heap;
    const char *root;
    bool lenient;
    const stk__stop *stop;
    stk__index_build *build;
    folder *folders;
    size_t folder_count, folder_capacity;
    file *files;
    size_t file_count, file_capacity;
    uint32_t listing;  /* the folder whose names come in */
    uint64_t left_out; /* files without an extension */
    char first_left_out[256];
} walk;

static stk_status no_memory(stk_error *err)
{
    return STK_FAIL(err, STK_ENOMEM, "no memory for the files of a folder");
}

/* root/folder/name; false if it is longer than the system takes. `folder` and `name` may be "". */
static bool join_path(const char *root, const char *in, const char *name, char *path)
{
    const char *const parts[3] = {root, in, name};
    size_t used = 0;

    for (int i = 0; i < 3; i++) {
        size_t length = strlen(parts[i]);

        if (length == 0)
            continue;
        if (used + length + 2 > STK__PATH_BYTES)
            return false;
        if (used > 0 && path[used - 1] != '/')
            path[used++] = '/';
        memcpy(path + used, parts[i], length);
        used += length;
    }
    path[used] = '\0';
    return true;
}

static stk_status fail_at(stk_status st, const char *path, stk_error *err)
{
    return stk__error_in(st, &(stk__place){.stage = STK_STAGE_OPEN, .source = path}, err);
}

/* Growing. */

static stk_status add_folder(
    walk *w, const char *path, uint32_t parent, const stk__file_stat *found, stk_error *err)
{
    uint32_t top =
        parent == NO_FOLDER || parent == 0 ? (uint32_t)w->folder_count : w->folders[parent].top;
    size_t length = strlen(path);
    char *copy;

    if (w->folder_count == w->folder_capacity) {
        size_t larger = w->folder_capacity == 0 ? 16 : w->folder_capacity * 2;
        folder *grown = larger >= NO_FOLDER ? NULL
                                            : stk__heap_grow(w->heap, w->folders,
                                                  w->folder_capacity, larger, sizeof *grown);

        if (grown == NULL)
            return no_memory(err);
        w->folders = grown;
        w->folder_capacity = larger;
    }
    copy = stk__heap_text(w->heap, path, length);
    if (copy == NULL)
        return no_memory(err);
    w->folders[w->folder_count++] = (folder){
        .path = copy,
        .length = length,
        .parent = parent,
        .top = parent == NO_FOLDER ? NO_FOLDER : top,
        .device = found->device,
        .inode = found->inode,
    };
    return STK_OK;
}

static stk_status add_file(
    walk *w, const char *name, size_t key_bytes, uint64_t size_bytes, stk_error *err)
{
    size_t length = strlen(name);
    char *copy;

    if (w->file_count == w->file_capacity) {
        size_t larger = w->file_capacity == 0 ? 64 : w->file_capacity * 2;
        file *grown = stk__heap_grow(w->heap, w->files, w->file_capacity, larger, sizeof *grown);

        if (grown == NULL)
            return no_memory(err);
        w->files = grown;
        w->file_capacity = larger;
    }
    copy = stk__heap_text(w->heap, name, length);
    if (copy == NULL)
        return no_memory(err);
    w->files[w->file_count++] = (file){
        .folder = w->listing,
        .name = copy,
        .length = length,
        .key_bytes = key_bytes,
        .size_bytes = size_bytes,
    };
    return STK_OK;
}

static void fini(walk *w)
{
    for (size_t i = 0; i < w->folder_count; i++)
        stk__heap_free(w->heap, w->folders[i].path, w->folders[i].length + 1, 1);
    stk__heap_free(w->heap, w->folders, w->folder_capacity, sizeof *w->folders);
    for (size_t i = 0; i < w->file_count; i++)
        stk__heap_free(w->heap, w->files[i].name, w->files[i].length + 1, 1);
    stk__heap_free(w->heap, w->files, w->file_capacity, sizeof *w->files);
    stk__index_build_free(w->build);
}

/* Listing. */

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), tail = strlen(end);

    if (length < tail)
        return false;
    for (size_t i = 0; i < tail; i++) {
        char c = name[length - tail + i];
        if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != end[i])
            return false;
    }
    return true;
}

bool stk__is_tar_name(const char *name)
{
    static const char *const ends[] = {".tar", ".tar.gz", ".tgz", ".tar.zst", ".tar.xz", ".txz",
        ".tar.bz2", ".tbz2", ".tar.lz4", ".tar.z"};

    for (size_t i = 0; i < STK__COUNT_OF(ends); i++)
        if (ends_with(name, ends[i]))
            return true;
    return false;
}

/* Names that are no data: hidden ones, and indexes. */
static bool is_left_out(const char *name)
{
    return name[0] == '.' || ends_with(name, ".stoker");
}

/* Sums do not depend on the order in which a folder tells its names. */
static uint64_t name_hash(const char *name)
{
    stk__fingerprint print = {0};

    stk__fingerprint_add(&print, name, strlen(name));
    return print.a ^ print.b;
}

/* Is it one of the folders that lead to it? A link may lead up. */
static bool is_loop(const walk *w, uint32_t parent, const stk__file_stat *found)
{
    for (uint32_t at = parent; at != NO_FOLDER; at = w->folders[at].parent)
        if (w->folders[at].device == found->device && w->folders[at].inode == found->inode)
            return true;
    return false;
}

static stk_status take_folder(
    walk *w, const char *name, const stk__file_stat *found, stk_error *err)
{
    char path[STK__PATH_BYTES];

    if (!join_path("", w->folders[w->listing].path, name, path))
        return fail_at(STK_FAIL(err, STK_ESOURCE, "the path is too long"), name, err);
    if (is_loop(w, w->listing, found))
        return stk__index_build_note(w->build, STK__NOTE_FOLDER, 0, err,
            "folder %s leads back to one that it is in, and was left out", path);
    return add_folder(w, path, w->listing, found, err);
}

static stk_status take_file(walk *w, const char *name, const stk__file_stat *found, stk_error *err)
{
    stk_view key, field;

    if (found->regular && stk_file_name_split((stk_view){name, strlen(name)}, &key, &field))
        return add_file(w, name, key.size, found->size_bytes, err);
    if (w->left_out++ == 0)
        STK_IGNORE(snprintf(w->first_left_out, sizeof w->first_left_out, "%s%s%s",
                       w->folders[w->listing].path, w->listing > 0 ? "/" : "", name) < 0); /* cut */
    return STK_OK;
}

/* A link that leads to no file. It has its place, as in ImageFolder, and fails when it is read:
 * what happens then is for on_error to say, and samples keep their numbers when the file comes
 * back. */
static stk_status take_dangling(walk *w, const char *name, const char *path, stk_error *err)
{
    static const stk__file_stat nothing = {.regular = true};

    STK_TRY(take_file(w, name, &nothing, err));
    return stk__index_build_note(
        w->build, STK__NOTE_FOLDER, 0, err, "link %s leads to no file, and cannot be read", path);
}

/* Something that cannot be looked at: the folder that is listed, or a name in it. */
static stk_status meet_failure(walk *w, stk_status st, const stk_error *why, stk_error *err)
{
    if (st == STK_ESOURCE && w->lenient) {
        w->folders[w->listing].unseen = true;
        return stk__index_build_note(
            w->build, STK__NOTE_DAMAGE, 0, err, "%s: %s", why->text, why->source);
    }
    if (err != NULL)
        *err = *why;
    return st == STK_ESOURCE ? stk__error_in(st, &(stk__place){.stage = STK_STAGE_MEMBER}, err)
                             : st;
}

static stk_status take_name(void *ctx, const char *name, stk_error *err)
{
    walk *w = ctx;
    stk_error why = STK_ERROR_INIT;
    char path[STK__PATH_BYTES];
    stk__file_stat found;
    stk_status st;

    STK_TRY(stk__stop_check(w->stop, err));
    if (is_left_out(name))
        return STK_OK;
    w->folders[w->listing].names_hash += name_hash(name);
    if (!join_path(w->root, w->folders[w->listing].path, name, path))
        return fail_at(STK_FAIL(err, STK_ESOURCE, "the path is too long"), name, err);
    st = stk__path_stat(path, &found, &why);
    if (st < 0 && (why.os_errno == ENOENT || why.os_errno == ELOOP))
        return take_dangling(w, name, path, err);
    if (st < 0)
        return meet_failure(w, st, &why, err);
    return found.folder ? take_folder(w, name, &found, err) : take_file(w, name, &found, err);
}

static int64_t trusted(int64_t mtime_ns)
{
    return stk__clock_date_ns() - mtime_ns > SETTLED_NS ? mtime_ns : UNSETTLED;
}

static stk_status list_folder(walk *w, uint32_t at, stk_error *err)
{
    stk_error why = STK_ERROR_INIT;
    char path[STK__PATH_BYTES];
    stk__file_stat found;
    stk_status st;

    w->listing = at;
    if (!join_path(w->root, w->folders[at].path, "", path))
        return fail_at(STK_FAIL(err, STK_ESOURCE, "the path is too long"), w->root, err);
    st = stk__path_stat(path, &found, &why); /* before the names: a change meanwhile shows up */
    if (st >= 0) {
        w->folders[at].mtime_ns = trusted(found.mtime_ns);
        st = stk__folder_list(path, take_name, w, &why);
    }
    if (st < 0 && at > 0)
        st = meet_failure(w, st, &why, err);
    else if (st < 0 && err != NULL)
        *err = why; /* of the root there is nothing left */
    if (w->folders[at].unseen) {
        w->folders[at].mtime_ns = UNSETTLED;
        w->folders[at].names_hash = UNSEEN;
    }
    return st;
}

static stk_status list_all(walk *w, stk_error *err)
{
    stk__file_stat found;

    STK_TRY(stk__path_stat(w->root, &found, err));
    STK_TRY(add_folder(w, "", NO_FOLDER, &found, err));
    for (uint32_t at = 0; at < w->folder_count; at++)
        STK_TRY(list_folder(w, at, err));
    return STK_OK;
}

/* Order. */

static int compare_bytes(const char *a, size_t a_size, const char *b, size_t b_size)
{
    int order = memcmp(a, b, a_size < b_size ? a_size : b_size);

    return order != 0 ? order : (a_size > b_size) - (a_size < b_size);
}

/* An entry of the order of folders. */
typedef struct place {
    const folder *folder;
    const folder *top;
    uint32_t number;
} place;

static int compare_places(const void *a, const void *b)
{
    const place *x = a, *y = b;
    int order = compare_bytes(x->top->path, x->top->length, y->top->path, y->top->length);

    return order != 0 ? order
                      : compare_bytes(
                            x->folder->path, x->folder->length, y->folder->path, y->folder->length);
}

static int compare_files(const void *a, const void *b)
{
    const file *x = a, *y = b;

    if (x->folder != y->folder)
        return x->folder < y->folder ? -1 : 1;
    return compare_bytes(x->name, x->length, y->name, y->length);
}

static int compare_samples(const void *a, const void *b)
{
    const file *x = a, *y = b;

    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return compare_bytes(x->name, x->length, y->name, y->length);
}

static bool is_same_sample(const file *a, const file *b)
{
    return a->folder == b->folder && a->key_bytes == b->key_bytes &&
           memcmp(a->name, b->name, a->key_bytes) == 0;
}

/* Can `a`, which stands before `b`, have files of the sample of b before it? They all begin with
 * its key and a dot. */
static bool is_among(const file *a, const file *b)
{
    return a->folder == b->folder && a->length > b->key_bytes &&
           memcmp(a->name, b->name, b->key_bytes + 1) == 0;
}

/* By name, the files of a.1 stand between a.jpg and a.seg.png: bring those of a together, where the
 * first of them stands. */
static void gather_samples(walk *w)
{
    bool apart = false;

    for (size_t i = 0; i < w->file_count; i++) {
        file *f = &w->files[i];

        f->first = i;
        for (size_t k = i; k > 0 && is_among(&w->files[k - 1], f); k--) {
            if (is_same_sample(&w->files[k - 1], f)) {
                f->first = w->files[k - 1].first;
                apart = apart || k < i;
                break;
            }
        }
    }
    if (apart)
        qsort(w->files, w->file_count, sizeof *w->files, compare_samples);
}

/* Number the folders in their order, the root first, and sort the files by it. */
static stk_status sort_all(walk *w, place *places, stk_error *err)
{
    uint32_t *order = stk__heap_alloc(w->heap, w->folder_count, sizeof *order);

    if (order == NULL)
        return no_memory(err);
    for (uint32_t i = 0; i < w->folder_count; i++)
        places[i] = (place){
            .folder = &w->folders[i],
            .top = &w->folders[w->folders[i].top == NO_FOLDER ? 0 : w->folders[i].top],
            .number = i,
        };
    qsort(places, w->folder_count, sizeof *places, compare_places);
    for (uint32_t i = 0; i < w->folder_count; i++)
        order[places[i].number] = i;
    for (size_t i = 0; i < w->file_count; i++)
        w->files[i].folder = order[w->files[i].folder];
    qsort(w->files, w->file_count, sizeof *w->files, compare_files);
    gather_samples(w);
    stk__heap_free(w->heap, order, w->folder_count, sizeof *order);
    return STK_OK;
}

/* Telling. */

static stk_status tell_file(walk *w, const folder *in, const file *f, stk_error *err)
{
    char path[STK__PATH_BYTES];
    stk_view name, key, field;
    stk__index_told told;
    size_t before;

    STK_TRY(stk__stop_check(w->stop, err));
    if (!join_path("", in->path, f->name, path))
        return fail_at(STK_FAIL(err, STK_ESOURCE, "the path is too long"), f->name, err);
    name = (stk_view){path, strlen(path)};
    before = name.size - f->length;
    if (!stk_file_name_split((stk_view){path + before, f->length}, &key, &field))
        return STK_OK; /* it was left out before */
    told = (stk__index_told){
        .name = name,
        .key = {path, before + key.size},
        .field = field,
        .size_bytes = f->size_bytes,
    };
    return stk__index_build_member(w->build, &told, err);
}

static stk_status tell_files(
    walk *w, const place *places, uint32_t at, size_t *next, stk_error *err)
{
    while (*next < w->file_count && w->files[*next].folder < at)
        (*next)++;
    for (; *next < w->file_count && w->files[*next].folder == at; (*next)++)
        STK_TRY(tell_file(w, places[at].folder, &w->files[*next], err));
    return STK_OK;
}

static stk_status note_beside(walk *w, stk_error *err)
{
    size_t count = 0;

    while (count < w->file_count && w->files[count].folder == 0)
        count++;
    if (count == 0)
        return STK_OK;
    return stk__index_build_note(w->build, STK__NOTE_FOLDER, 0, err,
        "%zu file%s beside the class folders %s left out; the first is %.200s", count,
        count == 1 ? "" : "s", count == 1 ? "was" : "were", w->files[0].name);
}

/* Each folder of the first level is a class, with what is in it and below. */
static stk_status tell_tree(walk *w, const place *places, stk_error *err)
{
    size_t next = 0;

    STK_TRY(note_beside(w, err));
    for (uint32_t at = 1; at < w->folder_count; at++) {
        const folder *f = places[at].folder;

        if (f == places[at].top) {
            STK_TRY(stk__index_build_class(w->build, (stk_view){f->path, f->length}, err));
            if (f->files == 0)
                STK_TRY(stk__index_build_note(w->build, STK__NOTE_FOLDER, 0, err,
                    "class folder %s holds no file, and keeps its number", f->path));
        }
        STK_TRY(tell_files(w, places, at, &next, err));
    }
    return STK_OK;
}

static stk_status tell_samples(walk *w, const place *places, stk_error *err)
{
    bool tree = false;
    size_t next = 0;

    for (size_t i = 0; i < w->file_count; i++) {
        const folder *top = places[w->files[i].folder].top;

        w->folders[top - w->folders].files++;
        tree = tree || top != &w->folders[0];
    }
    return tree ? tell_tree(w, places, err) : tell_files(w, places, 0, &next, err);
}

static stk_status tell_all(walk *w, const place *places, stk_error *err)
{
    STK_TRY(tell_samples(w, places, err));
    if (w->left_out > 0)
        STK_TRY(stk__index_build_note(w->build, STK__NOTE_FOLDER, 0, err,
            "%llu file%s without an extension %s left out; the first is %.200s",
            (unsigned long long)w->left_out, w->left_out == 1 ? "" : "s",
            w->left_out == 1 ? "was" : "were", w->first_left_out));
    for (size_t i = 0; i < w->folder_count; i++) {
        const folder *f = &w->folders[i];
        STK_TRY(stk__index_build_folder(
            w->build, (stk_view){f->path, f->length}, f->mtime_ns, f->names_hash, err));
    }
    return STK_OK;
}

static stk_status sort_and_tell(walk *w, stk_error *err)
{
    place *places = stk__heap_alloc(w->heap, w->folder_count, sizeof *places);
    stk_status st;

    if (places == NULL)
        return no_memory(err);
    st = sort_all(w, places, err);
    if (st >= 0)
        st = tell_all(w, places, err);
    stk__heap_free(w->heap, places, w->folder_count, sizeof *places);
    return st;
}

/* Shards of other folders are no classes: whoever means them can say so. */
static stk_status refuse_tars(const walk *w, stk_error *err)
{
    for (size_t i = 0; i < w->file_count; i++)
        if (!stk__is_tar_name(w->files[i].name))
            return STK_OK;
    return STK_FAIL(err, STK_EINVAL,
        "the folder holds tar shards in folders of its own only; name them by a pattern such as "
        "*/*.tar");
}

stk_status stk__folder_index(stk__heap *heap, const char *root, uint32_t flags,
    const stk__stop *stop, stk__index **index_out, stk_error *err)
{
    walk w = {
        .heap = heap, .root = root, .lenient = (flags & STK__INDEX_LENIENT) != 0, .stop = stop};
    stk_status st;

    st = stk__index_build_new(heap, STK__INDEX_FOLDER, flags, &w.build, err);
    if (st < 0)
        goto out;
    st = list_all(&w, err);
    if (st < 0)
        goto out;
    if (w.file_count == 0) {
        st = STK_FAIL(err, STK_ESOURCE, "the folder holds no file with an extension");
        goto out;
    }
    st = refuse_tars(&w, err);
    if (st < 0)
        goto out;
    st = sort_and_tell(&w, err);
    if (st < 0)
        goto out;
    st = stk__index_build_finish(w.build, NULL, index_out, err);
out:
    fini(&w);
    return fail_at(st, root, err);
}

/* Staleness. */

static stk_status sum_name(void *ctx, const char *name, stk_error *err)
{
    uint64_t *sum = ctx;

    (void)err;
    if (!is_left_out(name))
        *sum += name_hash(name);
    return STK_OK;
}

stk_status stk__folder_check(const void *ctx, const stk__index *index, stk_error *err)
{
    const char *root = ctx;
    char path[STK__PATH_BYTES];
    stk__index_folder then;
    stk__file_stat now;

    for (uint64_t i = 0; i < index->section[STK__INDEX_FOLDERS].count; i++) {
        uint64_t sum = 0;

        if (!stk__index_get_folder(index, i, &then) || strlen(then.path.data) != then.path.size ||
            !join_path(root, then.path.data, "", path))
            return STK_FAIL(err, STK_EINDEX, "an entry of the index is damaged");
        if (stk__path_stat(path, &now, NULL) < 0)
            return STK_FAIL(err, STK_EINDEX, "folder %s is gone since the index was made", path);
        if (now.mtime_ns == then.mtime_ns)
            continue;
        if (stk__folder_list(path, sum_name, &sum, NULL) < 0) {
            if (then.names_hash == UNSEEN) /* as it was */
                continue;
            /* Who makes it anew says why. */
            return STK_FAIL(
                err, STK_EINDEX, "folder %s cannot be listed since the index was made", path);
        }
        if (sum != then.names_hash)
            return STK_FAIL(
                err, STK_EINDEX, "folder %s has other files than when the index was made", path);
    }
    return STK_OK;
}
