/*
 * Members per second of the tar reader on a shard of small samples, from the page cache.
 *
 *     bench_tar [--samples N] [--text BYTES] [--rounds N] [--keep PATH] [PATH]
 *
 * Without PATH it writes a shard first: N samples (400,000) of BYTES (100) of text and one byte of
 * class. Reading with data and of headers alone take turns; each round checks a sum over all bytes
 * handed out, so that none can be left out. Prints median, best and worst as one JSON line each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <stoker/archive.h>

typedef struct settings {
    unsigned long samples, text_bytes, rounds;
    const char *keep, *path;
} settings;

enum { MOST_ROUNDS = 1000 };

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void quit(const stk_error *err)
{
    char line[1024];

    stk_error_format(err, line, sizeof line);
    fprintf(stderr, "bench_tar: %s\n", line);
    exit(1);
}

static void write_shard(const settings *s, const char *path)
{
    stk_error err = STK_ERROR_INIT;
    stk_tar_writer *writer = NULL;
    char *text = malloc(s->text_bytes + 1);
    double start = now();

    if (text == NULL)
        exit(1);
    if (stk_tar_writer_open(path, 0, &writer, &err) < 0)
        quit(&err);
    for (unsigned long i = 0; i < s->samples; i++) {
        char name[64], class = (char)('0' + i % 10);
        int length = snprintf(name, sizeof name, "%09lu.txt", i);

        memset(text, (int)('a' + i % 26), s->text_bytes);
        if (stk_tar_writer_add(writer, (stk_view){name, (size_t)length},
                (stk_view){text, s->text_bytes}, &err) < 0)
            quit(&err);
        memcpy(name + length - 3, "cls", 3);
        if (stk_tar_writer_add(
                writer, (stk_view){name, (size_t)length}, (stk_view){&class, 1}, &err) < 0)
            quit(&err);
    }
    if (stk_tar_writer_finish(writer, &err) < 0)
        quit(&err);
    free(text);
    fprintf(stderr, "wrote %lu members in %.2f s\n", 2 * s->samples, now() - start);
}

/* A sum that every byte changes; cheap enough to be no part of what is measured. */
static unsigned long long sum_of(stk_view data)
{
    const unsigned char *p = data.data;
    unsigned long long sum = data.size;

    for (size_t i = 0; i < data.size; i++)
        sum += p[i];
    return sum;
}

/* One pass; returns seconds. */
static double pass(const char *path, bool data, unsigned long *members, unsigned long long *sum)
{
    stk_tar_options options = STK_TAR_OPTIONS_INIT;
    stk_error err = STK_ERROR_INIT;
    stk_tar *tar = NULL;
    stk_member member;
    stk_status st;
    double start = now();

    options.data = data;
    *members = 0;
    *sum = 0;
    if (stk_tar_open(path, &options, &tar, &err) < 0)
        quit(&err);
    while ((st = stk_tar_next(tar, &member, &err)) == STK_OK) {
        ++*members;
        *sum += data ? sum_of(member.data) : member.size_bytes;
    }
    if (st < 0)
        quit(&err);
    stk_tar_close(tar);
    return now() - start;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void report(const char *what, double *seconds, unsigned long rounds, unsigned long members,
    unsigned long long sum)
{
    qsort(seconds, rounds, sizeof *seconds, by_value);
    printf("{\"what\": \"%s\", \"members\": %lu, \"rounds\": %lu, \"members_per_s\": %.0f, "
           "\"best\": %.0f, \"worst\": %.0f, \"sum\": %llu}\n",
        what, members, rounds, (double)members / seconds[rounds / 2], (double)members / seconds[0],
        (double)members / seconds[rounds - 1], sum);
}

static void measure(const settings *s, const char *path)
{
    static double seconds[2][MOST_ROUNDS];
    unsigned long members[2];
    unsigned long long sum[2], first[2];

    for (int with_data = 0; with_data < 2; with_data++) /* warm up, and the sums to compare with */
        pass(path, with_data != 0, &members[with_data], &first[with_data]);
    for (unsigned long round = 0; round < s->rounds; round++) {
        for (int with_data = 0; with_data < 2; with_data++) {
            seconds[with_data][round] =
                pass(path, with_data != 0, &members[with_data], &sum[with_data]);
            if (sum[with_data] != first[with_data]) {
                fprintf(stderr, "bench_tar: two passes gave different bytes\n");
                exit(1);
            }
        }
    }
    report("headers alone", seconds[0], s->rounds, members[0], first[0]);
    report("with data", seconds[1], s->rounds, members[1], first[1]);
}

static settings parse(int argc, char **argv)
{
    settings s = {.samples = 400000, .text_bytes = 100, .rounds = 9};

    for (int i = 1; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : "";

        if (strcmp(argv[i], "--samples") == 0)
            s.samples = strtoul(next, NULL, 10), i++;
        else if (strcmp(argv[i], "--text") == 0)
            s.text_bytes = strtoul(next, NULL, 10), i++;
        else if (strcmp(argv[i], "--rounds") == 0)
            s.rounds = strtoul(next, NULL, 10), i++;
        else if (strcmp(argv[i], "--keep") == 0)
            s.keep = next, i++;
        else
            s.path = argv[i];
    }
    if (s.rounds < 1 || s.rounds > MOST_ROUNDS) {
        fprintf(stderr, "bench_tar: 1 to %d rounds\n", (int)MOST_ROUNDS);
        exit(2);
    }
    return s;
}

int main(int argc, char **argv)
{
    settings s = parse(argc, argv);
    char made[256];

    if (s.path != NULL) {
        measure(&s, s.path);
        return 0;
    }
    snprintf(made, sizeof made, "%s/bench_tar.%ld.tar",
        getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp", (long)getpid());
    write_shard(&s, s.keep != NULL ? s.keep : made);
    measure(&s, s.keep != NULL ? s.keep : made);
    if (s.keep == NULL)
        unlink(made);
    return 0;
}
