/* The object behind stoker._core.Loader: its life is in loader_life.c, its calls in loader.c. */
#ifndef EXT_LOADER_OBJECT_H
#define EXT_LOADER_OBJECT_H

#include <Python.h>

#include <sys/types.h>

#include "state.h"

typedef struct loader_object {
    PyObject_HEAD
    stk_loader *handle;      /* used with `lock` held; NULL once closed */
    PyThread_type_lock lock; /* one call of the library at a time */
    pid_t process;           /* that opened it */
    unsigned waiting;        /* threads that want the lock; guarded by the GIL, so too below */
    bool closing;            /* no call may start */
    bool midway;             /* a batch of the epoch was handed out since it was begun or set;
                                guarded by the lock */
    uint64_t passes;         /* the newest pass, or setting of the position; guarded by the lock */
    ext_schema schema;
} loader_object;

/* The handle for one call, then the lock is held until ext_loader_drop(). NULL with an exception:
 * closed, or opened by the parent process. */
stk_loader *ext_loader_hold(loader_object *self);
void ext_loader_drop(loader_object *self);

/* loader_life.c */
PyObject *ext_loader_new(PyTypeObject *type, PyObject *args, PyObject *kwargs);
void ext_loader_close(loader_object *self);
void ext_loader_dealloc(PyObject *op);
int ext_loader_traverse(PyObject *op, visitproc visit, void *arg);
int ext_loader_clear(PyObject *op);

/* loader_stats.c: methods */
PyObject *ext_loader_stats(PyObject *op, PyObject *unused);
PyObject *ext_loader_damage(PyObject *op, PyObject *first);

#endif
