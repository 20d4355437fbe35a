/* Several threads at one job: see crew.h. */
#include "crew.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_THREADS = 1024, DRAW_MS = 100 };

static unsigned quota_cores(void)
{
    long long quota = 0, period = 0;
    char line[64];
    char *end;
    FILE *file = fopen("/sys/fs/cgroup/cpu.max", "re");

    if (file == NULL)
        return 0;
    if (fgets(line, sizeof line, file) != NULL) {
        quota = strtoll(line, &end, 10); /* "max 100000" gives 0: no quota */
        period = strtoll(end, NULL, 10);
    }
    if (fclose(file) != 0 || quota <= 0 || period <= 0)
        return 0;
    return (unsigned)((quota + period - 1) / period);
}

unsigned crew_cores(void)
{
    cpu_set_t mask;
    unsigned cores = 1, quota = quota_cores();

    if (sched_getaffinity(0, sizeof mask, &mask) == 0)
        cores = (unsigned)CPU_COUNT(&mask);
    if (quota != 0 && quota < cores)
        cores = quota;
    return cores > 0 ? cores : 1;
}

typedef struct crew {
    void (*work)(void *ctx, unsigned nth);
    void *ctx;
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    unsigned running; /* guarded by mutex */
    unsigned next;    /* guarded by mutex: number of the next thread to begin */
} crew;

static void *thread_main(void *arg)
{
    crew *c = arg;
    unsigned nth;

    pthread_mutex_lock(&c->mutex);
    nth = c->next++;
    pthread_mutex_unlock(&c->mutex);
    c->work(c->ctx, nth);
    pthread_mutex_lock(&c->mutex);
    c->running--;
    pthread_cond_signal(&c->ended);
    pthread_mutex_unlock(&c->mutex);
    return NULL;
}

static void deadline_in(unsigned wait_ms, struct timespec *deadline)
{
    clock_gettime(CLOCK_REALTIME, deadline);
    deadline->tv_nsec += (long)wait_ms * 1000000;
    if (deadline->tv_nsec >= 1000000000) {
        deadline->tv_nsec -= 1000000000;
        deadline->tv_sec++;
    }
}

/* Threads take no signals: they are the main thread's. */
static unsigned start_threads(crew *c, pthread_t *threads, unsigned count)
{
    sigset_t all, before;
    unsigned started = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started < count && pthread_create(&threads[started], NULL, thread_main, c) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

void crew_run(unsigned count, void (*work)(void *ctx, unsigned nth), void *ctx, progress *p)
{
    crew c = {.work = work,
        .ctx = ctx,
        .mutex = PTHREAD_MUTEX_INITIALIZER,
        .ended = PTHREAD_COND_INITIALIZER};
    pthread_t threads[MOST_THREADS];
    unsigned started;

    count = count > MOST_THREADS ? MOST_THREADS : count;
    pthread_mutex_lock(&c.mutex); /* no thread begins before all are counted */
    started = start_threads(&c, threads, count);
    c.running = started;
    while (c.running > 0) {
        struct timespec deadline;

        deadline_in(DRAW_MS, &deadline);
        if (pthread_cond_timedwait(&c.ended, &c.mutex, &deadline) == ETIMEDOUT)
            progress_draw(p);
    }
    pthread_mutex_unlock(&c.mutex);
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    if (started == 0)
        work(ctx, 0);
}
