/* A small file, whole or not at all: stk_file_save() for the package. */
#include <Python.h>

#include "state.h"

PyObject *ext_save_file(PyObject *module, PyObject *args)
{
    ext_state *state = PyModule_GetState(module);
    stk_error err = STK_ERROR_INIT;
    PyObject *path = NULL; /* bytes */
    Py_buffer data = {0};
    stk_status st;

    if (!PyArg_ParseTuple(args, "O&y*:save_file", PyUnicode_FSConverter, &path, &data)) {
        Py_XDECREF(path); /* it was converted, and the other was at fault */
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    st = stk_file_save(PyBytes_AS_STRING(path), (stk_view){data.buf, (size_t)data.len}, &err);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&data);
    Py_DECREF(path);
    return st < 0 ? ext_raise(state, &err) : Py_NewRef(Py_None);
}
