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

    if (!PyArg_ParseTuple(args, "O&y*:save_file", PyUnicode_FSConverter, &path, &data))
        return NULL; /* the converter has released the path, if the data were at fault */
    Py_BEGIN_ALLOW_THREADS
    st = stk_file_save(PyBytes_AS_STRING(path), (stk_view){data.buf, (size_t)data.len}, &err);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&data);
    Py_DECREF(path);
    return st < 0 ? ext_raise(state, &err) : Py_NewRef(Py_None);
}
