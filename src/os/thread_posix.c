/* Threads by POSIX: see thread.h. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/atomic.h"
#include "base/error.h"
#include "base/fault.h"
#include "os/clock.h"
#include "os/thread.h"

/* What a new thread is told; freed by it. */
typedef struct start {
    void (*run)(void *ctx);
    void *ctx;
    char name[16];
} start;

static void *entry(void *argument)
{
    start mine = *(start *)argument;

    free(argument);
    /* A name that is refused is a name less in top. */
    STK_IGNORE(pthread_setname_np(pthread_self(), mine.name) != 0);
    mine.run(mine.ctx);
    return NULL;
}

stk_status stk__thread_start(
    stk__thread *thread, const char *name, void (*run)(void *ctx), void *ctx, stk_error *err)
{
    start *told = malloc(sizeof *told); /* crosses to the new thread: no heap of a loader */
    sigset_t all, before;
    int rc = ENOMEM;

    thread->running = false;
    if (told != NULL && !stk__fault_hit(STK__FAULT_THREAD)) {
        *told = (start){.run = run, .ctx = ctx};
        STK_IGNORE(
            snprintf(told->name, sizeof told->name, "%s", name) < 0); /* cut names are fine */
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before); /* inherited by the new thread */
        rc = pthread_create(&thread->handle, NULL, entry, told);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    if (rc != 0) {
        free(told);
        return STK_FAIL_OS(err, STK_ENOMEM, rc, "could not start thread %s", name);
    }
    thread->running = true;
    return STK_OK;
}

void stk__thread_join(stk__thread *thread)
{
    if (!thread->running)
        return;
    pthread_join(thread->handle, NULL);
    thread->running = false;
}

void stk__thread_detach(stk__thread *thread)
{
    if (!thread->running)
        return;
    pthread_detach(thread->handle);
    thread->running = false;
}

stk_status stk__mutex_init(stk__mutex *mutex, stk_error *err)
{
    int rc = pthread_mutex_init(&mutex->handle, NULL);

    return rc == 0 ? STK_OK : STK_FAIL_OS(err, STK_ENOMEM, rc, "could not make a mutex");
}

void stk__mutex_fini(stk__mutex *mutex)
{
    pthread_mutex_destroy(&mutex->handle);
}

void stk__mutex_lock(stk__mutex *mutex)
{
    pthread_mutex_lock(&mutex->handle);
}

void stk__mutex_unlock(stk__mutex *mutex)
{
    pthread_mutex_unlock(&mutex->handle);
}

stk_status stk__cond_init(stk__cond *cond, stk_error *err)
{
    pthread_condattr_t attr;
    int rc = pthread_condattr_init(&attr);

    if (rc == 0) {
        rc = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
        if (rc == 0)
            rc = pthread_cond_init(&cond->handle, &attr);
        pthread_condattr_destroy(&attr);
    }
    return rc == 0 ? STK_OK : STK_FAIL_OS(err, STK_ENOMEM, rc, "could not make a condition");
}

void stk__cond_fini(stk__cond *cond)
{
    pthread_cond_destroy(&cond->handle);
}

void stk__cond_signal(stk__cond *cond)
{
    pthread_cond_signal(&cond->handle);
}

void stk__cond_broadcast(stk__cond *cond)
{
    pthread_cond_broadcast(&cond->handle);
}

void stk__cond_wait(stk__cond *cond, stk__mutex *mutex)
{
    pthread_cond_wait(&cond->handle, &mutex->handle);
}

bool stk__cond_wait_until(stk__cond *cond, stk__mutex *mutex, uint64_t deadline_ns)
{
    struct timespec until = {
        .tv_sec = (time_t)(deadline_ns / 1000000000u),
        .tv_nsec = (long)(deadline_ns % 1000000000u),
    };

    return pthread_cond_timedwait(&cond->handle, &mutex->handle, &until) != ETIMEDOUT;
}

static stk__atomic_u32 forks;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void count_fork(void)
{
    stk__add_acq_rel_u32(&forks, 1);
}

static void watch_forks(void)
{
    STK_IGNORE(pthread_atfork(NULL, NULL, count_fork) != 0); /* fails only without memory */
}

uint32_t stk__fork_generation(void)
{
    pthread_once(&fork_once, watch_forks);
    return stk__load_acquire_u32(&forks);
}
