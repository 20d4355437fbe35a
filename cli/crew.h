/* Several threads at one job, while the main thread draws the progress. */
#ifndef CREW_H
#define CREW_H

#include "progress.h"

/* Cores that this process may use: affinity mask, lowered by the quota of the cgroup. */
unsigned crew_cores(void);

/*
 * Run work(ctx, nth) in `count` threads, nth from 0, and return when all have ended. Where the
 * system refuses threads fewer run; where it gives none the main thread does the work.
 */
void crew_run(unsigned count, void (*work)(void *ctx, unsigned nth), void *ctx, progress *p);

#endif
