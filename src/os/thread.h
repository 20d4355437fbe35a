/*
 * Threads, mutexes, conditions: the contract for each system.
 *
 * Threads of ours block all signals, have a name that debuggers and top show, and are joined by who
 * started them. A mutex is not recursive. Preconditions (initialised, held by the caller) are not
 * checked in release builds.
 */
#ifndef STK__THREAD_H
#define STK__THREAD_H

#include <pthread.h>

#include <stoker/base.h>

typedef struct stk__thread {
    pthread_t handle;
    bool running;
} stk__thread;

typedef struct stk__mutex {
    pthread_mutex_t handle;
} stk__mutex;

typedef struct stk__cond {
    pthread_cond_t handle;
} stk__cond;

/* Start `run(ctx)` in a thread called `name` (at most 15 bytes). STK_ENOMEM when the system has no
 * room for another thread. */
STK_MUST_CHECK stk_status stk__thread_start(
    stk__thread *thread, const char *name, void (*run)(void *ctx), void *ctx, stk_error *err);

/* Wait for its end; nothing if it never started or was joined. */
void stk__thread_join(stk__thread *thread);

/* Leave it to itself; it is not joined then. Nothing, if it does not run. */
void stk__thread_detach(stk__thread *thread);

STK_MUST_CHECK stk_status stk__mutex_init(stk__mutex *mutex, stk_error *err);
void stk__mutex_fini(stk__mutex *mutex);
void stk__mutex_lock(stk__mutex *mutex);
void stk__mutex_unlock(stk__mutex *mutex);

STK_MUST_CHECK stk_status stk__cond_init(stk__cond *cond, stk_error *err);
void stk__cond_fini(stk__cond *cond);
void stk__cond_signal(stk__cond *cond);
void stk__cond_broadcast(stk__cond *cond);

/* Wait with the mutex held; may wake without cause. */
void stk__cond_wait(stk__cond *cond, stk__mutex *mutex);

/* The same, until stk__clock_ns() reaches deadline_ns; false when it has. */
bool stk__cond_wait_until(stk__cond *cond, stk__mutex *mutex, uint64_t deadline_ns);

/* How often this process is the child of a fork since the library was loaded: a handle that
 * remembers another number was made by an ancestor. The one mutable global of the engine. */
uint32_t stk__fork_generation(void);

#endif
