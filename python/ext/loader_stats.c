/* What a loader counted and lost, as plain Python objects. Names and units: stats.py, damage.py. */
#include <Python.h>

#include <string.h>

#include "loader_object.h"
#include "state.h"

/* {"read": (count, busy_ns, bytes), ...}, one entry for each stage that has a name. */
static PyObject *stages_of(const stk_loader_stats *stats)
{
    PyObject *dict = PyDict_New();

    for (int stage = STK_STAGE_NONE + 1; dict != NULL && stage < STK_STAGE_COUNT; stage++) {
        const stk_stage_stats *row = &stats->stages[stage];
        PyObject *tuple = Py_BuildValue("(KKK)", (unsigned long long)row->count,
            (unsigned long long)row->busy_ns, (unsigned long long)row->bytes);
        if (tuple == NULL ||
            PyDict_SetItemString(dict, stk_stage_name((stk_stage)stage), tuple) != 0)
            Py_CLEAR(dict);
        Py_XDECREF(tuple);
    }
    return dict;
}

PyObject *ext_loader_stats(PyObject *op, PyObject *unused)
{
    loader_object *self = (loader_object *)op;
    stk_loader *handle = ext_loader_hold(self);
    stk_loader_stats stats = {0};
    PyObject *stages;

    (void)unused;
    if (handle == NULL)
        return NULL;
    stk_loader_get_stats(handle, &stats);
    ext_loader_drop(self);
    stages = stages_of(&stats);
    if (stages == NULL)
        return NULL;
    return Py_BuildValue("{sNsKsKsKsKsKsKsKsKsKsKsIsIsIsIssss}", "stages", stages, "samples",
        (unsigned long long)stats.samples, "batches", (unsigned long long)stats.batches,
        "cold_reads", (unsigned long long)stats.cold_reads, "wait_ns",
        (unsigned long long)stats.wait_ns, "elapsed_ns", (unsigned long long)stats.elapsed_ns,
        "idle_ns", (unsigned long long)stats.idle_ns, "first_batch_ns",
        (unsigned long long)stats.first_batch_ns, "memory_bytes",
        (unsigned long long)stats.memory_bytes, "memory_peak_bytes",
        (unsigned long long)stats.memory_peak_bytes, "allocations",
        (unsigned long long)stats.allocations, "threads", stats.threads, "io_threads",
        stats.io_threads, "slots", stats.slots, "slots_held", stats.slots_held, "limit",
        stk_stage_name(stats.limit), "verdict", stats.verdict);
}

/* (epoch, step, sample, substitute, status, source, shard, key, field, offset, stage, text) */
static PyObject *tuple_of(const stk_damage *damage)
{
    const stk_error *err = &damage->error;
    PyObject *substitute = damage->substitute == UINT64_MAX
                               ? Py_NewRef(Py_None)
                               : PyLong_FromUnsignedLongLong(damage->substitute);
    PyObject *offset =
        err->has_offset ? PyLong_FromUnsignedLongLong(err->offset) : Py_NewRef(Py_None);
    PyObject *source = ext_text(err->source, strlen(err->source));
    PyObject *shard = ext_text(err->shard, strlen(err->shard));
    PyObject *key = ext_text(err->key, strlen(err->key));
    PyObject *field = ext_text(err->field, strlen(err->field));
    PyObject *text = ext_text(err->text, strlen(err->text));

    /* N takes the references, and is a failure where one of them is NULL */
    return Py_BuildValue("(KKKNsNNNNNsN)", (unsigned long long)damage->epoch,
        (unsigned long long)damage->step, (unsigned long long)err->sample, substitute,
        stk_status_name(err->status), source, shard, key, field, offset, stk_stage_name(err->stage),
        text);
}

PyObject *ext_loader_damage(PyObject *op, PyObject *first)
{
    loader_object *self = (loader_object *)op;
    ext_state *state = PyType_GetModuleState(Py_TYPE(op));
    uint64_t nth = PyLong_AsUnsignedLongLong(first);
    PyObject *list;

    if (PyErr_Occurred() != NULL)
        return NULL;
    list = PyList_New(0);
    for (; list != NULL; nth++) {
        stk_error err = STK_ERROR_INIT;
        stk_loader *handle = ext_loader_hold(self);
        PyObject *tuple = NULL;
        stk_damage damage;
        stk_status st = STK_ERANGE;

        if (handle == NULL) {
            Py_CLEAR(list);
            break;
        }
        if (nth < stk_loader_damage_count(handle))
            st = stk_loader_get_damage(handle, nth, &damage, &err);
        ext_loader_drop(self);
        if (st == STK_ERANGE)
            break; /* that was the last */
        if (st == STK_OK)
            tuple = tuple_of(&damage);
        else
            ext_raise(state, &err);
        if (tuple == NULL || PyList_Append(list, tuple) != 0)
            Py_CLEAR(list);
        Py_XDECREF(tuple);
    }
    return list;
}
