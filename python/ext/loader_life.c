/*
 * Opening and closing of a loader.
 *
 * close() refuses new calls, waits until the one that is under way has left (at most a slice of its
 * wait), and joins the threads of the library, all of it detached. In a forked child it only
 * forgets the handle: it belongs to the parent.
 */
#include <Python.h>

#include <unistd.h>

#include "loader_object.h"
#include "state.h"

/* A buffer of `size` bytes items, or nothing for None. */
static bool take_buffer(PyObject *op, Py_ssize_t size, Py_buffer *view)
{
    *view = (Py_buffer){0};
    if (op == Py_None)
        return true;
    if (PyObject_GetBuffer(op, view, PyBUF_C_CONTIGUOUS) != 0)
        return false;
    if (view->itemsize == size)
        return true;
    PyErr_Format(
        PyExc_TypeError, "items of %zd bytes are wanted, not of %zd", size, view->itemsize);
    PyBuffer_Release(view);
    return false;
}

/* What the constructor was given; borrowed from its arguments. */
typedef struct loader_args {
    PyObject *dataset, *fields;
    PyObject *weights, *known_damage, *limits;
    ext_schema schema;
    int shuffle, tail, on_error, allow_empty;
    unsigned long long seed, memory_bytes, max_errors;
    stk_loader_options options;
} loader_args;

static bool parse(ext_state *state, PyObject *args, PyObject *kwargs, loader_args *out)
{
    static const char *const names[] = {"dataset", "fields", "batch_size", "shuffle",
        "shuffle_window", "weights", "seed", "rank", "world_size", "tail", "allow_empty", "threads",
        "io_threads", "prefetch", "memory_bytes", "on_error", "max_errors", "max_error_rate",
        "known_damage", "limits", "names", "index", "kinds", "convert", NULL};
    stk_loader_options *opt = &out->options;

    *opt = (stk_loader_options)STK_LOADER_OPTIONS_INIT;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!$IiIOKIIipiiIKiKdOOO!O!O!O:Loader",
            EXT_KEYWORDS(names), state->dataset_type, &out->dataset, &PyTuple_Type, &out->fields,
            &opt->batch_size, &out->shuffle, &opt->shuffle_window, &out->weights, &out->seed,
            &opt->rank, &opt->world_size, &out->tail, &out->allow_empty, &opt->threads,
            &opt->io_threads, &opt->prefetch, &out->memory_bytes, &out->on_error, &out->max_errors,
            &opt->max_error_rate, &out->known_damage, &out->limits, &PyTuple_Type,
            &out->schema.names, &PyDict_Type, &out->schema.index, &PyBytes_Type, &out->schema.kinds,
            &out->schema.convert))
        return false;
    if (PyTuple_GET_SIZE(out->schema.names) != PyBytes_GET_SIZE(out->schema.kinds)) {
        PyErr_SetString(PyExc_ValueError, "names and kinds differ in length");
        return false;
    }
    opt->shuffle = (stk_shuffle)out->shuffle;
    opt->tail = (stk_tail)out->tail;
    opt->on_error = (stk_on_error)out->on_error;
    opt->allow_empty = out->allow_empty != 0;
    opt->seed = out->seed;
    opt->memory_bytes = out->memory_bytes;
    opt->max_errors = out->max_errors;
    return true;
}

/* Open with the lists that the options point to; they are released again whatever happens. */
static stk_loader *open_loader(ext_state *state, loader_args *in)
{
    stk_loader_options *opt = &in->options;
    stk_dataset *dataset = ext_dataset_handle(state, in->dataset);
    stk_field_spec *fields = NULL;
    stk_error err = STK_ERROR_INIT;
    Py_buffer weights, known = {0};
    stk_loader *loader = NULL;
    stk_limits limits;
    stk_status st;

    if (!take_buffer(in->weights, sizeof(double), &weights))
        return NULL;
    if (!take_buffer(in->known_damage, sizeof(uint64_t), &known) ||
        !ext_limits_parse(in->limits, &limits, &opt->limits) ||
        !ext_fields_parse(in->fields, &fields, &opt->field_count))
        goto out;
    if (weights.buf != NULL &&
        (uint64_t)(weights.len / weights.itemsize) != stk_dataset_count(dataset)) {
        PyErr_Format(PyExc_ValueError, "weights has %zd entries for %llu samples",
            weights.len / weights.itemsize, (unsigned long long)stk_dataset_count(dataset));
        goto out;
    }
    opt->weights = weights.buf;
    opt->known_damage = known.buf;
    opt->known_damage_count = known.buf != NULL ? (size_t)(known.len / known.itemsize) : 0;
    opt->fields = fields;
    Py_BEGIN_ALLOW_THREADS
    st = stk_loader_open_dataset(dataset, opt, &loader, &err);
    Py_END_ALLOW_THREADS
    if (st != STK_OK)
        ext_raise(state, &err);
out:
    ext_fields_free(fields, opt->field_count);
    PyBuffer_Release(&known);
    PyBuffer_Release(&weights);
    return loader;
}

PyObject *ext_loader_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    ext_state *state = PyType_GetModuleState(type);
    loader_args in = {0};
    loader_object *self;

    if (!parse(state, args, kwargs, &in))
        return NULL;
    self = (loader_object *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->process = getpid();
    self->schema = ext_schema_ref(&in.schema);
    self->lock = PyThread_allocate_lock();
    if (self->lock == NULL)
        PyErr_NoMemory();
    else
        self->handle = open_loader(state, &in);
    if (self->handle == NULL)
        Py_CLEAR(self);
    return (PyObject *)self;
}

void ext_loader_close(loader_object *self)
{
    stk_loader *handle;

    if (self->process != getpid() || self->handle == NULL)
        return;
    self->closing = true;
    Py_BEGIN_ALLOW_THREADS
    PyThread_acquire_lock(self->lock, WAIT_LOCK);
    handle = self->handle; /* a second close() finds nothing */
    self->handle = NULL;
    stk_loader_close(handle);
    PyThread_release_lock(self->lock);
    Py_END_ALLOW_THREADS
}

void ext_loader_dealloc(PyObject *op)
{
    loader_object *self = (loader_object *)op;
    PyTypeObject *type = Py_TYPE(op);

    PyObject_GC_UnTrack(op);
    if (self->lock != NULL) {
        ext_loader_close(self);
        if (self->process == getpid()) /* in a child, a thread of the parent may hold it */
            PyThread_free_lock(self->lock);
    }
    ext_schema_fini(&self->schema);
    type->tp_free(op);
    Py_DECREF(type);
}

int ext_loader_traverse(PyObject *op, visitproc visit, void *arg)
{
    loader_object *self = (loader_object *)op;

    Py_VISIT(self->schema.names);
    Py_VISIT(self->schema.index);
    Py_VISIT(self->schema.kinds);
    Py_VISIT(self->schema.convert);
    Py_VISIT(Py_TYPE(op));
    return 0;
}

int ext_loader_clear(PyObject *op)
{
    /* Only what can be part of a cycle: methods may still be called on what is cleared. */
    Py_XSETREF(((loader_object *)op)->schema.convert, Py_NewRef(Py_None));
    return 0;
}
