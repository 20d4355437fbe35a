/* Without these: Ctrl-C lands in a worker instead of the program, a wait never ends, or a child of
 * a fork believes that it owns its parent's threads. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/fault.h"
#include "os/clock.h"
#include "os/thread.h"
#include "support/test.h"

/* What a thread of ours finds out about itself. */
typedef struct report {
    char name[16];
    bool blocks_all;
} report;

static void look_around(void *ctx)
{
    report *r = ctx;
    sigset_t blocked;

    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    r->blocks_all = sigismember(&blocked, SIGINT) == 1 && sigismember(&blocked, SIGTERM) == 1 &&
                    sigismember(&blocked, SIGALRM) == 1 && sigismember(&blocked, SIGUSR1) == 1;
    pthread_getname_np(pthread_self(), r->name, sizeof r->name);
}

static void threads_have_names_and_block_signals(void **state)
{
    report r = {.name = ""};
    stk__thread thread;
    sigset_t blocked;
    (void)state;

    assert_int_equal(stk__thread_start(&thread, "stk-cpu-3", look_around, &r, NULL), STK_OK);
    assert_true(thread.running);
    stk__thread_join(&thread);
    assert_false(thread.running);
    stk__thread_join(&thread); /* once more is nothing */
    assert_string_equal(r.name, "stk-cpu-3");
    assert_true(r.blocks_all);
    assert_int_equal(stk__thread_start(&thread, "a name of many bytes", look_around, &r, NULL), 0);
    stk__thread_join(&thread);
    assert_string_equal(r.name, "a name of many ");
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    assert_int_equal(sigismember(&blocked, SIGINT), 0); /* the starter's own are as before */
}

/* A counter that many threads raise, and a turn that they take. */
typedef struct shared {
    stk__mutex mutex;
    stk__cond changed;
    uint64_t count; /* guarded by mutex */
    bool open;      /* guarded by mutex */
} shared;

enum { THREADS = 4, ROUNDS = 10000 };

static void count_up(void *ctx)
{
    shared *s = ctx;

    stk__mutex_lock(&s->mutex);
    while (!s->open)
        stk__cond_wait(&s->changed, &s->mutex);
    stk__mutex_unlock(&s->mutex);
    for (int i = 0; i < ROUNDS; i++) {
        stk__mutex_lock(&s->mutex);
        s->count++;
        if (s->count % 97 == 0)
            stk__cond_signal(&s->changed);
        stk__mutex_unlock(&s->mutex);
    }
}

static void mutexes_and_conditions_do_their_work(void **state)
{
    shared s = {.count = 0};
    stk__thread threads[THREADS];
    (void)state;

    assert_int_equal(stk__mutex_init(&s.mutex, NULL), STK_OK);
    assert_int_equal(stk__cond_init(&s.changed, NULL), STK_OK);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(stk__thread_start(&threads[i], "stk-test", count_up, &s, NULL), STK_OK);
    stk__mutex_lock(&s.mutex);
    s.open = true;
    stk__cond_broadcast(&s.changed);
    stk__mutex_unlock(&s.mutex);
    for (int i = 0; i < THREADS; i++)
        stk__thread_join(&threads[i]);
    assert_int_equal(s.count, THREADS * ROUNDS);
    stk__cond_fini(&s.changed);
    stk__mutex_fini(&s.mutex);
}

static void release(void *ctx)
{
    stk__store_release_u32(ctx, 1);
}

static void a_detached_thread_runs_on_and_is_not_joined(void **state)
{
    static stk__atomic_u32 done;
    stk__thread thread;
    (void)state;

    assert_int_equal(stk__thread_start(&thread, "stk-open", release, &done, NULL), STK_OK);
    stk__thread_detach(&thread);
    assert_false(thread.running);
    stk__thread_join(&thread); /* nothing any more */
    stk__thread_detach(&thread);
    while (stk__load_acquire_u32(&done) == 0)
        stk__clock_sleep(1000);
}

static void a_wait_ends_at_its_deadline(void **state)
{
    shared s = {.count = 0};
    uint64_t begin = stk__clock_ns(), deadline = begin + 20 * 1000 * 1000;
    (void)state;

    assert_int_equal(stk__mutex_init(&s.mutex, NULL), STK_OK);
    assert_int_equal(stk__cond_init(&s.changed, NULL), STK_OK);
    stk__mutex_lock(&s.mutex);
    while (stk__cond_wait_until(&s.changed, &s.mutex, deadline))
        ; /* woken without cause */
    assert_true(stk__clock_ns() >= deadline);
    assert_false(stk__cond_wait_until(&s.changed, &s.mutex, begin)); /* long past */
    stk__mutex_unlock(&s.mutex);
    stk__cond_fini(&s.changed);
    stk__mutex_fini(&s.mutex);
}

static void a_child_of_a_fork_knows_it(void **state)
{
    uint32_t mine = stk__fork_generation();
    int status;
    pid_t child;
    (void)state;

    assert_int_equal(stk__fork_generation(), mine);
    child = fork();
    if (child == 0) {
        uint32_t own = stk__fork_generation();
        pid_t grandchild = fork();

        if (grandchild == 0)
            _exit(stk__fork_generation() == mine + 2 ? 0 : 1);
        if (waitpid(grandchild, &status, 0) != grandchild || status != 0)
            _exit(2);
        _exit(own == mine + 1 ? 0 : 3);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(stk__fork_generation(), mine); /* the parent is who it was */
}

#if defined(STK__FAULTS)

static void a_thread_that_cannot_start_is_reported(void **state)
{
    report r = {.name = ""};
    stk__thread thread;
    stk_error err = STK_ERROR_INIT;
    (void)state;

    stk__fault_arm(STK__FAULT_THREAD, 1);
    assert_int_equal(stk__thread_start(&thread, "stk-cpu-0", look_around, &r, &err), STK_ENOMEM);
    assert_true(stk__fault_disarm());
    assert_false(thread.running);
    assert_string_equal(err.text, "could not start thread stk-cpu-0: out of memory");
    stk__thread_join(&thread); /* nothing to wait for */
    assert_string_equal(r.name, "");
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_have_names_and_block_signals),
        cmocka_unit_test(mutexes_and_conditions_do_their_work),
        cmocka_unit_test(a_detached_thread_runs_on_and_is_not_joined),
        cmocka_unit_test(a_wait_ends_at_its_deadline),
        cmocka_unit_test(a_child_of_a_fork_knows_it),
#if defined(STK__FAULTS)
        cmocka_unit_test(a_thread_that_cannot_start_is_reported),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
