/*
 * The window: see window.h.
 *
 * Lock: one mutex, the arena's, guards all that says so below; the heap has none. Nothing is called
 * back with it held but stk__step_fail(), which only allocates. The arena grows with it held: that
 * no slot is free, that there is no memory for another, and what follows from it are one decision.
 *
 * Who sleeps where: compute threads on the arena's condition (a step was opened, a read came back,
 * a slot was returned, stop), I/O threads on `cold` (a read was queued, a buffer is free, stop),
 * the consumer and restart on `landed` (a step landed, a thread let go of one).
 */
#include "pipeline/window.h"

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "base/text.h"
#include "dataset/dataset.h"
#include "os/clock.h"

/* More than any step has jobs: a claim counter that was set to it hands out nothing. */
#define NO_MORE_JOBS (UINT32_MAX / 2)

typedef enum flight_state {
    IDLE,    /* may be opened */
    RUNNING, /* planned; jobs are claimed and done */
    LANDED,  /* complete */
} flight_state;

/* Memory of one read that waits for the disk. */
typedef struct io_buffer {
    uint8_t *data;
    size_t capacity;
    struct io_buffer *next;
} io_buffer;

typedef struct flight flight;

/* A job on its way through the I/O threads. */
typedef struct cold_read {
    flight *owner;
    uint32_t job;
    io_buffer *buffer; /* NULL: the read failed, or there was no memory for it */
    struct cold_read *next;
} cold_read;

/* A step in the window. */
struct flight {
    stk__step step; /* written while it is opened, then constant until it landed */
    cold_read *cold;
    stk_status failed;  /* guarded: planning as a whole */
    stk_error error;    /* guarded */
    flight_state state; /* guarded */
    uint32_t users;     /* guarded: threads that may claim or do its jobs */
    uint32_t waiting;   /* guarded: its reads between queue and done */
    alignas(STK_ALIGN_BYTES) stk__atomic_u32 next_job; /* atomic: jobs claimed so far */
    alignas(STK_ALIGN_BYTES) stk__atomic_u32 left;     /* atomic: jobs that have not landed */
};

/* A list that is taken from the front. */
typedef struct cold_list {
    cold_read *first, *last;
    uint32_t count;
} cold_list;

struct stk__window {
    stk__heap *heap;
    stk__arena *arena;
    const stk__schedule *schedule;
    stk__mutex *mutex;
    stk__cond *work;
    stk__cond landed, cold;
    bool made_landed, made_cold;
    flight *flights;
    uint32_t capacity;
    uint64_t head, tail;                 /* guarded: next to hand out, next to open */
    uint64_t base_epoch, base_step;      /* guarded: of number 0 */
    uint32_t slots_allowed;              /* guarded */
    bool opening, paused, starved, stop; /* guarded */
    bool all_cold;                       /* constant: every read goes to the I/O threads */
    cold_list queued, ready;             /* guarded */
    io_buffer *buffers;                  /* guarded: free ones */
    stk__atomic_u32 ready_count; /* atomic: a hint for threads that claim without the lock */
    stk__atomic_u64 idle_ns, cold_reads;
    stk__epoch *open_epoch; /* of who is opening */
    stk__epoch *own_epoch;  /* the consumer's */
    stk__worker own;        /* the consumer's */
    stk__worker *workers;
    stk__thread *threads;
    uint32_t thread_count, started, io_count, io_started;
    stk__thread *io_threads;
    stk__stage_counter *io_stages;
};

typedef struct thread_start {
    stk__window *window;
    uint32_t nth;
} thread_start;

static void list_push(cold_list *list, cold_read *read)
{
    read->next = NULL;
    if (list->last != NULL)
        list->last->next = read;
    else
        list->first = read;
    list->last = read;
    list->count++;
}

static cold_read *list_pop(cold_list *list)
{
    cold_read *read = list->first;

    if (read != NULL) {
        list->first = read->next;
        if (list->first == NULL)
            list->last = NULL;
        list->count--;
    }
    return read;
}

static void note_failure(void *ctx, stk__row *row, uint32_t field, const stk_error *err)
{
    void **pair = ctx;
    stk__window *window = pair[0];
    flight *of = pair[1];

    stk__mutex_lock(window->mutex);
    stk__step_fail(&of->step, row, field, err);
    stk__mutex_unlock(window->mutex);
}

/* One job has landed; the last one of a step lands the step. */
static void land(stk__window *window, stk__worker *worker, flight *of)
{
    if (stk__sub_acq_rel_u32(&of->left, 1) != 1)
        return;
    if (window->schedule->on_error == STK_ON_ERROR_REPLACE)
        stk__step_replace(&of->step, worker); /* all others are done with it */
    stk__mutex_lock(window->mutex);
    of->state = LANDED;
    stk__cond_broadcast(&window->landed);
    stk__mutex_unlock(window->mutex);
}

/* Hand a read over to the I/O threads. */
static void queue_cold(stk__window *window, flight *of, uint32_t job)
{
    cold_read *read = &of->cold[job];

    stk__add_relaxed_u64(&window->cold_reads, 1);
    *read = (cold_read){.owner = of, .job = job};
    stk__mutex_lock(window->mutex);
    of->waiting++;
    list_push(&window->queued, read);
    stk__cond_signal(&window->cold);
    stk__mutex_unlock(window->mutex);
}

static stk_status read_job(const stk__window *window, const stk__job *job, stk_span bytes)
{
    const stk_dataset *dataset = window->schedule->plan->dataset;

    if (window->thread_count == 0)
        return stk_dataset_read(dataset, job->source, job->offset, bytes, NULL);
    if (window->all_cold)
        return STK_AGAIN;
    return stk__dataset_try_read(dataset, job->source, job->offset, bytes, NULL);
}

static void do_job(stk__window *window, stk__worker *worker, flight *of, uint32_t nth)
{
    uint32_t number = of->step.turn[nth];
    const stk__job *job = &of->step.job[number];
    stk_span bytes = {
        .data = stk__worker_buffer(worker, (size_t)job->size), .size = (size_t)job->size};
    void *ctx[2] = {window, of};
    uint64_t begin = stk__clock_ns();
    stk_status st = STK_ENOMEM;

    if (bytes.data != NULL)
        st = read_job(window, job, bytes);
    stk__stage_add(
        &worker->stages[STK_STAGE_READ], 1, stk__clock_ns() - begin, st == STK_OK ? job->size : 0);
    if (st == STK_AGAIN) {
        queue_cold(window, of, number);
        return;
    }
    if (st < 0)
        stk__step_make_singly(&of->step, worker, job, note_failure, ctx);
    else
        stk__step_make(&of->step, worker, job, bytes.data, note_failure, ctx);
    land(window, worker, of);
}

/* A read came back: do its job. The caller holds the lock; so it does again on return. */
static void do_ready_locked(stk__window *window, stk__worker *worker, cold_read *read)
{
    flight *of = read->owner;
    io_buffer *buffer = read->buffer;
    const stk__job *job = &of->step.job[read->job];
    void *ctx[2] = {window, of};

    stk__sub_acq_rel_u32(&window->ready_count, 1);
    of->users++;
    of->waiting--;
    stk__cond_signal(&window->cold); /* there is room for another */
    stk__mutex_unlock(window->mutex);
    if (buffer != NULL)
        stk__step_make(&of->step, worker, job, buffer->data, note_failure, ctx);
    else
        stk__step_make_singly(&of->step, worker, job, note_failure, ctx);
    land(window, worker, of);
    stk__mutex_lock(window->mutex);
    if (buffer != NULL) {
        buffer->next = window->buffers;
        window->buffers = buffer;
    }
    if (--of->users == 0)
        stk__cond_broadcast(&window->landed);
}

/* The oldest step with jobs to claim, or NULL. */
static flight *claimable_locked(stk__window *window)
{
    for (uint64_t i = window->head; i < window->tail; i++) {
        flight *of = &window->flights[i % window->capacity];

        if (of->state == RUNNING && stk__load_relaxed_u32(&of->next_job) <
                                        of->step.job_count) /* a hint: the claim decides */
            return of;
    }
    return NULL;
}

/* Claim jobs of a step until there are none. The caller holds the lock; so it does again on return.
 */
static void claim_locked(stk__window *window, stk__worker *worker, flight *of)
{
    of->users++;
    stk__mutex_unlock(window->mutex);
    while (stk__load_acquire_u32(&window->ready_count) == 0) {
        /* Relaxed: the step was published by the lock; only who gets which number matters. */
        uint32_t nth = stk__add_relaxed_u32(&of->next_job, 1);

        if (nth >= of->step.job_count)
            break;
        do_job(window, worker, of, nth);
    }
    stk__store_relaxed_u64(&worker->at_sample, 0);
    stk__mutex_lock(window->mutex);
    if (--of->users == 0)
        stk__cond_broadcast(&window->landed);
}

/* Plan the step into its slot and publish it. The caller has set `opening` and holds no lock. */
static void plan_flight(stk__window *window, stk__worker *worker, flight *of, uint64_t number)
{
    uint64_t steps = window->schedule->steps;
    uint64_t nth = window->base_step + number; /* constant while a step is being opened */
    uint64_t begin = stk__clock_ns();
    stk_error error = STK_ERROR_INIT;
    stk_status st = stk__step_plan(
        &of->step, window->open_epoch, window->base_epoch + nth / steps, nth % steps, &error);

    if (st >= 0 && of->step.job_count == 0 && window->schedule->on_error == STK_ON_ERROR_REPLACE)
        stk__step_replace(&of->step, worker);
    stk__stage_add(&worker->stages[STK_STAGE_PLAN], 1, stk__clock_ns() - begin, 0);
    stk__mutex_lock(window->mutex);
    of->failed = st;
    of->error = error;
    stk__store_relaxed_u32(&of->next_job, 0); /* published by the lock; so too below */
    stk__store_relaxed_u32(&of->left, (uint32_t)of->step.job_count);
    of->state = st < 0 || of->step.job_count == 0 ? LANDED : RUNNING;
    window->tail++;
    window->opening = false;
    stk__cond_broadcast(window->work);
    stk__cond_broadcast(&window->landed);
}

/* Open the next step, if it may be. The caller holds the lock; so it does again on return. */
static bool open_locked(stk__window *window, stk__worker *worker)
{
    flight *of = &window->flights[window->tail % window->capacity];
    uint64_t number = window->tail;
    stk_batch *slot;

    if (window->opening || window->paused || window->tail - window->head >= window->capacity ||
        of->state != IDLE || of->users > 0 || of->waiting > 0)
        return false;
    slot = stk__arena_take_locked(window->arena);
    if (slot == NULL && stk__arena_slots_locked(window->arena) >= window->slots_allowed)
        return false;
    if (slot == NULL)
        slot = stk__arena_grow_locked(window->arena);
    if (slot == NULL) {
        window->starved = true;
        stk__cond_broadcast(&window->landed);
        return false;
    }
    window->opening = true;
    stk__mutex_unlock(window->mutex);
    of->step.slot = slot;
    plan_flight(window, worker, of, number);
    return true;
}

static void compute_main(void *argument)
{
    thread_start *start = argument;
    stk__window *window = start->window;
    stk__worker *worker = &window->workers[start->nth];

    stk__heap_free(window->heap, start, 1, sizeof *start);
    stk__mutex_lock(window->mutex);
    while (!window->stop) {
        cold_read *ready = list_pop(&window->ready);
        flight *of;
        uint64_t begin;

        if (ready != NULL) {
            do_ready_locked(window, worker, ready);
            continue;
        }
        of = claimable_locked(window);
        if (of != NULL) {
            claim_locked(window, worker, of);
            continue;
        }
        if (open_locked(window, worker))
            continue;
        begin = stk__clock_ns();
        stk__cond_wait(window->work, window->mutex);
        stk__add_relaxed_u64(&window->idle_ns, stk__clock_ns() - begin);
    }
    stk__mutex_unlock(window->mutex);
}

/* A buffer for `size` bytes: a free one, grown if it is too small. Called and returns without lock.
 */
static io_buffer *io_buffer_for(stk__window *window, size_t size)
{
    io_buffer *buffer, **link;
    size_t capacity = 4096;

    stk__mutex_lock(window->mutex);
    for (link = &window->buffers; *link != NULL && (*link)->capacity < size;)
        link = &(*link)->next;
    if (*link == NULL)
        link = &window->buffers; /* none is large enough: any is grown */
    buffer = *link;
    if (buffer != NULL)
        *link = buffer->next;
    stk__mutex_unlock(window->mutex);
    if (buffer == NULL)
        buffer = stk__heap_zalloc(window->heap, 1, sizeof *buffer);
    if (buffer == NULL || (buffer->data != NULL && buffer->capacity >= size))
        return buffer;
    stk__heap_free_aligned(window->heap, buffer->data, buffer->capacity);
    while (capacity < size && capacity < SIZE_MAX / 4)
        capacity *= 2;
    buffer->data = stk__heap_alloc_aligned(window->heap, capacity);
    buffer->capacity = buffer->data != NULL ? capacity : 0;
    if (buffer->data == NULL) {
        stk__heap_free(window->heap, buffer, 1, sizeof *buffer);
        return NULL;
    }
    return buffer;
}

/* Read what a job wants, waiting for the disk. A failure is found again, and reported, by the
 * thread that does the job. */
static void read_cold(stk__window *window, stk__stage_counter *stage, cold_read *read)
{
    const stk__job *job = &read->owner->step.job[read->job];
    io_buffer *buffer = io_buffer_for(window, (size_t)job->size);
    uint64_t begin = stk__clock_ns();
    stk_status st = STK_ENOMEM;

    if (buffer != NULL) {
        const stk_span bytes = {.data = buffer->data, .size = (size_t)job->size};
        st = stk_dataset_read(
            window->schedule->plan->dataset, job->source, job->offset, bytes, NULL);
    }
    stk__stage_add(stage, 1, stk__clock_ns() - begin, st >= 0 ? job->size : 0);
    stk__mutex_lock(window->mutex);
    if (st < 0 && buffer != NULL) {
        buffer->next = window->buffers;
        window->buffers = buffer;
        buffer = NULL;
    }
    read->buffer = buffer;
    list_push(&window->ready, read);
    stk__add_acq_rel_u32(&window->ready_count, 1);
    stk__cond_broadcast(window->work);
    stk__cond_broadcast(&window->landed); /* restart may wait for it */
    stk__mutex_unlock(window->mutex);
}

static void io_main(void *argument)
{
    thread_start *start = argument;
    stk__window *window = start->window;
    stk__stage_counter *stage = &window->io_stages[start->nth];
    uint32_t most_ready = 2 * window->thread_count + window->io_count;

    stk__heap_free(window->heap, start, 1, sizeof *start);
    stk__mutex_lock(window->mutex);
    while (!window->stop) {
        cold_read *read = window->ready.count < most_ready ? list_pop(&window->queued) : NULL;

        if (read == NULL) {
            stk__cond_wait(&window->cold, window->mutex);
            continue;
        }
        stk__mutex_unlock(window->mutex);
        read_cold(window, stage, read);
        stk__mutex_lock(window->mutex);
    }
    stk__mutex_unlock(window->mutex);
}

/* Is anything of the window still in the hands of a thread? Reads that nobody began do not count.
 */
static bool busy_locked(stk__window *window)
{
    if (window->opening)
        return true;
    for (uint32_t i = 0; i < window->capacity; i++) {
        if (window->flights[i].users > 0 || window->flights[i].waiting > 0)
            return true;
    }
    return false;
}

/* Forget reads that no thread holds. */
static void drop_reads_locked(stk__window *window)
{
    cold_read *read;

    while ((read = list_pop(&window->queued)) != NULL)
        read->owner->waiting--;
    while ((read = list_pop(&window->ready)) != NULL) {
        stk__sub_acq_rel_u32(&window->ready_count, 1);
        read->owner->waiting--;
        if (read->buffer != NULL) {
            read->buffer->next = window->buffers;
            window->buffers = read->buffer;
        }
    }
}

static void drop_flight_locked(stk__window *window, flight *of)
{
    stk_batch *slot = of->step.slot;

    stk__step_clear(&of->step);
    if (slot != NULL)
        stk__arena_return_locked(window->arena, slot);
    of->state = IDLE;
}

void stk__window_restart(stk__window *window, uint64_t epoch, uint64_t step)
{
    stk__mutex_lock(window->mutex);
    window->paused = true;
    for (uint32_t i = 0; i < window->capacity; i++)
        stk__store_relaxed_u32(&window->flights[i].next_job, NO_MORE_JOBS); /* see claim_locked */
    drop_reads_locked(window);
    while (busy_locked(window)) {
        stk__cond_wait(&window->landed, window->mutex);
        for (uint32_t i = 0; i < window->capacity; i++) /* one that was just being opened */
            stk__store_relaxed_u32(&window->flights[i].next_job, NO_MORE_JOBS);
        drop_reads_locked(window);
    }
    for (uint32_t i = 0; i < window->capacity; i++)
        drop_flight_locked(window, &window->flights[i]);
    window->head = 0;
    window->tail = 0;
    window->base_epoch = epoch;
    window->base_step = step;
    window->paused = false;
    stk__cond_broadcast(window->work);
    stk__mutex_unlock(window->mutex);
}

/* The consumer does all of the work itself: one step, the very same order. */
static void run_inline_locked(stk__window *window)
{
    flight *of = &window->flights[window->head % window->capacity];

    if (window->head == window->tail && !open_locked(window, &window->own))
        return;
    if (of->state == RUNNING)
        claim_locked(window, &window->own, of);
}

/* Steps that have a slot now. */
static uint32_t in_flight_locked(const stk__window *window)
{
    return (uint32_t)(window->tail - window->head) + (window->opening ? 1 : 0);
}

/* Slots in the hands of the consumer. */
static uint32_t held_by_consumer_locked(const stk__window *window)
{
    uint32_t held = stk__arena_held_locked(window->arena), flying = in_flight_locked(window);

    return held > flying ? held - flying : 0;
}

stk_status stk__window_next(
    stk__window *window, uint64_t deadline_ns, stk__step **step_out, stk_error *err)
{
    flight *of;
    uint32_t held;
    stk_status st = STK_OK;

    stk__mutex_lock(window->mutex);
    of = &window->flights[window->head % window->capacity];
    held = held_by_consumer_locked(window);
    /* Slots for what is in flight and for what the consumer shows to keep, and no more. */
    if (window->capacity + (held > 1 ? held : 1) > window->slots_allowed) {
        window->slots_allowed = window->capacity + held;
        stk__cond_broadcast(window->work);
    }
    window->starved = false;
    if (window->thread_count == 0)
        run_inline_locked(window);
    else if (window->head == window->tail)
        stk__cond_broadcast(window->work); /* somebody tries for a slot again */
    while (st >= 0 && !(window->head < window->tail && of->state == LANDED)) {
        if (window->head == window->tail && window->starved) {
            st = STK_FAIL(err, STK_EBUSY,
                "all %u batch slots are held by the consumer and the memory ceiling allows no "
                "other",
                stk__arena_slots_locked(window->arena));
        } else if (deadline_ns == UINT64_MAX) {
            stk__cond_wait(&window->landed, window->mutex);
        } else if (!stk__cond_wait_until(&window->landed, window->mutex, deadline_ns)) {
            if (!(window->head < window->tail && of->state == LANDED))
                st = STK_AGAIN;
            break;
        }
    }
    if (st == STK_OK && of->failed < 0) {
        st = of->failed;
        if (err != NULL)
            *err = of->error;
    }
    if (st == STK_OK)
        *step_out = &of->step;
    stk__mutex_unlock(window->mutex);
    return st;
}

stk_batch *stk__window_accept(stk__window *window)
{
    flight *of;
    stk_batch *slot;

    stk__mutex_lock(window->mutex);
    of = &window->flights[window->head % window->capacity];
    slot = of->step.slot;
    while (of->users > 0) /* a thread that finds no more jobs of it in this moment */
        stk__cond_wait(&window->landed, window->mutex);
    stk__step_clear(&of->step);
    of->state = IDLE;
    window->head++;
    stk__cond_broadcast(window->work);
    stk__mutex_unlock(window->mutex);
    return slot;
}

stk__worker *stk__window_worker(stk__window *window)
{
    return &window->own;
}

stk__epoch *stk__window_epoch(stk__window *window)
{
    return window->own_epoch;
}

stk_batch *stk__window_spare_slot(stk__window *window)
{
    stk_batch *slot;

    stk__mutex_lock(window->mutex);
    slot = stk__arena_take_locked(window->arena);
    if (slot == NULL)
        slot = stk__arena_grow_locked(window->arena);
    stk__mutex_unlock(window->mutex);
    return slot;
}

static const char *state_text(const stk__window *window, const flight *of)
{
    if (window->head == window->tail)
        return window->opening ? "is being planned" : "waits for a slot";
    return of->state == LANDED ? "is complete" : "is being made";
}

void stk__window_waits_for(stk__window *window, char *line, size_t capacity)
{
    stk__text out = {.data = line, .capacity = capacity};
    uint64_t steps = window->schedule->steps, nth;
    flight *of;

    if (capacity > 0)
        line[0] = '\0';
    stk__mutex_lock(window->mutex);
    of = &window->flights[window->head % window->capacity];
    nth = window->base_step + window->head;
    stk__text_put(&out, "step %llu of epoch %llu %s", (unsigned long long)(nth % steps),
        (unsigned long long)(window->base_epoch + nth / steps), state_text(window, of));
    if (window->head < window->tail && of->state == RUNNING)
        stk__text_put(&out, ": %u of %zu reads to go, %u of them wait for the disk",
            stk__load_acquire_u32(&of->left), of->step.job_count, of->waiting);
    for (uint32_t i = 0; i < window->started; i++) {
        uint64_t sample = stk__load_relaxed_u64(&window->workers[i].at_sample);
        if (sample != 0)
            stk__text_put(&out, "; thread %u is at sample %llu", i, (unsigned long long)sample - 1);
    }
    stk__mutex_unlock(window->mutex);
}

void stk__window_get_stats(stk__window *window, stk__window_stats *stats_out)
{
    *stats_out = (stk__window_stats){
        .idle_ns = stk__load_relaxed_u64(&window->idle_ns),
        .cold_reads = stk__load_relaxed_u64(&window->cold_reads),
    };
    for (int stage = 0; stage < STK_STAGE_COUNT; stage++) {
        stk__stage_read(&window->own.stages[stage], &stats_out->stages[stage]);
        for (uint32_t i = 0; i < window->thread_count; i++)
            stk__stage_read(&window->workers[i].stages[stage], &stats_out->stages[stage]);
    }
    for (uint32_t i = 0; i < window->io_count; i++)
        stk__stage_read(&window->io_stages[i], &stats_out->stages[STK_STAGE_READ]);
    stk__mutex_lock(window->mutex);
    stats_out->slots = stk__arena_slots_locked(window->arena);
    stats_out->slots_held = held_by_consumer_locked(window);
    stk__mutex_unlock(window->mutex);
}

static stk_status start_thread(stk__window *window, stk__thread *thread, const char *name,
    void (*run)(void *ctx), uint32_t nth, stk_error *err)
{
    thread_start *start = stk__heap_alloc(window->heap, 1, sizeof *start);
    char text[16];
    stk_status st;

    if (start == NULL)
        return STK_FAIL(err, STK_ENOMEM, "no memory for a thread");
    *start = (thread_start){.window = window, .nth = nth};
    STK_IGNORE(snprintf(text, sizeof text, "stk-%s-%u", name, nth % 10000u) < 0); /* fits */
    st = stk__thread_start(thread, text, run, start, err);
    if (st < 0)
        stk__heap_free(window->heap, start, 1, sizeof *start);
    return st;
}

/* The slots of steady state. Their pages cost nothing until they are written. */
static stk_status make_slots(stk__window *window, stk_error *err)
{
    for (uint32_t i = 0; i < window->slots_allowed; i++) {
        stk_batch *slot;

        stk__mutex_lock(window->mutex);
        slot = stk__arena_grow_locked(window->arena);
        if (slot != NULL)
            stk__arena_return_locked(window->arena, slot);
        stk__mutex_unlock(window->mutex);
        if (slot == NULL)
            return STK_FAIL(err, STK_ENOMEM, "the memory ceiling left no room for %u batch slots",
                window->slots_allowed);
    }
    return STK_OK;
}

static stk_status make_parts(
    stk__window *window, const stk__window_options *options, stk_error *err)
{
    stk__heap *heap = window->heap;

    STK_TRY(stk__cond_init(&window->landed, err));
    window->made_landed = true;
    STK_TRY(stk__cond_init(&window->cold, err));
    window->made_cold = true;
    window->flights = stk__heap_alloc_aligned(heap, window->capacity * sizeof *window->flights);
    window->workers = stk__heap_zalloc(heap, window->thread_count, sizeof *window->workers);
    window->threads = stk__heap_zalloc(heap, window->thread_count, sizeof *window->threads);
    window->io_threads = stk__heap_zalloc(heap, window->io_count, sizeof *window->io_threads);
    window->io_stages = stk__heap_zalloc(heap, window->io_count, sizeof *window->io_stages);
    if (window->flights != NULL)
        for (uint32_t i = 0; i < window->capacity; i++)
            window->flights[i] = (flight){.state = IDLE};
    if (window->flights == NULL || window->workers == NULL || window->threads == NULL ||
        window->io_threads == NULL || window->io_stages == NULL)
        return STK_FAIL(err, STK_ENOMEM, "no memory for the window of a loader");
    for (uint32_t i = 0; i < window->capacity; i++) {
        flight *of = &window->flights[i];
        size_t pieces = (size_t)options->schedule->ranks.batch * options->schedule->plan->count;

        STK_TRY(stk__step_init(&of->step, heap, options->schedule, err));
        of->cold = stk__heap_zalloc(heap, pieces, sizeof *of->cold);
        if (of->cold == NULL)
            return STK_FAIL(err, STK_ENOMEM, "no memory for the window of a loader");
    }
    STK_TRY(stk__epoch_new(heap, options->order, &window->open_epoch, err));
    STK_TRY(stk__epoch_new(heap, options->order, &window->own_epoch, err));
    STK_TRY(stk__worker_init(&window->own, heap, options->schedule->plan, err));
    for (uint32_t i = 0; i < window->thread_count; i++) {
        size_t read_bytes = (size_t)stk__step_read_bytes(options->schedule->plan);

        STK_TRY(stk__worker_init(&window->workers[i], heap, options->schedule->plan, err));
        STK_TRY(stk__worker_warm(&window->workers[i], read_bytes, err));
    }
    return make_slots(window, err);
}

static stk_status start_threads(stk__window *window, stk_error *err)
{
    for (uint32_t i = 0; i < window->io_count; i++) {
        STK_TRY(start_thread(window, &window->io_threads[i], "io", io_main, i, err));
        window->io_started++;
    }
    for (uint32_t i = 0; i < window->thread_count; i++) {
        STK_TRY(start_thread(window, &window->threads[i], "cpu", compute_main, i, err));
        window->started++;
    }
    return STK_OK;
}

stk_status stk__window_new(
    const stk__window_options *options, stk__window **window_out, stk_error *err)
{
    stk__heap *heap = stk__arena_heap(options->arena);
    stk__window *window = stk__heap_zalloc(heap, 1, sizeof *window);
    const char *wish = getenv("STOKER_READ"); /* NOLINT(concurrency-mt-unsafe): only read */
    stk_status st;

    if (window == NULL)
        return STK_FAIL(err, STK_ENOMEM, "no memory for the window of a loader");
    window->heap = heap;
    window->arena = options->arena;
    window->schedule = options->schedule;
    window->mutex = stk__arena_mutex(options->arena);
    window->work = stk__arena_cond(options->arena);
    window->capacity = options->threads == 0 ? 1 : options->prefetch;
    window->slots_allowed = window->capacity + 1;
    window->thread_count = options->threads;
    window->io_count = options->threads == 0 ? 0 : options->io_threads;
    window->base_epoch = options->epoch;
    window->base_step = options->step;
    window->all_cold = wish != NULL && strcmp(wish, "threads") == 0;
    st = make_parts(window, options, err);
    if (st >= 0)
        st = start_threads(window, err);
    if (st < 0) {
        stk__window_free(window);
        return st;
    }
    *window_out = window;
    return STK_OK;
}

static void stop_threads(stk__window *window)
{
    stk__mutex_lock(window->mutex);
    window->stop = true;
    for (uint32_t i = 0; window->flights != NULL && i < window->capacity; i++)
        stk__store_relaxed_u32(&window->flights[i].next_job, NO_MORE_JOBS);
    stk__cond_broadcast(window->work);
    stk__cond_broadcast(&window->cold);
    stk__mutex_unlock(window->mutex);
    for (uint32_t i = 0; i < window->started; i++)
        stk__thread_join(&window->threads[i]);
    for (uint32_t i = 0; i < window->io_started; i++)
        stk__thread_join(&window->io_threads[i]);
}

static void free_flights(stk__window *window)
{
    size_t pieces = (size_t)window->schedule->ranks.batch * window->schedule->plan->count;

    stk__mutex_lock(window->mutex);
    drop_reads_locked(window);
    for (uint32_t i = 0; i < window->capacity; i++) {
        flight *of = &window->flights[i];

        if (of->step.heap != NULL && of->step.row != NULL)
            drop_flight_locked(window, of);
    }
    stk__mutex_unlock(window->mutex);
    for (uint32_t i = 0; i < window->capacity; i++) {
        stk__heap_free(window->heap, window->flights[i].cold, pieces, sizeof(cold_read));
        stk__step_fini(&window->flights[i].step);
    }
}

void stk__window_free(stk__window *window)
{
    stk__heap *heap;

    if (window == NULL)
        return;
    heap = window->heap;
    if (window->started > 0 || window->io_started > 0)
        stop_threads(window);
    if (window->flights != NULL)
        free_flights(window);
    stk__heap_free_aligned(heap, window->flights, window->capacity * sizeof *window->flights);
    for (uint32_t i = 0; window->workers != NULL && i < window->thread_count; i++)
        stk__worker_fini(&window->workers[i]);
    stk__worker_fini(&window->own);
    stk__epoch_free(window->open_epoch);
    stk__epoch_free(window->own_epoch);
    while (window->buffers != NULL) {
        io_buffer *buffer = window->buffers;
        window->buffers = buffer->next;
        stk__heap_free_aligned(heap, buffer->data, buffer->capacity);
        stk__heap_free(heap, buffer, 1, sizeof *buffer);
    }
    stk__heap_free(heap, window->workers, window->thread_count, sizeof *window->workers);
    stk__heap_free(heap, window->threads, window->thread_count, sizeof *window->threads);
    stk__heap_free(heap, window->io_threads, window->io_count, sizeof *window->io_threads);
    stk__heap_free(heap, window->io_stages, window->io_count, sizeof *window->io_stages);
    if (window->made_landed)
        stk__cond_fini(&window->landed);
    if (window->made_cold)
        stk__cond_fini(&window->cold);
    stk__heap_free(heap, window, 1, sizeof *window);
}
