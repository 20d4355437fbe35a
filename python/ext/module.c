/*
 * stoker._core: the module. Multi-phase; all types are heap types in the state of the module, and
 * there are no globals that hold Python objects.
 */
#include <Python.h>

#include <string.h>

#include "state.h"

#ifndef EXT_VERSION
#    error "the build tells the version that the package is of"
#endif

static ext_state *state_of(PyObject *module)
{
    return PyModule_GetState(module);
}

static PyObject *cure(PyObject *module, PyObject *name)
{
    const char *wanted = PyUnicode_AsUTF8(name);

    (void)module;
    if (wanted == NULL)
        return NULL;
#define CURE(number, status, text)           \
    if (strcmp(wanted, "STK_" #status) == 0) \
        return PyUnicode_FromString(stk_status_cure(STK_##status));
    STK_STATUS_LIST(CURE)
#undef CURE
    return PyErr_Format(PyExc_KeyError, "%R is no status", name);
}

/* Raise the exception of a status, as a call of the library would: for tests of the table. */
static PyObject *raise_status(PyObject *module, PyObject *args)
{
    stk_error err = STK_ERROR_INIT;
    int number;

    if (!PyArg_ParseTuple(args, "i:raise_status", &number))
        return NULL;
    err.status = (stk_status)number;
    return ext_raise(state_of(module), &err);
}

static PyMethodDef functions[] = {
    {"decode_image", ext_decode_image, METH_VARARGS,
        PyDoc_STR("decode_image($module, data, crop, layout, limits, /)\n--\n\n"
                  "A picture as a Tensor.")},
    {"image_info", ext_image_info, METH_VARARGS,
        PyDoc_STR("image_info($module, data, limits, /)\n--\n\n"
                  "(width, height, orientation, channels, depth, format, progressive)")},
    {"transform", ext_transform, METH_VARARGS,
        PyDoc_STR("transform($module, pixels, height, width, chain, seed, epoch, sample, layout,\n"
                  "          dtype, /)\n--\n\nA chain applied to rows of RGB, as a Tensor.")},
    {"save_file", ext_save_file, METH_VARARGS,
        PyDoc_STR("save_file($module, path, data, /)\n--\n\n"
                  "Write a file under its name, whole or not at all.")},
    {"cure", cure, METH_O,
        PyDoc_STR("cure($module, status, /)\n--\n\nWhat to do about a status, or \"\".")},
    {"raise_status", raise_status, METH_VARARGS,
        PyDoc_STR("raise_status($module, number, /)\n--\n\nRaise the exception of a status.")},
    {NULL, NULL, 0, NULL},
};

/* name -> number of each status. */
static PyObject *statuses(void)
{
    PyObject *dict = PyDict_New();

#define STATUS(number, name, text)                                                 \
    if (dict != NULL) {                                                            \
        PyObject *value = PyLong_FromLong(number);                                 \
        if (value == NULL || PyDict_SetItemString(dict, "STK_" #name, value) != 0) \
            Py_CLEAR(dict);                                                        \
        Py_XDECREF(value);                                                         \
    }
    STK_STATUS_LIST(STATUS)
#undef STATUS
    return dict;
}

static bool add_taken(PyObject *module, const char *name, PyObject *value)
{
    int failed;

    if (value == NULL)
        return false;
    failed = PyModule_AddObjectRef(module, name, value);
    Py_DECREF(value);
    return failed == 0;
}

static PyTypeObject *add_type(PyObject *module, PyType_Spec *spec)
{
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);

    if (type != NULL && PyModule_AddType(module, (PyTypeObject *)type) != 0)
        Py_CLEAR(type);
    return (PyTypeObject *)type;
}

static PyObject *errors_function(void)
{
    PyObject *errors = PyImport_ImportModule("stoker.errors");
    PyObject *function = errors != NULL ? PyObject_GetAttrString(errors, "make_error") : NULL;

    Py_XDECREF(errors);
    return function;
}

static int module_exec(PyObject *module)
{
    ext_state *state = state_of(module);

    if (strcmp(stk_version(), EXT_VERSION) != 0) {
        PyErr_Format(PyExc_ImportError, "stoker._core is of version %s, its library of %s",
            EXT_VERSION, stk_version());
        return -1;
    }
    state->make_error = errors_function();
    state->str_key = PyUnicode_InternFromString("__key__");
    state->str_shard = PyUnicode_InternFromString("__shard__");
    state->str_cls = PyUnicode_InternFromString("cls");
    state->tensor_type = add_type(module, &ext_tensor_spec);
    state->batch_type = add_type(module, &ext_batch_spec);
    state->loader_type = add_type(module, &ext_loader_spec);
    state->pass_type = add_type(module, &ext_pass_spec);
    state->dataset_type = add_type(module, &ext_dataset_spec);
    state->scan_type = add_type(module, &ext_scan_spec);
    if (PyErr_Occurred() != NULL || !add_taken(module, "STATUSES", statuses()) ||
        PyModule_AddStringConstant(module, "__version__", EXT_VERSION) != 0)
        return -1;
    return 0;
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    ext_state *state = state_of(module);

    Py_VISIT(state->tensor_type);
    Py_VISIT(state->batch_type);
    Py_VISIT(state->loader_type);
    Py_VISIT(state->pass_type);
    Py_VISIT(state->dataset_type);
    Py_VISIT(state->scan_type);
    Py_VISIT(state->make_error);
    Py_VISIT(state->asarray);
    Py_VISIT(state->json_loads);
    return 0;
}

static int module_clear(PyObject *module)
{
    ext_state *state = state_of(module);

    Py_CLEAR(state->tensor_type);
    Py_CLEAR(state->batch_type);
    Py_CLEAR(state->loader_type);
    Py_CLEAR(state->pass_type);
    Py_CLEAR(state->dataset_type);
    Py_CLEAR(state->scan_type);
    Py_CLEAR(state->make_error);
    Py_CLEAR(state->asarray);
    Py_CLEAR(state->json_loads);
    Py_CLEAR(state->str_key);
    Py_CLEAR(state->str_shard);
    Py_CLEAR(state->str_cls);
    return 0;
}

static void module_free(void *module)
{
    (void)module_clear(module);
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
    EXT_MODULE_SLOTS_COMPAT{0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "stoker._core",
    .m_doc = PyDoc_STR("The engine's handles for the package; private."),
    .m_size = sizeof(ext_state),
    .m_methods = functions,
    .m_slots = module_slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
