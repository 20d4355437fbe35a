/*
 * A bar on standard error while something long runs: only on a terminal, never with --quiet.
 *
 * Workers count, from any thread; the main thread draws and is the only one to touch the terminal.
 */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct progress {
    const char *doing; /* "packing" */
    const char *unit;  /* "samples" */
    uint64_t total;    /* of units */
    uint64_t start_ns;
    bool wanted;
    _Atomic uint64_t units, bytes; /* done so far; counted by any thread, read for show only */
} progress;

/* Nanoseconds of a clock that never goes back. */
uint64_t clock_ns(void);

void progress_start(progress *p, const char *doing, const char *unit, uint64_t total, bool quiet);
void progress_add(progress *p, uint64_t units, uint64_t bytes);
void progress_draw(progress *p);

/* Take the bar away. */
void progress_end(progress *p);

#endif
