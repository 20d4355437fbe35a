/* passes.c: see passes.h. */
#include "passes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "path_list.h"

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
    (void)fprintf(stderr, "%s\n", line);
    return false;
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

static bool run_pass(const path_list *l, pass_fn *pass)
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
    path_list l = {NULL, 0, 0};
    size_t passes = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
    bool fine;

    if (passes < 1) {
        (void)fprintf(stderr, "usage: %s PASSES < list-of-files\n", program);
        return 2;
    }
    fine = path_list_read(&l);
    for (size_t i = 0; fine && i < passes; i++)
        fine = run_pass(&l, pass);
    path_list_fini(&l);
    return fine ? 0 : 1;
}
