/*
 * What stands in the folder of the output already: shards of an earlier run, what a killed run left
 * behind, the names of the classes.
 *
 * Shards of the plan, and shards whose number is beyond it, are an error before anything is
 * written: the old ones beyond the plan would be read as a part of the new dataset. --continue
 * looks at the former, --force removes both, all of them before the first new one is written.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stoker/os.h>

#include "out_human.h"
#include "pack.h"
#include "save.h"

/* What a listing of the folder found. */
typedef struct found {
    char **shards; /* names of shards of this output, in the plan or beyond it */
    size_t shard_count, shard_capacity;
    char **leftovers; /* unfinished files, of runs that were killed or that live */
    size_t leftover_count, leftover_capacity;
} found;

static char *copy_name(const char *name)
{
    size_t size = strlen(name) + 1;
    char *copy = memory_get(NULL, size, 1);

    memcpy(copy, name, size);
    return copy;
}

/* Is `name` the name of a shard of this output, up to `size_out`? Any number will do. */
static bool starts_as_shard(const pack_output *o, const char *name, size_t *size_out)
{
    size_t prefix = strlen(o->prefix), suffix = strlen(o->suffix), digits;

    if (strncmp(name, o->prefix, prefix) != 0)
        return false;
    digits = strspn(name + prefix, o->zeros || o->width == 0 ? "0123456789" : " 0123456789");
    if (o->numbered != (digits > 0) || strncmp(name + prefix + digits, o->suffix, suffix) != 0)
        return false;
    *size_out = prefix + digits + suffix;
    return true;
}

bool pack_is_output_folder(const pack_job *job, const struct stat *folder)
{
    return job->out.inode != 0 && folder->st_dev == job->out.device &&
           folder->st_ino == job->out.inode;
}

bool pack_is_output_name(const pack_job *job, const char *name)
{
    size_t size;

    if (strcmp(name, "classes.txt") == 0)
        return true;
    return starts_as_shard(&job->out, name, &size) &&
           (name[size] == '\0' || strcmp(name + size, ".stoker") == 0);
}

static bool ends_in(const char *name, const char *end)
{
    size_t size = strlen(name), tail = strlen(end);

    return size >= tail && strcmp(name + size - tail, end) == 0;
}

/*
 * Is it a file of a run on its way, or of one that was killed? Their names are the engine's:
 * ".SHARD.stoker-part", ".SHARD.stoker.stoker-part", with digits behind if that was taken.
 */
static bool is_unfinished(const pack_output *o, const char *name)
{
    static const char end[] = ".stoker-part";
    const char *at = strstr(name, end), *rest;
    size_t size;

    if (name[0] != '.' || at == NULL)
        return false;
    if (strncmp(name, ".classes.txt.", 13) == 0)
        return true;
    if (!starts_as_shard(o, name + 1, &size))
        return false;
    rest = name + 1 + size;
    if (strncmp(rest, ".stoker.", 8) == 0)
        rest += 7;
    return strncmp(rest, end, sizeof end - 1) == 0 &&
           strspn(rest + sizeof end - 1, "0123456789") == strlen(rest + sizeof end - 1);
}

static stk_status list_folder(const pack_job *job, found *f, stk_error *err)
{
    const struct dirent *entry;
    DIR *folder = opendir(job->out.folder);

    if (folder == NULL)
        return error_os(err, errno, job->out.folder, "folder could not be opened");
    for (;;) {
        size_t size;

        errno = 0;
        entry = readdir(folder); /* NOLINT(concurrency-mt-unsafe): a stream of our own */
        if (entry == NULL)
            break;
        if (is_unfinished(&job->out, entry->d_name)) {
            f->leftovers = (char **)memory_more(
                (void *)f->leftovers, f->leftover_count, &f->leftover_capacity, sizeof(char *));
            f->leftovers[f->leftover_count++] = copy_name(entry->d_name);
        } else if (starts_as_shard(&job->out, entry->d_name, &size) &&
                   entry->d_name[size] == '\0') {
            f->shards = (char **)memory_more(
                (void *)f->shards, f->shard_count, &f->shard_capacity, sizeof(char *));
            f->shards[f->shard_count++] = copy_name(entry->d_name);
        }
    }
    if (errno != 0)
        error_os(err, errno, job->out.folder, "folder could not be read");
    if (closedir(folder) != 0 && err->status == STK_OK)
        error_os(err, errno, job->out.folder, "folder could not be read");
    return err->status;
}

static void found_free(found *f)
{
    for (size_t i = 0; i < f->shard_count; i++)
        free(f->shards[i]);
    for (size_t i = 0; i < f->leftover_count; i++)
        free(f->leftovers[i]);
    free((void *)f->shards);
    free((void *)f->leftovers);
}

static char *in_folder(const pack_job *job, const char *name, const char *end)
{
    const char *folder = strcmp(job->out.folder, ".") == 0 ? "" : job->out.folder;
    bool slash = folder[0] != '\0' && !ends_in(folder, "/");
    size_t capacity = strlen(folder) + strlen(name) + strlen(end) + 2;
    char *path = memory_get(NULL, capacity, 1);

    if (snprintf(path, capacity, "%s%s%s%s", folder, slash ? "/" : "", name, end) < 0)
        path[0] = '\0';
    return path;
}

static stk_status remove_named(
    const pack_job *job, const char *name, const char *end, stk_error *err)
{
    char *path = in_folder(job, name, end);
    stk_status st = STK_OK;

    if (unlink(path) != 0 && errno != ENOENT) {
        st = error_os(err, errno, path, "file could not be removed");
        err->stage = STK_STAGE_WRITE;
    }
    free(path);
    return st;
}

/* One whose writer lives stays; one that cannot be removed is in nobody's way. */
static void remove_leftover(const pack_job *job, const char *name)
{
    char *path = in_folder(job, name, "");

    stk_draft_remove_dead(path);
    free(path);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(a, *(char *const *)b);
}

/* Sort the names found, and the paths of the plan with them: how many are beyond the plan? */
static size_t move_beyond_plan_first(const pack_job *job, found *f)
{
    char **planned = (char **)memory_get(NULL, job->shard_count, sizeof *planned);
    size_t beyond = 0;

    for (size_t i = 0; i < job->shard_count; i++) {
        char *slash = strrchr(job->shards[i].path, '/');
        planned[i] = slash == NULL ? job->shards[i].path : slash + 1;
    }
    qsort((void *)planned, job->shard_count, sizeof *planned, by_name);
    if (f->shard_count > 0)
        qsort((void *)f->shards, f->shard_count, sizeof *f->shards, by_name);
    for (size_t i = 0; i < f->shard_count; i++) {
        char *name = f->shards[i];

        if (bsearch(name, (void *)planned, job->shard_count, sizeof *planned, by_path) == NULL) {
            memmove((void *)(f->shards + beyond + 1), (void *)(f->shards + beyond),
                (i - beyond) * sizeof *f->shards);
            f->shards[beyond++] = name;
        }
    }
    free((void *)planned);
    return beyond;
}

static stk_status refuse(
    const pack_job *job, const found *f, size_t count, bool beyond, stk_error *err)
{
    char *path = in_folder(job, f->shards[0], "");
    char more[64] = "";

    if (count > 1 && snprintf(more, sizeof more, ", and %zu more", count - 1) < 0)
        more[0] = '\0';
    error_make(err, STK_EEXIST, path, "%s%s; %s",
        beyond ? "a shard stands there that is no part of this pack" : "the shard exists already",
        more, beyond ? "--force removes such" : "--continue goes on, --force makes all anew");
    free(path);
    return STK_EEXIST;
}

static stk_status settle(const pack_job *job, found *f, stk_error *err)
{
    size_t beyond = move_beyond_plan_first(job, f);
    stk_status st = STK_OK;

    if (!job->s.force && beyond > 0)
        return refuse(job, f, beyond, true, err);
    if (!job->s.force && !job->s.go_on && f->shard_count > 0)
        return refuse(job, f, f->shard_count, false, err);
    for (size_t i = 0; i < f->leftover_count; i++)
        remove_leftover(job, f->leftovers[i]);
    for (size_t i = 0; job->s.force && i < f->shard_count && st >= 0; i++) {
        st = remove_named(job, f->shards[i], "", err);
        if (st >= 0)
            st = remove_named(job, f->shards[i], ".stoker", err);
    }
    return st;
}

/* The classes as they stand beside the shards: one name a line. */
static void write_classes(FILE *file, const void *ctx)
{
    const pack_job *job = ctx;

    for (size_t i = 0; i < job->class_count; i++) {
        if (fprintf(file, "%s\n", job->classes[i]) < 0)
            return; /* who reads the stream asks ferror() */
    }
}

static bool same_classes(const pack_job *job, const char *path)
{
    size_t want_size = 0, got = 0;
    char *want = save_in_memory(write_classes, job, &want_size), *have = NULL;
    FILE *file = fopen(path, "re");
    bool same;

    if (want != NULL && file != NULL) {
        have = malloc(want_size + 1);
        got = have != NULL ? fread(have, 1, want_size + 1, file) : 0;
    }
    same = have != NULL && got == want_size && memcmp(want, have, got) == 0;
    if (file != NULL && fclose(file) != 0)
        same = false;
    free(want);
    free(have);
    return same;
}

/* Shards for training and for validation often share a folder: then their classes must agree, or
 * the same number means two things. */
static stk_status check_classes(const pack_job *job, stk_error *err)
{
    char *path = in_folder(job, "classes.txt", "");
    stk_status st = STK_OK;
    struct stat seen;

    for (size_t i = 0; i < job->class_count && st >= 0; i++) {
        if (strchr(job->classes[i], '\n') != NULL) {
            st = error_make(err, STK_EINVAL, job->classes[i],
                "the name of a class has a line break, and classes.txt has one name a line");
        }
    }
    if (st >= 0 && !job->s.force && lstat(path, &seen) == 0 && !same_classes(job, path)) {
        st = error_make(err, STK_EEXIST, path,
            "it has other classes than this pack; --classes takes the numbers from a file, "
            "--force replaces it");
    }
    free(path);
    return st;
}

int pack_outputs(pack_job *job)
{
    stk_error err = STK_ERROR_INIT;
    found f = {0};
    stk_status st = STK_OK;

    if (job->class_count > 0)
        st = check_classes(job, &err);
    if (st >= 0)
        st = list_folder(job, &f, &err);
    if (st >= 0)
        st = settle(job, &f, &err);
    found_free(&f);
    if (st == STK_EEXIST || st == STK_EINVAL)
        return fail_plainly(&err, job->s.json); /* the text has the options that help */
    return st < 0 ? fail(&err, job->s.json) : EXIT_DONE;
}

int pack_save_classes(pack_job *job)
{
    stk_error err = STK_ERROR_INIT;
    stk_status st = STK_OK;
    char *path;

    if (job->class_count == 0)
        return EXIT_DONE;
    path = in_folder(job, "classes.txt", "");
    if (!same_classes(job, path))
        st = save_file(path, write_classes, job, &err);
    free(path);
    return st < 0 ? fail(&err, job->s.json) : EXIT_DONE;
}
