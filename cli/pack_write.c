/*
 * Writing the shards: threads take one after the other, each shard is one thread's.
 *
 * A shard is written under a temporary name and gets its own when it is complete and on the disk,
 * so a killed run leaves nothing half under a final name. The first failure stops the others after
 * the sample in their hands. What stands there already is looked at before anything is written.
 *
 * Locks: job->mutex alone, held for a few stores.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stoker/archive.h>

#include "crew.h"
#include "out_human.h"
#include "pack.h"
#include "save.h"
#include "stop.h"

enum { LONGEST_LABEL = 24 };

/* Bytes of one sample, read before any of them is written. */
typedef struct pack_bytes {
    char *data;
    size_t size, capacity;
} pack_bytes;

static stk_status room_for(pack_bytes *bytes, uint64_t more, const char *path, stk_error *err)
{
    size_t need;
    char *grown;

    if (more > SIZE_MAX / 2 - bytes->size) {
        return error_make(
            err, STK_ENOMEM, path, "no memory for a file of %s", bytes_text(more).text);
    }
    need = bytes->size + (size_t)more + 1;
    if (need <= bytes->capacity)
        return STK_OK;
    need += need / 2;
    grown = realloc(bytes->data, need);
    if (grown == NULL) {
        return error_make(
            err, STK_ENOMEM, path, "no memory for a file of %s", bytes_text(more).text);
    }
    bytes->data = grown;
    bytes->capacity = need;
    return STK_OK;
}

/* Exactly the bytes that the plan counted, and no more after them. */
static stk_status read_exactly(const pack_file *file, int fd, pack_bytes *bytes, stk_error *err)
{
    uint64_t got = 0;

    while (got <= file->size_bytes) { /* one byte more is asked for: it must not be there */
        uint64_t left = file->size_bytes - got + 1;
        ssize_t n = read(fd, bytes->data + bytes->size + got, (size_t)left);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_os(err, errno, file->path, "file could not be read");
        if (n == 0)
            break;
        got += (uint64_t)n;
    }
    if (got != file->size_bytes) {
        bool longer = got > file->size_bytes;
        return error_make(err, STK_ESOURCE, file->path,
            "the file changed while it was packed: it had %llu bytes, now %s%llu",
            (unsigned long long)file->size_bytes, longer ? "at least " : "",
            (unsigned long long)got);
    }
    bytes->size += (size_t)got;
    return STK_OK;
}

static stk_status read_file(const pack_file *file, pack_bytes *bytes, stk_error *err)
{
    stk_status st = room_for(bytes, file->size_bytes, file->path, err);
    int fd;

    if (st < 0)
        return st;
    fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return error_os(err, errno, file->path, "file could not be opened");
    st = read_exactly(file, fd, bytes, err);
    if (close(fd) != 0 && st >= 0)
        st = error_os(err, errno, file->path, "file could not be read");
    return st;
}

static stk_status read_sample(
    const pack_job *job, const pack_sample *sample, pack_bytes *bytes, stk_error *err)
{
    stk_status st = STK_OK;

    bytes->size = 0;
    for (uint32_t i = 0; i < sample->count && st >= 0; i++)
        st = read_file(&job->files[sample->first + i], bytes, err);
    return st;
}

static stk_status add_label(
    const pack_job *job, const pack_sample *sample, stk_tar_writer *writer, stk_error *err)
{
    stk_view key = pack_key(job, sample);
    char number[LONGEST_LABEL];
    int length = snprintf(number, sizeof number, "%lld", (long long)sample->label);
    char *name = malloc(key.size + sizeof ".cls");
    stk_status st;

    if (name == NULL || length < 0) {
        free(name);
        return error_make(err, STK_ENOMEM, "", "no memory for the name of a member");
    }
    memcpy(name, key.data, key.size);
    memcpy(name + key.size, ".cls", sizeof ".cls");
    st = stk_tar_writer_add(writer, (stk_view){name, key.size + sizeof ".cls" - 1},
        (stk_view){number, (size_t)length}, err);
    free(name);
    return st;
}

static stk_status add_sample(const pack_job *job, const pack_sample *sample,
    const pack_bytes *bytes, stk_tar_writer *writer, stk_error *err)
{
    const char *data = bytes->data;
    stk_status st = STK_OK;

    for (uint32_t i = 0; i < sample->count && st >= 0; i++) {
        const pack_file *file = &job->files[sample->first + i];

        st = stk_tar_writer_add(writer, (stk_view){file->name, strlen(file->name)},
            (stk_view){data, (size_t)file->size_bytes}, err);
        data += file->size_bytes;
    }
    return st >= 0 && sample->adds_label ? add_label(job, sample, writer, err) : st;
}

/* What a thread has done so far; counted into the job at the end of each shard. */
typedef struct pack_worker {
    pack_job *job;
    pack_bytes bytes;
    uint64_t samples, files;
} pack_worker;

static bool give_up(const pack_job *job)
{
    return stop_asked() || atomic_load(&job->failed);
}

/* Every sample of the shard. STK_END: given up. */
static stk_status fill_shard(
    pack_worker *w, pack_shard *shard, stk_tar_writer *writer, stk_error *err)
{
    pack_job *job = w->job;
    stk_status st = STK_OK;

    for (size_t i = 0; i < shard->count && st >= 0; i++) {
        const pack_sample *sample = &job->samples[shard->first + i];

        if (give_up(job))
            return STK_END;
        st = read_sample(job, sample, &w->bytes, err);
        if (st < 0) {
            st = pack_forgive(job, st, err);
            shard->left_out++;
            progress_add(&job->bar, 1, 0);
            continue;
        }
        st = add_sample(job, sample, &w->bytes, writer, err);
        if (st < 0 && err->stage == STK_STAGE_NONE)
            err->stage = STK_STAGE_WRITE;
        w->samples++;
        w->files += sample->count + sample->adds_label;
        progress_add(&job->bar, 1, w->bytes.size);
    }
    return st;
}

static stk_status remove_index(const char *shard, stk_error *err)
{
    size_t capacity = strlen(shard) + sizeof ".stoker";
    char *path = malloc(capacity);
    stk_status st = STK_OK;

    if (path == NULL)
        return error_make(err, STK_ENOMEM, shard, "no memory for the name of an index");
    memcpy(path, shard, strlen(shard));
    memcpy(path + strlen(shard), ".stoker", sizeof ".stoker");
    if (unlink(path) != 0 && errno != ENOENT) {
        st = error_os(err, errno, path, "index could not be removed");
        err->stage = STK_STAGE_WRITE;
    }
    free(path);
    return st;
}

static void count_shard(pack_worker *w, uint64_t bytes)
{
    pthread_mutex_lock(&w->job->mutex);
    w->job->samples_out += w->samples;
    w->job->files_out += w->files;
    w->job->bytes_out += bytes;
    pthread_mutex_unlock(&w->job->mutex);
}

static stk_status write_shard(pack_worker *w, pack_shard *shard, stk_error *err)
{
    pack_job *job = w->job;
    stk_tar_writer *writer = NULL;
    stk_status st = stk_tar_writer_open(shard->path, 0, &writer, err);
    uint64_t bytes;

    w->samples = w->files = 0;
    if (st < 0)
        return st;
    st = fill_shard(w, shard, writer, err);
    bytes = stk_tar_writer_bytes(writer);
    if (st != STK_OK || w->samples == 0) { /* a shard without a sample is none */
        stk_tar_writer_abandon(writer);
        return st;
    }
    st = stk_tar_writer_finish(writer, err);
    if (st >= 0 && job->s.no_index)
        st = remove_index(shard->path, err);
    if (st >= 0) {
        shard->bytes = bytes + 1024; /* and the end marker */
        count_shard(w, shard->bytes);
    }
    return st;
}

/* Of several failures that of the lowest shard is told. */
static void record_failure(pack_job *job, size_t shard, const stk_error *err)
{
    pthread_mutex_lock(&job->mutex);
    if (!atomic_load(&job->failed) || shard < job->failed_shard) {
        job->failure = *err;
        job->failed_shard = shard;
    }
    atomic_store(&job->failed, true);
    pthread_mutex_unlock(&job->mutex);
}

static void write_shards(void *ctx, unsigned nth)
{
    pack_worker w = {.job = ctx};
    pack_job *job = ctx;

    (void)nth;
    while (!give_up(job)) {
        stk_error err = STK_ERROR_INIT;
        size_t shard = atomic_fetch_add(&job->next, 1);

        if (shard >= job->shard_count)
            break;
        if (job->shards[shard].kept)
            continue;
        if (write_shard(&w, &job->shards[shard], &err) < 0)
            record_failure(job, shard, &err);
    }
    free(w.bytes.data);
}

/* --continue: which of the shards that are there can be kept? */
static void check_shards(void *ctx, unsigned nth)
{
    pack_job *job = ctx;

    (void)nth;
    while (!give_up(job)) {
        stk_error err = STK_ERROR_INIT;
        size_t nth_shard = atomic_fetch_add(&job->next, 1);
        pack_shard *shard;
        struct stat st;

        if (nth_shard >= job->shard_count)
            break;
        shard = &job->shards[nth_shard];
        progress_add(&job->bar, 1, 0);
        if (lstat(shard->path, &st) != 0)
            continue;
        switch (pack_shard_equals(job, shard, &err)) {
        case STK_OK:
            shard->kept = true;
            shard->bytes = (uint64_t)st.st_size;
            break;
        case STK_ECORRUPT: /* not of a killed run of ours, but of no use: made anew */
            if (unlink(shard->path) == 0)
                break;
            error_os(&err, errno, shard->path, "damaged shard could not be removed");
            record_failure(job, nth_shard, &err);
            break;
        default:
            record_failure(job, nth_shard, &err);
        }
    }
}

static unsigned thread_count(const pack_job *job)
{
    uint64_t threads = job->s.threads > 0 ? job->s.threads : crew_cores();

    return (unsigned)(threads < job->shard_count ? threads : job->shard_count);
}

static int keep_shards(pack_job *job)
{
    atomic_store(&job->next, 0);
    progress_start(&job->bar, "checking", "shards", job->shard_count, job->s.quiet);
    crew_run(thread_count(job), check_shards, job, &job->bar);
    progress_end(&job->bar);
    if (atomic_load(&job->failed) && job->failure.status == STK_EEXIST)
        return fail_plainly(&job->failure, job->s.json);
    if (atomic_load(&job->failed))
        return fail(&job->failure, job->s.json);
    if (stop_asked())
        return EXIT_STOPPED;
    for (size_t i = 0; i < job->shard_count; i++) {
        pack_shard *shard = &job->shards[i];

        if (!shard->kept)
            continue;
        job->samples_out += shard->count - shard->left_out;
        job->bytes_out += shard->bytes;
        job->files_out += shard->files;
    }
    return EXIT_DONE;
}

static int make_folder(const pack_job *job)
{
    char *path = memory_get(NULL, strlen(job->out.folder) + 1, 1);
    stk_error err;
    int code = EXIT_DONE;

    memcpy(path, job->out.folder, strlen(job->out.folder) + 1);
    for (char *p = path + 1; code == EXIT_DONE; p++) {
        char here = *p;

        if (here != '/' && here != '\0')
            continue;
        *p = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST) {
            error_os(&err, errno, path, "folder could not be made");
            err.stage = STK_STAGE_WRITE;
            code = fail(&err, job->s.json);
        }
        *p = here;
        if (here == '\0')
            break;
    }
    free(path);
    return code;
}

int pack_write(pack_job *job)
{
    int code = make_folder(job);

    if (code == EXIT_DONE)
        code = pack_outputs(job);
    if (code == EXIT_DONE && job->s.go_on)
        code = keep_shards(job);
    if (code != EXIT_DONE)
        return code;
    atomic_store(&job->next, 0);
    progress_start(&job->bar, "packing", "samples", job->sample_count, job->s.quiet);
    for (size_t i = 0; i < job->shard_count; i++)
        progress_add(&job->bar, job->shards[i].kept ? job->shards[i].count : 0, 0);
    crew_run(thread_count(job), write_shards, job, &job->bar);
    progress_end(&job->bar);
    if (atomic_load(&job->failed))
        return fail(&job->failure, job->s.json);
    if (stop_asked())
        return EXIT_STOPPED;
    return pack_save_classes(job);
}
