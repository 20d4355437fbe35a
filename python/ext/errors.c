/*
 * From stk_error to an exception of the family stoker.Error.
 *
 * The classes and the table from status to class are Python (stoker/errors.py), where their bases
 * and texts can be read; this file hands over what an error knows. Raised only in the thread that
 * called, attached.
 */
#include <Python.h>

#include <string.h>

#include "state.h"

PyObject *ext_text(const char *text, size_t size)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, "surrogateescape");
}

/* A number, or None where there is none. */
static PyObject *number_or_none(bool known, uint64_t number)
{
    if (!known)
        return Py_NewRef(Py_None);
    return PyLong_FromUnsignedLongLong(number);
}

/* dict[name] = value, which is taken; false when value is NULL or the dict refuses it. */
static bool put(PyObject *dict, const char *name, PyObject *value)
{
    int failed;

    if (value == NULL)
        return false;
    failed = PyDict_SetItemString(dict, name, value);
    Py_DECREF(value);
    return failed == 0;
}

static bool put_text(PyObject *dict, const char *name, const char *text)
{
    return put(dict, name, ext_text(text, strlen(text)));
}

/* The keywords of stoker.errors.make_error(). */
static PyObject *describe(const stk_error *err)
{
    char line[2048];
    PyObject *dict = PyDict_New();

    if (dict == NULL)
        return NULL;
    (void)stk_error_format(err, line, sizeof line); /* a longer one is cut */
    if (put_text(dict, "status", stk_status_name(err->status)) &&
        put_text(dict, "text", err->text[0] != '\0' ? err->text : stk_status_text(err->status)) &&
        put_text(dict, "line", line) && put_text(dict, "cure", stk_error_cure(err)) &&
        put(dict, "errno", PyLong_FromLong(err->os_errno)) &&
        put_text(dict, "stage", stk_stage_name(err->stage)) &&
        put_text(dict, "source", err->source) && put_text(dict, "shard", err->shard) &&
        put_text(dict, "key", err->key) && put_text(dict, "field", err->field) &&
        put(dict, "offset", number_or_none(err->has_offset, err->offset)) &&
        put(dict, "sample", number_or_none(err->sample != UINT64_MAX, err->sample)))
        return dict;
    Py_DECREF(dict);
    return NULL;
}

PyObject *ext_raise(ext_state *state, const stk_error *err)
{
    PyObject *keywords = describe(err);
    PyObject *none = NULL;
    PyObject *exception = NULL;

    if (keywords == NULL)
        goto out;
    none = PyTuple_New(0);
    if (none == NULL)
        goto out;
    exception = PyObject_Call(state->make_error, none, keywords);
    if (exception != NULL)
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
out:
    Py_XDECREF(exception);
    Py_XDECREF(none);
    Py_XDECREF(keywords);
    return NULL;
}
