/* passes.c: see passes.h. */
#include "passes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

typedef struct list {
    char **paths;
    size_t count, capacity;
} list;

uint64_t sum_words(stk_view bytes)
{
    const unsigned char *data = bytes.data;
    uint64_t sum = 0, word = 0;
    size_t at = 0;

    for (; at + sizeof word <= bytes.size; at += sizeof word) {
        memcpy(&word, data + at, sizeof word);
        sum += word;
    }
    word = 0;
    if (at < bytes.size)
        memcpy(&word, data + at, bytes.size - at);
    return sum + word;
}

bool complain(const stk_error *err)
{
    char line[1024];

    stk_error_format(err, line, sizeof line);
    fprintf(stderr, "%s\n", line);
    return false;
}

static bool append(list *l, char *path)
{
    if (l->count == l->capacity) {
        size_t capacity = l->capacity > 0 ? l->capacity * 2 : 64;
        char **larger = realloc(l->paths, capacity * sizeof *larger);
        if (larger == NULL)
            return false;
        l->paths = larger;
        l->capacity = capacity;
    }
    l->paths[l->count++] = path;
    return true;
}

static bool read_list(list *l)
{
    for (;;) {
        char *line = NULL;
        size_t capacity = 0;
        ssize_t length = getline(&line, &capacity, stdin);

        if (length <= 0) {
            free(line);
            return l->count > 0;
        }
        if (line[length - 1] == '\n')
            line[length - 1] = '\0';
        if (!append(l, line)) {
            free(line);
            return false;
        }
    }
}

static double clock_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double cpu_seconds(const struct rusage *used)
{
    return (double)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) +
           (double)(used->ru_utime.tv_usec + used->ru_stime.tv_usec) * 1e-6;
}

static bool run_pass(const list *l, pass_fn *pass)
{
    struct rusage before, after;
    tally t = {0, 0, 0};
    double begun = clock_seconds();
    bool fine;

    getrusage(RUSAGE_SELF, &before);
    fine = pass(l->paths, l->count, &t);
    getrusage(RUSAGE_SELF, &after);
    if (fine) {
        printf("{\"samples\": %" PRIu64 ", \"members\": %" PRIu64
               ", \"seconds\": %.6f, \"cpu_seconds\": %.6f, \"sum\": %" PRIu64
               ", \"peak_rss_bytes\": %ld}\n",
            t.samples, t.members, clock_seconds() - begun,
            cpu_seconds(&after) - cpu_seconds(&before), t.sum, after.ru_maxrss * 1024);
    }
    return fine;
}

int run_passes(const char *program, int argc, char **argv, pass_fn *pass)
{
    list l = {NULL, 0, 0};
    size_t passes = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
    bool fine;

    if (passes < 1) {
        fprintf(stderr, "usage: %s PASSES < list-of-files\n", program);
        return 2;
    }
    fine = read_list(&l);
    for (size_t i = 0; fine && i < passes; i++)
        fine = run_pass(&l, pass);
    for (size_t i = 0; i < l.count; i++)
        free(l.paths[i]);
    free(l.paths);
    return fine ? 0 : 1;
}
