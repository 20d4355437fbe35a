/*
 * Opening a dataset in a thread of its own, while the caller's asks whether to give it up.
 *
 * Told to stop, the thread ends at its next step and is waited for a moment. But one step may take
 * as long as a network or a disk likes: then the caller goes its way, and the thread frees what it
 * has when it gets there. So it works on copies only, and an attempt belongs to whoever ends last.
 *
 * Locks: attempt.mutex alone; options->stop is not called under it.
 */
#include "dataset/open_stop.h"

#include <string.h>

#include "base/heap.h"
#include "os/clock.h"
#include "os/thread.h"

#define ASK_NS   ((uint64_t)20 * 1000 * 1000)  /* from one question to the next */
#define GRACE_NS ((uint64_t)100 * 1000 * 1000) /* for the thread to end by itself */

typedef struct attempt {
    stk__heap heap;
    char **where; /* owned; texts too */
    size_t count;
    stk_dataset_options options;
    stk_limits limits;
    stk__stop stop;
    stk__thread thread;
    stk__mutex mutex;
    stk__cond ended_now;
    bool mutex_made, cond_made;
    bool ended; /* guarded by mutex: the thread has its result */
    bool left;  /* guarded by mutex: nobody waits for it */
    stk_status status;
    stk_dataset *dataset;
    stk_error error;
} attempt;

static void attempt_free(attempt *a)
{
    stk__heap death = {0}; /* outlives the heap in the attempt by one call */

    if (a == NULL)
        return;
    stk_dataset_unref(a->dataset);
    for (size_t i = 0; a->where != NULL && i < a->count; i++)
        if (a->where[i] != NULL)
            stk__heap_free(&a->heap, a->where[i], strlen(a->where[i]) + 1, 1);
    stk__heap_free(&a->heap, (void *)a->where, a->count, sizeof *a->where);
    if (a->cond_made)
        stk__cond_fini(&a->ended_now);
    if (a->mutex_made)
        stk__mutex_fini(&a->mutex);
    STK_IGNORE(!stk__heap_reserve(&death, sizeof *a)); /* no ceiling */
    stk__heap_free(&death, a, 1, sizeof *a);
}

/* Copies of all that the caller gave. */
static bool copy_wishes(attempt *a, const char *const *where, const stk_dataset_options *options)
{
    a->options = *options;
    a->options.stop = NULL;
    if (options->limits != NULL) {
        a->limits = *options->limits;
        a->options.limits = &a->limits;
    }
    a->where = (char **)stk__heap_zalloc(&a->heap, a->count, sizeof *a->where);
    for (size_t i = 0; a->where != NULL && i < a->count; i++) {
        if (where[i] == NULL)
            continue; /* the thread says so */
        a->where[i] = stk__heap_text(&a->heap, where[i], strlen(where[i]));
        if (a->where[i] == NULL)
            return false;
    }
    return a->where != NULL;
}

static attempt *attempt_new(
    const char *const *where, size_t count, const stk_dataset_options *options)
{
    stk__heap birth = {0}; /* the attempt's own heap stands in it */
    attempt *a = stk__heap_zalloc(&birth, 1, sizeof *a);

    if (a == NULL)
        return NULL;
    a->count = count;
    a->error = (stk_error)STK_ERROR_INIT;
    a->mutex_made = stk__mutex_init(&a->mutex, NULL) >= 0;
    a->cond_made = stk__cond_init(&a->ended_now, NULL) >= 0;
    if (a->mutex_made && a->cond_made && copy_wishes(a, where, options))
        return a;
    attempt_free(a);
    return NULL;
}

static void run(void *ctx)
{
    attempt *a = ctx;
    bool left;

    a->status = stk__dataset_open_here(
        (const char *const *)a->where, a->count, &a->options, &a->stop, &a->dataset, &a->error);
    stk__mutex_lock(&a->mutex);
    a->ended = true;
    left = a->left;
    stk__cond_signal(&a->ended_now);
    stk__mutex_unlock(&a->mutex);
    if (left)
        attempt_free(a);
}

/* Has it ended by then? */
static bool wait_until(attempt *a, uint64_t deadline_ns)
{
    bool ended;

    stk__mutex_lock(&a->mutex);
    while (!a->ended && stk__cond_wait_until(&a->ended_now, &a->mutex, deadline_ns))
        continue;
    ended = a->ended;
    stk__mutex_unlock(&a->mutex);
    return ended;
}

/* Has it ended? Else it is on its own from here on. */
static bool ended_or_leave(attempt *a)
{
    bool ended = wait_until(a, stk__clock_ns() + GRACE_NS);

    if (ended)
        return true;
    stk__thread_detach(&a->thread); /* before it may free itself */
    stk__mutex_lock(&a->mutex);
    ended = a->ended;
    a->left = true;
    stk__mutex_unlock(&a->mutex);
    if (ended) /* just now, and it saw nobody leave */
        attempt_free(a);
    return false;
}

stk_status stk__dataset_open_asking(const char *const *where, size_t count,
    const stk_dataset_options *options, stk_dataset **dataset_out, stk_error *err)
{
    attempt *a = count == 0 ? NULL : attempt_new(where, count, options);
    bool stopped = false;
    stk_status st;

    if (a == NULL || stk__thread_start(&a->thread, "stk-open", run, a, NULL) < 0) {
        attempt_free(a); /* then it cannot be asked for */
        return stk__dataset_open_here(where, count, options, NULL, dataset_out, err);
    }
    while (!stopped && !wait_until(a, stk__clock_ns() + ASK_NS))
        stopped = options->stop(options->stop_ctx);
    if (stopped) {
        stk__store_release_u32(&a->stop.told, 1);
        if (!ended_or_leave(a))
            return STK_FAIL(err, STK_ESTOPPED, "it was told to stop");
    }
    stk__thread_join(&a->thread);
    st = stopped ? STK_FAIL(err, STK_ESTOPPED, "it was told to stop") : a->status;
    if (st >= 0) {
        *dataset_out = a->dataset;
        a->dataset = NULL;
    } else if (!stopped && err != NULL) {
        *err = a->error;
    }
    attempt_free(a);
    return st;
}
