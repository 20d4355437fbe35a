/*
 * gil_shim: how long a thread holds Python's GIL, measured where it is taken and given back.
 *
 *     LD_PRELOAD=build/bench/libgil_shim.so python ...
 *
 * Stands in front of PyEval_SaveThread and PyEval_RestoreThread, which Py_BEGIN_ALLOW_THREADS and
 * Py_END_ALLOW_THREADS of every extension call, and keeps the time between them for each thread. It
 * works where Python is a shared library (libpython3.x.so); in an executable that holds Python
 * itself, extensions call that one past the shim, and gil_shim_saves() stays 0.
 *
 * Python.h is not needed: both functions pass one pointer through.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

/* A function as dlsym() tells it and as it is called. */
typedef union hidden {
    void *pointer;
    void *(*save)(void);
    void (*restore)(void *state);
} hidden;

__attribute__((visibility("default"))) void *PyEval_SaveThread(void);
__attribute__((visibility("default"))) void PyEval_RestoreThread(void *state);
__attribute__((visibility("default"))) uint64_t gil_shim_attached_ns(void);
__attribute__((visibility("default"))) uint64_t gil_shim_saves(void);

static _Thread_local uint64_t attached_since_ns; /* 0: since the thread began */
static _Thread_local uint64_t attached_ns;       /* up to attached_since_ns */
static _Thread_local uint64_t saves;

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The function that the one of that name here hides. */
static void *find(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (found == NULL)
        abort(); /* preloaded into what is no Python */
    return found;
}

void *PyEval_SaveThread(void)
{
    static hidden real; /* written by whoever comes first, always the same value */

    if (real.pointer == NULL)
        real.pointer = find("PyEval_SaveThread");
    saves++;
    attached_ns += now_ns() - attached_since_ns;
    return real.save();
}

void PyEval_RestoreThread(void *state)
{
    static hidden real;

    if (real.pointer == NULL)
        real.pointer = find("PyEval_RestoreThread");
    real.restore(state);
    attached_since_ns = now_ns();
}

/* Time that the calling thread, which holds the GIL, has held it so far. Only differences count. */
uint64_t gil_shim_attached_ns(void)
{
    return attached_ns + (now_ns() - attached_since_ns);
}

/* How often the calling thread gave the GIL back in an extension. */
uint64_t gil_shim_saves(void)
{
    return saves;
}
