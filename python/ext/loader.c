/*
 * Loader and Pass: the handle of a loader, and the iterator that a `for` loop sees.
 *
 * A handle is used by one thread at a time, so each object has a lock. It is held during one call
 * of the library and no Python runs with it held. Who finds it taken lets the GIL go before waiting
 * for it, and a long call gives it back before asking for the GIL again. Waiting for a batch is
 * done in slices, so that close() and statistics from other threads come in between.
 *
 * After fork the child must not touch lock or handle: the threads that would let them go are not
 * there. So the process is compared before either.
 */
#include <Python.h>

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "loader_object.h"
#include "state.h"

/* Ctrl-C is answered within one slice: short enough to feel at once, too long to cost anything. */
#define WAIT_SLICE_NS 50000000u
/* Given to others that want the lock between two slices. */
#define YIELD_NS 200000

/* The iterator of one `for`. Ends once; a newer pass over the loader makes it stale. */
typedef struct pass_object {
    PyObject_HEAD
    loader_object *loader;
    uint64_t nth;
    bool ended; /* guarded by the loader's lock */
} pass_object;

static loader_object *self_of(PyObject *op)
{
    return (loader_object *)op;
}

static PyObject *raise_plain(ext_state *state, stk_status status, const char *text)
{
    stk_error err = STK_ERROR_INIT;

    err.status = status;
    (void)strncpy(err.text, text, sizeof err.text - 1);
    return ext_raise(state, &err);
}

stk_loader *ext_loader_hold(loader_object *self)
{
    ext_state *state = PyType_GetModuleState(Py_TYPE((PyObject *)self));

    if (self->process != getpid()) {
        raise_plain(state, STK_EFORK, "the loader was opened before fork, by the parent process");
        return NULL;
    }
    if (self->handle != NULL && !self->closing &&
        PyThread_acquire_lock(self->lock, NOWAIT_LOCK) == 0) {
        self->waiting++;
        Py_BEGIN_ALLOW_THREADS
        PyThread_acquire_lock(self->lock, WAIT_LOCK);
        Py_END_ALLOW_THREADS
        self->waiting--;
        if (self->closing)
            PyThread_release_lock(self->lock);
    }
    if (self->handle == NULL || self->closing) {
        raise_plain(state, STK_ECLOSED, "the loader is closed");
        return NULL;
    }
    return self->handle;
}

void ext_loader_drop(loader_object *self)
{
    PyThread_release_lock(self->lock);
}

/* Between two slices of a wait: let in who waits for the lock. */
static void give_way(const loader_object *self)
{
    struct timespec moment = {0, YIELD_NS};

    if (self->waiting == 0)
        return;
    Py_BEGIN_ALLOW_THREADS(void)
    nanosleep(&moment, NULL); /* cut short by a signal: as well */
    Py_END_ALLOW_THREADS
}

/* May the pass go on? Otherwise STK_END, or STK_AGAIN with an exception. The lock is held. */
static stk_status check_pass(const loader_object *self, const pass_object *pass)
{
    if (pass == NULL)
        return STK_OK;
    if (pass->ended)
        return STK_END;
    if (pass->nth == self->passes)
        return STK_OK;
    PyErr_SetString(PyExc_RuntimeError,
        "a newer pass over the loader has begun, or its position was set; "
        "this iterator cannot go on");
    return STK_AGAIN;
}

/* The next batch of a pass (NULL: whatever comes next): STK_OK, STK_END, or a failure in `err`.
 * Returns STK_AGAIN with an exception set: a signal's, or that the loader was closed. */
static stk_status next_batch(
    loader_object *self, pass_object *pass, stk_batch **batch_out, stk_error *err)
{
    stk_loader *handle;
    stk_status st;

    for (;;) {
        handle = ext_loader_hold(self);
        if (handle == NULL)
            return STK_AGAIN;
        st = check_pass(self, pass); /* again, since another thread may have been in between */
        if (st != STK_OK) {
            ext_loader_drop(self);
            return st;
        }
        Py_BEGIN_ALLOW_THREADS
        st = stk_loader_next_timed(handle, WAIT_SLICE_NS, batch_out, err);
        if (st == STK_OK || st == STK_END)
            self->midway = st == STK_OK;
        if (st == STK_END && pass != NULL)
            pass->ended = true; /* before anybody else can ask for the next epoch through it */
        ext_loader_drop(self);
        Py_END_ALLOW_THREADS
        if (st != STK_AGAIN || PyErr_CheckSignals() != 0)
            return st;
        give_way(self);
    }
}

/* Pass.__next__(): the next batch, or the end of the epoch. */
static PyObject *pass_next(PyObject *op)
{
    pass_object *self = (pass_object *)op;
    ext_state *state = PyType_GetModuleState(Py_TYPE(op));
    stk_error err = STK_ERROR_INIT;
    stk_batch *batch = NULL;
    stk_status st;

    if (self->ended) /* for good, also when the loader is closed by now */
        return NULL;
    st = next_batch(self->loader, self, &batch, &err);
    if (st == STK_OK)
        return ext_batch_wrap(state, &self->loader->schema, batch);
    if (st < 0)
        return ext_raise(state, &err);
    return NULL; /* STK_AGAIN: an exception is set. STK_END: nothing is, StopIteration */
}

/* Leave an epoch of which batches were handed out: the next pass gets the next one. */
static bool leave_epoch(loader_object *self)
{
    ext_state *state = PyType_GetModuleState(Py_TYPE((PyObject *)self));
    stk_loader *handle = ext_loader_hold(self);
    stk_error err = STK_ERROR_INIT;
    stk_batch *batch = NULL;
    stk_status st = STK_OK;
    bool begun, complete;

    if (handle == NULL)
        return false;
    begun = stk_loader_step(handle) > 0; /* not after its last batch gave an error */
    complete = stk_loader_step(handle) == stk_loader_steps(handle);
    Py_BEGIN_ALLOW_THREADS
    if (begun && !complete)
        st = stk_loader_set_epoch(handle, stk_loader_epoch(handle) + 1, &err);
    self->midway = false;
    ext_loader_drop(self);
    Py_END_ALLOW_THREADS
    if (complete) { /* only the end is left, and what was read ahead for the next epoch stays */
        st = next_batch(self, NULL, &batch, &err);
        if (st == STK_AGAIN)
            return false;
        stk_batch_unref(batch);
    }
    return st >= 0 || ext_raise(state, &err) != NULL;
}

static PyObject *loader_begin(PyObject *op, PyObject *unused)
{
    loader_object *self = self_of(op);
    ext_state *state = PyType_GetModuleState(Py_TYPE(op));
    pass_object *pass;
    bool midway;

    (void)unused;
    if (ext_loader_hold(self) == NULL)
        return NULL;
    midway = self->midway;
    ext_loader_drop(self);
    if (midway && !leave_epoch(self))
        return NULL;
    pass = (pass_object *)state->pass_type->tp_alloc(state->pass_type, 0);
    if (pass == NULL)
        return NULL;
    pass->loader = (loader_object *)Py_NewRef(op);
    if (ext_loader_hold(self) == NULL) {
        Py_DECREF(pass);
        return NULL;
    }
    pass->nth = ++self->passes;
    ext_loader_drop(self);
    return (PyObject *)pass;
}

/* A pass that is under way ends with an error, and the next one goes on from here. Lock held. */
static void position_was_set(loader_object *self, stk_status st)
{
    if (st != STK_OK)
        return;
    self->midway = false;
    self->passes++;
}

static PyObject *loader_set_epoch(PyObject *op, PyObject *number)
{
    loader_object *self = self_of(op);
    ext_state *state = PyType_GetModuleState(Py_TYPE(op));
    uint64_t epoch = PyLong_AsUnsignedLongLong(number);
    stk_error err = STK_ERROR_INIT;
    stk_loader *handle;
    stk_status st;

    if (PyErr_Occurred() != NULL)
        return NULL;
    handle = ext_loader_hold(self);
    if (handle == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    st = stk_loader_set_epoch(handle, epoch, &err);
    position_was_set(self, st);
    ext_loader_drop(self);
    Py_END_ALLOW_THREADS
    if (st < 0)
        return ext_raise(state, &err);
    Py_RETURN_NONE;
}

static PyObject *loader_get_state(PyObject *op, PyObject *unused)
{
    loader_object *self = self_of(op);
    stk_loader *handle = ext_loader_hold(self);
    stk_loader_state s = {0};

    (void)unused;
    if (handle == NULL)
        return NULL;
    stk_loader_get_state(handle, &s);
    ext_loader_drop(self);
    return Py_BuildValue("(IIIIIIKKKKKKKK)", s.version, s.batch_size, s.world_size, s.shuffle,
        s.shuffle_window, s.tail, (unsigned long long)s.fingerprint[0],
        (unsigned long long)s.fingerprint[1], (unsigned long long)s.samples,
        (unsigned long long)s.seed, (unsigned long long)s.weights_hash, (unsigned long long)s.epoch,
        (unsigned long long)s.position, (unsigned long long)s.skipped);
}

static PyObject *loader_set_state(PyObject *op, PyObject *args)
{
    loader_object *self = self_of(op);
    ext_state *state = PyType_GetModuleState(Py_TYPE(op));
    unsigned long long print0, print1, samples, seed, weights, epoch, position, skipped;
    stk_error err = STK_ERROR_INIT;
    stk_loader_state s = {0};
    stk_loader *handle;
    stk_status st;

    if (!PyArg_ParseTuple(args, "IIIIIIKKKKKKKK:set_state", &s.version, &s.batch_size,
            &s.world_size, &s.shuffle, &s.shuffle_window, &s.tail, &print0, &print1, &samples,
            &seed, &weights, &epoch, &position, &skipped))
        return NULL;
    s.fingerprint[0] = print0, s.fingerprint[1] = print1;
    s.samples = samples, s.seed = seed, s.weights_hash = weights;
    s.epoch = epoch, s.position = position, s.skipped = skipped;
    handle = ext_loader_hold(self);
    if (handle == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    st = stk_loader_set_state(handle, &s, &err);
    position_was_set(self, st);
    ext_loader_drop(self);
    Py_END_ALLOW_THREADS
    if (st < 0)
        return ext_raise(state, &err);
    Py_RETURN_NONE;
}

static PyObject *loader_at(PyObject *op, PyObject *args)
{
    loader_object *self = self_of(op);
    ext_state *state = PyType_GetModuleState(Py_TYPE(op));
    unsigned long long epoch, position;
    stk_error err = STK_ERROR_INIT;
    stk_batch *batch = NULL;
    stk_loader *handle;
    stk_status st;

    if (!PyArg_ParseTuple(args, "KK:at", &epoch, &position))
        return NULL;
    handle = ext_loader_hold(self);
    if (handle == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    st = stk_loader_at(handle, epoch, position, &batch, &err);
    ext_loader_drop(self);
    Py_END_ALLOW_THREADS
    if (st != STK_OK)
        return ext_raise(state, &err);
    return ext_batch_wrap(state, &self->schema, batch);
}

static PyObject *loader_order(PyObject *op, PyObject *args)
{
    loader_object *self = self_of(op);
    ext_state *state = PyType_GetModuleState(Py_TYPE(op));
    unsigned long long epoch, start, stop;
    stk_error err = STK_ERROR_INIT;
    stk_status st = STK_OK;
    stk_loader *handle;
    PyObject *bytes;
    uint64_t *samples;

    if (!PyArg_ParseTuple(args, "KKK:order", &epoch, &start, &stop))
        return NULL;
    if (stop < start || stop - start > PY_SSIZE_T_MAX / sizeof *samples)
        return PyErr_Format(PyExc_ValueError, "stop is %llu; start is %llu", stop, start);
    bytes = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)((stop - start) * sizeof *samples));
    if (bytes == NULL)
        return NULL;
    handle = ext_loader_hold(self);
    if (handle == NULL) {
        Py_DECREF(bytes);
        return NULL;
    }
    samples = (uint64_t *)(void *)PyByteArray_AS_STRING(bytes);
    Py_BEGIN_ALLOW_THREADS
    for (uint64_t at = start; at < stop && st == STK_OK; at++)
        st = stk_loader_order(handle, epoch, at, &samples[at - start], &err);
    ext_loader_drop(self);
    Py_END_ALLOW_THREADS
    if (st == STK_OK)
        return bytes;
    Py_DECREF(bytes);
    return ext_raise(state, &err);
}

static PyObject *loader_waits_for(PyObject *op, PyObject *unused)
{
    loader_object *self = self_of(op);
    stk_loader *handle = ext_loader_hold(self);
    char line[256] = "";

    (void)unused;
    if (handle == NULL)
        return NULL;
    (void)stk_loader_waits_for(handle, line, sizeof line); /* a longer one is cut */
    ext_loader_drop(self);
    return ext_text(line, strlen(line));
}

static PyObject *loader_close(PyObject *op, PyObject *unused)
{
    (void)unused;
    ext_loader_close(self_of(op));
    Py_RETURN_NONE;
}

/* One number of the handle. */
static PyObject *number_of(PyObject *op, uint64_t (*get)(const stk_loader *loader))
{
    loader_object *self = self_of(op);
    stk_loader *handle = ext_loader_hold(self);
    uint64_t number;

    if (handle == NULL)
        return NULL;
    number = get(handle);
    ext_loader_drop(self);
    return PyLong_FromUnsignedLongLong(number);
}

static PyObject *loader_epoch(PyObject *op, void *unused)
{
    (void)unused;
    return number_of(op, stk_loader_epoch);
}

static PyObject *loader_step(PyObject *op, void *unused)
{
    (void)unused;
    return number_of(op, stk_loader_step);
}

static PyObject *loader_steps(PyObject *op, void *unused)
{
    (void)unused;
    return number_of(op, stk_loader_steps);
}

static PyObject *loader_closed(PyObject *op, void *unused)
{
    const loader_object *self = self_of(op);

    (void)unused;
    return PyBool_FromLong(self->handle == NULL || self->closing);
}

static void pass_dealloc(PyObject *op)
{
    PyTypeObject *type = Py_TYPE(op);

    PyObject_GC_UnTrack(op);
    Py_XDECREF(((pass_object *)op)->loader);
    type->tp_free(op);
    Py_DECREF(type);
}

static int pass_traverse(PyObject *op, visitproc visit, void *arg)
{
    Py_VISIT(((pass_object *)op)->loader);
    Py_VISIT(Py_TYPE(op));
    return 0;
}

static PyMethodDef loader_methods[] = {
    {"begin", loader_begin, METH_NOARGS,
        PyDoc_STR("begin($self, /)\n--\n\nAn iterator over the rest of the epoch, or the next.")},
    {"set_epoch", loader_set_epoch, METH_O,
        PyDoc_STR("set_epoch($self, epoch, /)\n--\n\nGo to the start of an epoch.")},
    {"get_state", loader_get_state, METH_NOARGS,
        PyDoc_STR("get_state($self, /)\n--\n\nThe numbers of stk_loader_state.")},
    {"set_state", loader_set_state, METH_VARARGS,
        PyDoc_STR("set_state($self, /, *numbers)\n--\n\nGo to where those numbers say.")},
    {"at", loader_at, METH_VARARGS,
        PyDoc_STR("at($self, epoch, position, /)\n--\n\nOne sample, computed again.")},
    {"order", loader_order, METH_VARARGS,
        PyDoc_STR("order($self, epoch, start, stop, /)\n--\n\nSamples as native uint64.")},
    {"damage", ext_loader_damage, METH_O,
        PyDoc_STR("damage($self, first, /)\n--\n\nLosses from the first on, as tuples.")},
    {"stats", ext_loader_stats, METH_NOARGS,
        PyDoc_STR("stats($self, /)\n--\n\nCounters since the loader opened.")},
    {"waits_for", loader_waits_for, METH_NOARGS,
        PyDoc_STR("waits_for($self, /)\n--\n\nWhat the loader waits for right now.")},
    {"close", loader_close, METH_NOARGS, PyDoc_STR("close($self, /)\n--\n\nJoin all threads.")},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef loader_getset[] = {
    {"epoch", loader_epoch, NULL, NULL, NULL},
    {"step", loader_step, NULL, NULL, NULL},
    {"steps", loader_steps, NULL, NULL, NULL},
    {"closed", loader_closed, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot loader_slots[] = {
    {Py_tp_new, ext_loader_new},
    {Py_tp_dealloc, ext_loader_dealloc},
    {Py_tp_traverse, ext_loader_traverse},
    {Py_tp_clear, ext_loader_clear},
    {Py_tp_methods, loader_methods},
    {Py_tp_getset, loader_getset},
    {Py_tp_doc, (void *)(uintptr_t)"The handle of a loader."},
    {0, NULL},
};

PyType_Spec ext_loader_spec = {
    .name = "stoker._core.Loader",
    .basicsize = sizeof(loader_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = loader_slots,
};

static PyType_Slot pass_slots[] = {
    {Py_tp_dealloc, pass_dealloc},
    {Py_tp_traverse, pass_traverse},
    {Py_tp_iter, PyObject_SelfIter},
    {Py_tp_iternext, pass_next},
    {Py_tp_doc, (void *)(uintptr_t)"The iterator over one epoch of a loader, or its rest."},
    {0, NULL},
};

PyType_Spec ext_pass_spec = {
    .name = "stoker._core.Pass",
    .basicsize = sizeof(pass_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
             Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = pass_slots,
};
