/*
 * Which sample goes into which shard: decided from names and sizes, before anything is written.
 *
 * Source of the sizes: POSIX ustar: a header of 512 bytes, the data padded to 512; a pax header of
 * two blocks more where the name fits neither its field nor its prefix.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "out_human.h"
#include "pack.h"

enum { TAR_BLOCK = 512, TAR_END = 1024, WIDEST_NUMBER = 18 };

int pack_output_parse(pack_job *job)
{
    pack_output *o = &job->out;
    const char *path = job->s.output;
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    size_t length = strlen(name), used = 0;
    struct stat there;
    char *part;

    if (length < 5 || strcmp(name + length - 4, ".tar") != 0)
        return usage_error(job->cmd, "--output is '%s'; its name must end in .tar", path);
    o->folder = memory_get(NULL, strlen(path) + 2, 1);
    if (slash == NULL) {
        memcpy(o->folder, ".", 2);
    } else if (slash == path) {
        memcpy(o->folder, "/", 2);
    } else {
        memcpy(o->folder, path, (size_t)(slash - path));
    }
    if (slash != NULL && slash != path)
        o->folder[slash - path] = '\0';
    o->prefix = memory_get(NULL, length + 1, 1);
    o->suffix = memory_get(NULL, length + 1, 1);
    o->suffix[0] = '\0';
    part = o->prefix;
    for (const char *p = name; *p != '\0'; p++) {
        if (*p != '%' || p[1] == '%') {
            part[used++] = *p;
            p += *p == '%';
            continue;
        }
        if (o->numbered)
            return usage_error(job->cmd, "--output has more than one number: '%s'", path);
        p++;
        o->zeros = *p == '0';
        while (*p >= '0' && *p <= '9' && o->width < 100)
            o->width = o->width * 10 + (unsigned)(*p++ - '0');
        if (*p != 'd' || o->width > WIDEST_NUMBER) {
            return usage_error(
                job->cmd, "--output is '%s'; the number of a shard is written %%06d", path);
        }
        o->numbered = true;
        part[used] = '\0';
        part = o->suffix;
        used = 0;
    }
    part[used] = '\0';
    if (stat(o->folder, &there) == 0) {
        o->device = there.st_dev;
        o->inode = there.st_ino;
    }
    return EXIT_DONE;
}

char *pack_output_path(const pack_job *job, uint64_t nth)
{
    const pack_output *o = &job->out;
    size_t capacity = strlen(o->folder) + strlen(o->prefix) + strlen(o->suffix) + 32;
    char *path = memory_get(NULL, capacity, 1);
    char number[32] = "";
    int length;

    if (o->numbered && snprintf(number, sizeof number, o->zeros ? "%0*llu" : "%*llu", (int)o->width,
                           (unsigned long long)nth) < 0)
        number[0] = '\0';
    length = snprintf(path, capacity, "%s%s%s%s%s", strcmp(o->folder, ".") == 0 ? "" : o->folder,
        strcmp(o->folder, ".") == 0 || strcmp(o->folder, "/") == 0 ? "" : "/", o->prefix, number,
        o->suffix);
    if (length < 0)
        path[0] = '\0';
    return path;
}

/* Does a name over 100 bytes fit ustar: up to 155 bytes, a slash, up to 100 bytes? */
static bool splits(const char *name, size_t size)
{
    for (size_t i = 1; i < size && i <= 155; i++) {
        if (name[i] == '/' && size - i - 1 <= 100 && size - i - 1 > 0)
            return true;
    }
    return false;
}

static uint64_t padded(uint64_t size_bytes)
{
    return size_bytes + (TAR_BLOCK - size_bytes % TAR_BLOCK) % TAR_BLOCK;
}

static uint64_t member_bytes(const char *name, uint64_t size_bytes)
{
    size_t size = strlen(name);
    uint64_t bytes = TAR_BLOCK + padded(size_bytes);

    if ((size > 100 && !splits(name, size)) || size_bytes >= 8ull << 30)
        bytes += TAR_BLOCK + padded(size + 64);
    return bytes;
}

static uint64_t sample_bytes(const pack_job *job, const pack_sample *sample)
{
    uint64_t bytes = sample->adds_label ? 2 * TAR_BLOCK : 0;

    for (uint32_t i = 0; i < sample->count; i++) {
        const pack_file *file = &job->files[sample->first + i];
        bytes += member_bytes(file->name, file->size_bytes);
    }
    return bytes;
}

/* SplitMix64, and numbers below a bound without bias. Source: Steele, Lea, Flood 2014. */
static uint64_t next_draw(uint64_t *state)
{
    uint64_t x = *state += 0x9E3779B97F4A7C15u;

    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static uint64_t draw_below(uint64_t *state, uint64_t bound)
{
    uint64_t most = UINT64_MAX - UINT64_MAX % bound, draw;

    do {
        draw = next_draw(state);
    } while (draw >= most);
    return draw % bound;
}

static void shuffle(pack_job *job)
{
    uint64_t state = job->s.seed;

    for (size_t i = job->sample_count; i > 1; i--) {
        size_t k = (size_t)draw_below(&state, i);
        pack_sample swap = job->samples[i - 1];

        job->samples[i - 1] = job->samples[k];
        job->samples[k] = swap;
    }
}

static void add_shard(pack_job *job, size_t *capacity, size_t first, size_t end, uint64_t bytes)
{
    job->shards = memory_more(job->shards, job->shard_count, capacity, sizeof *job->shards);
    job->shards[job->shard_count] =
        (pack_shard){.first = first, .count = end - first, .bytes = bytes + TAR_END};
    job->shard_count++;
}

/* Is the shard that holds [first, next) full before sample `next` of `bytes` is added? */
static bool full(const pack_job *job, size_t first, size_t next, uint64_t used, uint64_t bytes)
{
    const pack_settings *s = &job->s;
    uint64_t size = s->shard_size > 0 ? s->shard_size : 500ull * 1000 * 1000;

    if (next == first)
        return false;         /* a sample that is larger than a shard has one of its own */
    if (s->shard_count > 0) { /* shard k ends at (k + 1) n / count */
        return (uint64_t)next ==
               (job->shard_count + 1) * (uint64_t)job->sample_count / s->shard_count;
    }
    if (s->shard_samples > 0)
        return next - first >= s->shard_samples;
    return used + bytes + TAR_END > size;
}

static void make_shards(pack_job *job)
{
    size_t first = 0, capacity = 0;
    uint64_t used = 0;

    for (size_t i = 0; i < job->sample_count; i++) {
        uint64_t bytes = sample_bytes(job, &job->samples[i]);

        if (full(job, first, i, used, bytes)) {
            add_shard(job, &capacity, first, i, used);
            first = i;
            used = 0;
        }
        used += bytes;
    }
    add_shard(job, &capacity, first, job->sample_count, used);
}

int pack_plan(pack_job *job)
{
    if (job->s.shard_count > job->sample_count) {
        return usage_error(job->cmd, "--shard-count is %llu, but there are only %zu samples",
            (unsigned long long)job->s.shard_count, job->sample_count);
    }
    if (job->s.shuffle)
        shuffle(job);
    make_shards(job);
    if (job->shard_count > 1 && !job->out.numbered) {
        return usage_error(job->cmd, "%zu shards need a number in --output: %s%%06d.tar",
            job->shard_count, job->out.prefix);
    }
    for (size_t i = 0; i < job->shard_count; i++)
        job->shards[i].path = pack_output_path(job, i);
    return EXIT_DONE;
}
