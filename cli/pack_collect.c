/*
 * What there is to pack: folders are walked, lists and CSV files are read.
 *
 * The rules for folders are those of <stoker/dataset.h>, so that a folder and the shards made of it
 * hold the same samples in the same order: if a sub-folder holds files, each sub-folder right below
 * the root is a class, also an empty one (torchvision's ImageFolder); classes by name, in each the
 * folders by path, in each the files by name, all by bytes. Links are followed; a folder that
 * contains itself is entered once.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stoker/archive.h>

#include "out_human.h"
#include "pack.h"

enum { TEXT_BLOCK = 1 << 20, DEEPEST = 128 };

const char *pack_keep(pack_job *job, stk_view text)
{
    pack_texts *t = &job->texts;
    char *kept;

    if (t->count == 0 || text.size + 1 > t->size - t->used) {
        t->blocks =
            (char **)memory_more((void *)t->blocks, t->count, &t->capacity, sizeof *t->blocks);
        t->size = text.size + 1 > TEXT_BLOCK ? text.size + 1 : TEXT_BLOCK;
        t->used = 0;
        t->blocks[t->count++] = memory_get(NULL, t->size, 1);
    }
    kept = t->blocks[t->count - 1] + t->used;
    if (text.size > 0)
        memcpy(kept, text.data, text.size);
    kept[text.size] = '\0'; /* NOLINT(clang-analyzer-security.ArrayBound): room was made above */
    t->used += text.size + 1;
    return kept;
}

static const char *keep_joined(pack_job *job, const char *folder, const char *name)
{
    size_t folder_size = strlen(folder), capacity = folder_size + strlen(name) + 2;
    bool slash = folder_size > 0 && folder[folder_size - 1] != '/';
    char *joined = memory_get(NULL, capacity, 1);
    const char *kept;

    if (snprintf(joined, capacity, "%s%s%s", folder, slash ? "/" : "", name) < 0)
        joined[0] = '\0';
    kept = pack_keep(job, (stk_view){joined, strlen(joined)});
    free(joined);
    return kept;
}

stk_status pack_forgive(pack_job *job, stk_status st, const stk_error *err)
{
    if (st >= 0 || job->s.on_error != ON_ERROR_SKIP || exit_of(err) != EXIT_DATA)
        return st;
    pthread_mutex_lock(&job->mutex);
    if (job->skip_count < SKIPS_KEPT) {
        stk_error *more = realloc(job->skips, ((size_t)job->skip_count + 1) * sizeof *more);
        if (more != NULL) {
            job->skips = more;
            more[job->skip_count] = *err;
        }
    }
    job->skip_count++;
    pthread_mutex_unlock(&job->mutex);
    return STK_OK;
}

static bool ends_in(const char *path, const char *extension)
{
    size_t size = strlen(path), tail = strlen(extension);

    return size > tail && strcasecmp(path + size - tail, extension) == 0;
}

/* Where the key of a name ends, by --split; its end if it has no dot. */
static size_t key_end(const pack_job *job, const char *name)
{
    const char *slash = strrchr(name, '/');
    const char *base = slash == NULL ? name : slash + 1;
    const char *dot = job->s.split == SPLIT_FIRST ? strchr(base, '.') : strrchr(base, '.');
    stk_view key, field;

    if (job->s.split == SPLIT_AUTO &&
        stk_file_name_split((stk_view){name, strlen(name)}, &key, &field))
        return key.size;
    return dot == NULL ? strlen(name) : (size_t)(dot - name);
}

/* "a/b.c.jpg" becomes "a/b_c.jpg", so that every reader of tars splits it at the dot that is meant.
 */
static const char *with_plain_key(pack_job *job, const char *name)
{
    const char *slash = strrchr(name, '/');
    size_t base = slash == NULL ? 0 : (size_t)(slash - name) + 1, end = key_end(job, name);
    const char *first = strchr(name + base, '.');
    char *changed;

    if (first == NULL || first == name + base || (size_t)(first - name) >= end)
        return name;
    changed = memory_get(NULL, strlen(name) + 1, 1);
    memcpy(changed, name, strlen(name) + 1);
    for (char *p = changed + base; p < changed + end; p++) {
        if (*p == '.')
            *p = '_';
    }
    name = pack_keep(job, (stk_view){changed, strlen(changed)});
    free(changed);
    return name;
}

bool pack_add(pack_job *job, const char *path, const char *name, const char *label,
    uint64_t size_bytes, uint32_t source)
{
    const char *slash = strrchr(name, '/');
    const char *base = slash == NULL ? name : slash + 1;
    stk_view key, field;

    name = with_plain_key(job, name);
    if (base[0] == '.' || ends_in(base, ".stoker") ||
        !stk_name_split((stk_view){name, strlen(name)}, &key, &field) || field.size == 0 ||
        key.size > UINT32_MAX) {
        job->left_out++;
        return false;
    }
    job->files = memory_more(job->files, job->file_count, &job->file_capacity, sizeof *job->files);
    job->files[job->file_count] = (pack_file){
        .path = path,
        .name = name,
        .label = label,
        .size_bytes = size_bytes,
        .key_size = (uint32_t)key.size,
        .source = source,
        .order = job->file_count,
    };
    job->file_count++;
    return true;
}

/* A folder on the way down; the chain of them tells a folder that contains itself. */
typedef struct walk_folder {
    const char *path;
    const char *label; /* of the files in it; NULL: none */
    const struct walk_folder *above;
    unsigned depth;
    dev_t device;
    ino_t inode;
} walk_folder;

typedef struct walk {
    pack_job *job;
    size_t root_size; /* of the root's path and its slash: the rest is the name */
    uint32_t source;
} walk;

typedef struct name_list {
    char **names;
    size_t count, capacity;
} name_list;

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static stk_status list_folder(const char *path, name_list *list, uint64_t *hidden, stk_error *err)
{
    const struct dirent *entry;
    DIR *folder = opendir(path);
    int os_errno;

    if (folder == NULL)
        return error_os(err, errno, path, "folder could not be opened");
    for (;;) {
        errno = 0;
        entry = readdir(folder); /* NOLINT(concurrency-mt-unsafe): a stream of our own */
        os_errno = errno;
        if (entry == NULL)
            break;
        if (entry->d_name[0] == '.') {
            *hidden += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
                       strcmp(entry->d_name, ".stoker-index") != 0;
            continue;
        }
        list->names =
            (char **)memory_more((void *)list->names, list->count, &list->capacity, sizeof(char *));
        list->names[list->count] = memory_get(NULL, strlen(entry->d_name) + 1, 1);
        memcpy(list->names[list->count++], entry->d_name, strlen(entry->d_name) + 1);
    }
    if (closedir(folder) != 0 && os_errno == 0)
        os_errno = errno;
    if (os_errno != 0)
        return error_os(err, os_errno, path, "folder could not be read");
    if (list->count > 0)
        qsort((void *)list->names, list->count, sizeof *list->names, by_bytes);
    return STK_OK;
}

static void list_free(name_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->names[i]);
    free((void *)list->names);
}

static stk_status walk_into(const walk *w, const char *path, const struct stat *st,
    const walk_folder *above, const char *label, stk_error *err);

/* Look at one name; folders are kept for later, files are taken. */
static stk_status visit(const walk *w, const walk_folder *folder, const char *name,
    const char **path_out, struct stat *stat_out, stk_error *err)
{
    const char *path = keep_joined(w->job, folder->path, name);

    *path_out = NULL;
    if (folder->device == w->job->out.device && folder->inode == w->job->out.inode &&
        pack_is_output_name(w->job, name))
        return STK_OK;
    if (stat(path, stat_out) != 0)
        return pack_forgive(w->job, error_os(err, errno, path, "file could not be looked at"), err);
    if (S_ISDIR(stat_out->st_mode)) {
        *path_out = path;
    } else if (S_ISREG(stat_out->st_mode)) {
        pack_add(w->job, path, path + w->root_size, folder->label, (uint64_t)stat_out->st_size,
            w->source);
    } else {
        w->job->left_out++; /* a pipe or a device */
    }
    return STK_OK;
}

static stk_status walk_names(
    const walk *w, const walk_folder *folder, const name_list *list, stk_error *err)
{
    bool classes = folder->above == NULL && w->job->s.labels != LABELS_NONE;
    const char **folders = (const char **)memory_get(NULL, list->count, sizeof *folders);
    struct stat *stats = memory_get(NULL, list->count, sizeof *stats);
    stk_status st = STK_OK;

    for (size_t i = 0; i < list->count && st >= 0; i++)
        st = visit(w, folder, list->names[i], &folders[i], &stats[i], err);
    for (size_t i = 0; i < list->count && st >= 0; i++) {
        const char *label = folder->label;

        if (folders[i] == NULL)
            continue;
        if (pack_is_output_folder(w->job, &stats[i]))
            continue; /* what is packed does not go round in circles */
        if (classes) {
            label = pack_keep(w->job, (stk_view){list->names[i], strlen(list->names[i])});
            pack_add_class(w->job, label);
        }
        st = walk_into(w, folders[i], &stats[i], folder, label, err);
    }
    free((void *)folders);
    free(stats);
    return st;
}

/* The depth is bounded by DEEPEST. NOLINTNEXTLINE(misc-no-recursion) */
static stk_status walk_into(const walk *w, const char *path, const struct stat *stat,
    const walk_folder *above, const char *label, stk_error *err)
{
    walk_folder here = {.path = path,
        .label = label,
        .above = above,
        .depth = above == NULL ? 0 : above->depth + 1,
        .device = stat->st_dev,
        .inode = stat->st_ino};
    name_list list = {0};
    stk_status st;

    for (const walk_folder *up = above; up != NULL; up = up->above) {
        if (up->device == here.device && up->inode == here.inode)
            return STK_OK; /* a link to a folder that we are in */
    }
    if (here.depth > DEEPEST)
        return error_make(err, STK_ELIMIT, path, "folders are nested deeper than %d", DEEPEST);
    st = list_folder(path, &list, &w->job->left_out, err);
    st = st < 0 ? pack_forgive(w->job, st, err) : walk_names(w, &here, &list, err);
    list_free(&list);
    return st;
}

/* Files right below the root of a class tree have no class: torchvision leaves them out, too. And a
 * folder without files in its sub-folders has no classes. */
static void settle_classes(pack_job *job, size_t first, size_t first_class)
{
    size_t kept = first;
    bool labelled = false;

    for (size_t i = first; i < job->file_count; i++)
        labelled |= job->files[i].label != NULL;
    if (!labelled) {
        job->class_count = first_class;
        return;
    }
    for (size_t i = first; i < job->file_count; i++) {
        if (job->files[i].label != NULL)
            job->files[kept++] = job->files[i];
    }
    job->left_out += job->file_count - kept;
    job->file_count = kept;
}

static int compare_bytes(const char *a, size_t a_size, const char *b, size_t b_size)
{
    int order = memcmp(a, b, a_size < b_size ? a_size : b_size);

    return order != 0 ? order : (a_size > b_size) - (a_size < b_size);
}

/* By class, then folder, then name. */
static int by_place(const void *a, const void *b)
{
    const pack_file *x = a, *y = b;
    const char *x_slash = strrchr(x->name, '/'), *y_slash = strrchr(y->name, '/');
    int order = compare_bytes(x->name, x_slash == NULL ? 0 : strcspn(x->name, "/"), y->name,
        y_slash == NULL ? 0 : strcspn(y->name, "/"));

    if (order == 0) {
        order = compare_bytes(x->name, x_slash == NULL ? 0 : (size_t)(x_slash - x->name), y->name,
            y_slash == NULL ? 0 : (size_t)(y_slash - y->name));
    }
    /* --split changes the base of a name, and not that of its path */
    return order != 0 ? order : strcmp(strrchr(x->path, '/'), strrchr(y->path, '/'));
}

static stk_status take_folder(
    pack_job *job, const char *path, const struct stat *stat, uint32_t source, stk_error *err)
{
    const char *root = keep_joined(job, path, ""); /* ends in a slash */
    walk w = {.job = job, .root_size = strlen(root), .source = source};
    size_t first = job->file_count, first_class = job->class_count;
    stk_status st = walk_into(&w, root, stat, NULL, NULL, err);

    if (st < 0)
        return st;
    settle_classes(job, first, first_class);
    if (job->file_count > first)
        qsort(job->files + first, job->file_count - first, sizeof *job->files, by_place);
    for (size_t i = first; i < job->file_count; i++)
        job->files[i].order = i;
    return STK_OK;
}

static stk_status read_stream(
    pack_job *job, FILE *file, const char *path, stk_view *text_out, stk_error *err)
{
    size_t size = 0, capacity = 1 << 16;
    char *text = memory_get(NULL, capacity, 1);

    while (!feof(file) && !ferror(file)) {
        text = memory_more(text, size, &capacity, 1);
        size += fread(text + size, 1, capacity - size, file);
    }
    text_out->data = pack_keep(job, (stk_view){text, size});
    text_out->size = size;
    free(text);
    return ferror(file) ? error_os(err, EIO, path, "file could not be read") : STK_OK;
}

stk_status pack_read_text(pack_job *job, const char *path, stk_view *text_out, stk_error *err)
{
    stk_status st;
    FILE *file;

    if (strcmp(path, "-") == 0)
        return read_stream(job, stdin, "standard input", text_out, err);
    file = fopen(path, "re");
    if (file == NULL)
        return error_os(err, errno, path, "file could not be opened");
    st = read_stream(job, file, path, text_out, err);
    if (fclose(file) != 0 && st >= 0)
        st = error_os(err, errno, path, "file could not be read");
    return st;
}

/* The name that a listed path gives its member: no leading "/", no "." and ".." parts. */
static const char *listed_name(pack_job *job, const char *path)
{
    char *name = memory_get(NULL, strlen(path) + 1, 1);
    const char *kept;
    size_t used = 0;

    while (*path != '\0') {
        size_t part = strcspn(path, "/");
        bool dots = part == 0 || (part == 1 && path[0] == '.') ||
                    (part == 2 && path[0] == '.' && path[1] == '.');

        if (!dots) {
            if (used > 0)
                name[used++] = '/';
            memcpy(name + used, path, part);
            used += part;
        }
        path += part + (path[part] == '/');
    }
    kept = pack_keep(job, (stk_view){name, used});
    free(name);
    return kept;
}

/* Relative paths begin at --root, else at the folder of the list itself. */
static const char *listed_path(pack_job *job, const char *list, const char *path)
{
    const char *slash = strrchr(list, '/');

    if (path[0] == '/')
        return path;
    if (job->s.root != NULL)
        return keep_joined(job, job->s.root, path);
    if (slash == NULL)
        return path;
    return keep_joined(job, pack_keep(job, (stk_view){list, (size_t)(slash - list) + 1}), path);
}

/* A key of the CSV's own takes the place of the path up to the field. */
static const char *keyed_name(pack_job *job, const char *name, const char *key)
{
    size_t capacity = strlen(name) + strlen(key) + 2, end = key_end(job, name);
    char *joined;
    const char *kept;

    if (name[end] == '\0')
        return name;
    joined = memory_get(NULL, capacity, 1);
    if (snprintf(joined, capacity, "%s%s", key, name + end) < 0)
        joined[0] = '\0'; /* the field ends where the name ends */
    kept = pack_keep(job, (stk_view){joined, strlen(joined)});
    free(joined);
    return kept;
}

stk_status pack_add_listed(pack_job *job, const char *list, const char *listed, const char *key,
    const char *label, uint32_t source, stk_error *err)
{
    const char *path = listed_path(job, list, listed);
    const char *name = listed_name(job, listed);
    struct stat st;

    if (key != NULL)
        name = keyed_name(job, name, key);
    if (stat(path, &st) != 0)
        return pack_forgive(job, error_os(err, errno, path, "file could not be looked at"), err);
    if (!S_ISREG(st.st_mode))
        return pack_forgive(job, error_make(err, STK_ESOURCE, path, "it is no regular file"), err);
    if (!pack_add(job, path, name, label, (uint64_t)st.st_size, source)) {
        return error_make(err, STK_EINVAL, path,
            "its name has no extension, or is hidden, so that it cannot be part of a sample");
    }
    return STK_OK;
}

static stk_status take_list(pack_job *job, const char *path, uint32_t source, stk_error *err)
{
    stk_view text = {"", 0};
    const char *line, *end;
    stk_status st = pack_read_text(job, path, &text, err);

    if (st < 0)
        return st;
    line = text.data;
    end = line + text.size;
    if (memchr(line, '\0', text.size) != NULL)
        return error_make(err, STK_ECORRUPT, path, "a list of paths has no NUL bytes");
    for (; line < end && st >= 0; line++) {
        size_t size = strcspn(line, "\n");
        size_t bare = size > 0 && line[size - 1] == '\r' ? size - 1 : size;

        if (bare > 0) {
            st = pack_add_listed(job, strcmp(path, "-") == 0 ? "" : path,
                pack_keep(job, (stk_view){line, bare}), NULL, NULL, source, err);
        }
        line += size;
    }
    return st;
}

static bool is_list(const char *path)
{
    const char *slash = strrchr(path, '/');

    return ends_in(path, ".txt") || ends_in(path, ".lst") || ends_in(path, ".list") ||
           strchr(slash == NULL ? path : slash, '.') == NULL;
}

static stk_status take_source(pack_job *job, const char *path, uint32_t source, stk_error *err)
{
    const char *slash = strrchr(path, '/');
    struct stat st;

    if (strcmp(path, "-") == 0)
        return take_list(job, path, source, err);
    if (stat(path, &st) != 0)
        return error_os(err, errno, path, "source could not be looked at");
    if (S_ISDIR(st.st_mode))
        return take_folder(job, path, &st, source, err);
    if (ends_in(path, ".csv"))
        return pack_csv(job, path, source, err);
    if (is_list(path))
        return take_list(job, path, source, err);
    if (!S_ISREG(st.st_mode))
        return error_make(err, STK_ESOURCE, path, "it is neither a folder nor a file");
    if (!pack_add(job, path, slash == NULL ? path : slash + 1, NULL, (uint64_t)st.st_size, source))
        return error_make(err, STK_EINVAL, path, "a hidden file cannot be part of a sample");
    return STK_OK;
}

int pack_collect(pack_job *job, const words *sources)
{
    stk_error err = STK_ERROR_INIT;

    for (size_t i = 0; i < sources->count; i++) {
        if (take_source(job, sources->words[i], (uint32_t)i, &err) < 0)
            return fail_plainly(&err, job->s.json);
    }
    return EXIT_DONE;
}
