/*
 * Scan: a pass over a dataset in order, as dicts.
 *
 * Letting the GIL go costs more than a small sample does. So samples are taken in groups: detached,
 * small ones are copied into a buffer until it is full, then dicts are made of them one by one. A
 * large sample ends its group and is not copied, since its bytes stay where they are until the scan
 * goes on. A failure ends its group, too, and is raised in its place; the pass may go on after it.
 */
#include <Python.h>

#include <stdlib.h>
#include <string.h>

#include "state.h"

enum {
    GROUP_SAMPLES = 128,
    GROUP_BYTES = 64 * 1024,
    COPY_BYTES = 4 * 1024, /* larger samples are not copied */
};

/* A field of a sample of the group. */
typedef struct piece {
    uint32_t field_id;
    stk_view data; /* in the buffer, or borrowed from the scan */
} piece;

typedef struct scan_object {
    PyObject_HEAD
    PyObject *dataset;
    stk_scan *scan;
    stk_sample samples[GROUP_SAMPLES]; /* of the group; their keys live as long as the dataset */
    size_t count, next;                /* in the group; the next to hand out */
    piece *pieces;                     /* fields of all samples, one after the other */
    size_t piece_count, piece_room, next_piece;
    char *buffer; /* GROUP_BYTES of copied data */
    size_t used;
    stk_status after; /* what stands behind the group: STK_OK, STK_END, or a failure in `err` */
    stk_error err;
    bool busy; /* a thread is filling the group */
} scan_object;

static size_t bytes_of(const stk_view *data, uint32_t count)
{
    size_t sum = 0;

    for (uint32_t i = 0; i < count; i++)
        sum += data[i].size < COPY_BYTES ? data[i].size : COPY_BYTES + 1; /* cannot overflow */
    return sum;
}

static stk_status make_room(scan_object *self, size_t more)
{
    size_t room = self->piece_room;
    piece *pieces;

    if (self->piece_count + more <= room)
        return STK_OK;
    while (room < self->piece_count + more)
        room = room > 0 ? room * 2 : (size_t)4 * GROUP_SAMPLES;
    pieces = realloc(self->pieces, room * sizeof *pieces);
    if (pieces == NULL)
        return STK_ENOMEM;
    self->pieces = pieces;
    self->piece_room = room;
    return STK_OK;
}

/* Copy a view into the buffer; there is room. */
static stk_view copy_view(scan_object *self, stk_view from)
{
    stk_view to = {self->buffer + self->used, from.size};

    if (from.size > 0)
        memcpy(self->buffer + self->used, from.data, from.size);
    self->used += from.size;
    return to;
}

/* Take the samples of the next group. Detached. */
static stk_status fill(scan_object *self)
{
    const stk_sample_field *fields;
    const stk_view *data;
    stk_sample *sample;
    stk_status st;
    bool small = true;

    self->count = self->next = self->piece_count = self->next_piece = self->used = 0;
    while (small && self->count < GROUP_SAMPLES && self->used + COPY_BYTES <= GROUP_BYTES) {
        sample = &self->samples[self->count];
        st = stk_scan_next(self->scan, sample, &fields, &data, &self->err);
        if (st != STK_OK)
            return st;
        st = make_room(self, sample->field_count);
        if (st != STK_OK)
            return st;
        small = bytes_of(data, sample->field_count) <= COPY_BYTES;
        for (uint32_t i = 0; i < sample->field_count; i++)
            self->pieces[self->piece_count++] =
                (piece){fields[i].field_id, small ? copy_view(self, data[i]) : data[i]};
        self->count++;
    }
    return STK_OK;
}

/* The dict of the next sample of the group. */
static PyObject *hand_out(scan_object *self)
{
    ext_state *state = PyType_GetModuleState(Py_TYPE((PyObject *)self));
    const stk_sample *sample = &self->samples[self->next++];
    const piece *pieces = self->pieces + self->next_piece;
    PyObject *dict = ext_dataset_dict(state, self->dataset, sample);

    self->next_piece += sample->field_count;
    for (uint32_t i = 0; dict != NULL && i < sample->field_count; i++) {
        PyObject *name = ext_dataset_field_name(self->dataset, pieces[i].field_id);
        PyObject *bytes =
            PyBytes_FromStringAndSize(pieces[i].data.data, (Py_ssize_t)pieces[i].data.size);
        if (bytes == NULL || PyDict_SetItem(dict, name, bytes) != 0)
            Py_CLEAR(dict);
        Py_XDECREF(bytes);
    }
    if (dict != NULL && !ext_dataset_finish(state, dict, sample))
        Py_CLEAR(dict);
    return dict;
}

static PyObject *scan_next(PyObject *op)
{
    scan_object *self = (scan_object *)op;
    ext_state *state = PyType_GetModuleState(Py_TYPE(op));
    stk_status st;

    if (self->busy) {
        PyErr_SetString(PyExc_RuntimeError, "another thread is in this iterator");
        return NULL;
    }
    if (self->next < self->count)
        return hand_out(self);
    if (self->after == STK_OK) {
        if (PyErr_CheckSignals() != 0)
            return NULL;
        self->busy = true;
        Py_BEGIN_ALLOW_THREADS
        self->err = (stk_error)STK_ERROR_INIT;
        self->after = fill(self);
        Py_END_ALLOW_THREADS
        self->busy = false;
        if (self->next < self->count)
            return hand_out(self);
    }
    st = self->after;
    if (st == STK_END)
        return NULL; /* StopIteration, for good */
    self->after = STK_OK;
    if (st == STK_ENOMEM && self->err.status == STK_OK)
        return PyErr_NoMemory();
    return ext_raise(state, &self->err);
}

PyObject *ext_scan_new(ext_state *state, PyObject *op, uint64_t first, uint64_t last)
{
    stk_dataset *dataset = ext_dataset_handle(state, op);
    stk_error err = STK_ERROR_INIT;
    scan_object *self;
    stk_status st;

    self = (scan_object *)state->scan_type->tp_alloc(state->scan_type, 0);
    if (self == NULL)
        return NULL;
    self->dataset = Py_NewRef(op);
    self->buffer = malloc(GROUP_BYTES);
    if (self->buffer == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    st = stk_scan_open(dataset, first, last, &self->scan, &err);
    if (st == STK_OK)
        return (PyObject *)self;
    Py_DECREF(self);
    return ext_raise(state, &err);
}

static void scan_dealloc(PyObject *op)
{
    scan_object *self = (scan_object *)op;
    PyTypeObject *type = Py_TYPE(op);

    Py_BEGIN_ALLOW_THREADS
    stk_scan_close(self->scan);
    Py_END_ALLOW_THREADS
    free(self->buffer);
    free(self->pieces);
    Py_XDECREF(self->dataset);
    type->tp_free(op);
    Py_DECREF(type);
}

static PyType_Slot scan_slots[] = {
    {Py_tp_dealloc, scan_dealloc},
    {Py_tp_iter, PyObject_SelfIter},
    {Py_tp_iternext, scan_next},
    {Py_tp_doc, (void *)(uintptr_t)"An iterator over samples in order, as dicts."},
    {0, NULL},
};

PyType_Spec ext_scan_spec = {
    .name = "stoker._core.Scan",
    .basicsize = sizeof(scan_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = scan_slots,
};
