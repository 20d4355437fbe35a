/*
 * Dataset: samples by number, as dicts of bytes.
 *
 * The names that every dict shares (of fields and shards) are made once and interned, so that a
 * dict costs its values only. The bytes of a sample are read detached, into the bytes objects
 * themselves.
 */
#include <Python.h>

#include <string.h>

#include "state.h"

typedef struct dataset_object {
    PyObject_HEAD
    stk_dataset *handle;
    PyObject **fields; /* one interned str a field name */
    PyObject **shards; /* one str a shard; each NULL until it is needed */
    uint32_t field_count, shard_count;
} dataset_object;

static dataset_object *self_of(PyObject *op)
{
    return (dataset_object *)op;
}

stk_dataset *ext_dataset_handle(ext_state *state, PyObject *op)
{
    if (Py_IS_TYPE(op, state->dataset_type))
        return self_of(op)->handle;
    PyErr_Format(PyExc_TypeError, "a dataset is wanted, not %s", Py_TYPE(op)->tp_name);
    return NULL;
}

PyObject *ext_dataset_field_name(PyObject *op, uint32_t field_id)
{
    return self_of(op)->fields[field_id];
}

/* Borrowed. */
static PyObject *shard_name(dataset_object *self, uint32_t shard)
{
    if (self->shards[shard] == NULL) {
        const char *name = stk_dataset_shard_name(self->handle, shard);
        self->shards[shard] = ext_text(name, strlen(name));
    }
    return self->shards[shard];
}

PyObject *ext_dataset_dict(ext_state *state, PyObject *op, const stk_sample *sample)
{
    PyObject *dict = PyDict_New();
    PyObject *key = ext_text(sample->key.data, sample->key.size);
    PyObject *shard = shard_name(self_of(op), sample->shard);

    if (dict == NULL || key == NULL || shard == NULL ||
        PyDict_SetItem(dict, state->str_key, key) != 0 ||
        PyDict_SetItem(dict, state->str_shard, shard) != 0)
        Py_CLEAR(dict);
    Py_XDECREF(key);
    return dict;
}

bool ext_dataset_finish(ext_state *state, PyObject *dict, const stk_sample *sample)
{
    PyObject *number, *kept;

    if (sample->label < 0)
        return true;
    number = PyBytes_FromFormat("%zd", (Py_ssize_t)sample->label);
    if (number == NULL)
        return false;
    kept = PyDict_SetDefault(dict, state->str_cls, number); /* a member of that name wins */
    Py_DECREF(number);
    return kept != NULL;
}

/* Room for the bytes of each field of a sample, in the order of the shard. */
static PyObject *allocate_values(const stk_sample_field *fields, uint32_t count)
{
    PyObject *values = PyTuple_New(count);

    for (uint32_t i = 0; values != NULL && i < count; i++) {
        PyObject *bytes = NULL;
        if (fields[i].size_bytes > PY_SSIZE_T_MAX)
            PyErr_NoMemory();
        else
            bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)fields[i].size_bytes);
        if (bytes == NULL)
            Py_CLEAR(values);
        else
            PyTuple_SET_ITEM(values, i, bytes);
    }
    return values;
}

/* Where a failed read stood, as far as the library has not said. */
static void name_place(const stk_sample *sample, stk_view field, stk_error *err)
{
    size_t room = sizeof err->key - 1;

    if (err->key[0] == '\0' && sample->key.size > 0)
        memcpy(err->key, sample->key.data, sample->key.size < room ? sample->key.size : room);
    room = sizeof err->field - 1;
    if (err->field[0] == '\0' && field.size > 0)
        memcpy(err->field, field.data, field.size < room ? field.size : room);
    if (err->sample == UINT64_MAX)
        err->sample = sample->index;
}

/* Read the bytes of every field into `values`. Detached: the bytes objects are ours alone. */
static stk_status read_values(const stk_dataset *dataset, const stk_sample *sample,
    const stk_sample_field *fields, PyObject *const *values, stk_error *err)
{
    for (uint32_t i = 0; i < sample->field_count; i++) {
        stk_span dst = {PyBytes_AS_STRING(values[i]), (size_t)fields[i].size_bytes};
        stk_status st = stk_dataset_read(dataset, fields[i].source, fields[i].offset, dst, err);
        if (st < 0) {
            name_place(sample, fields[i].field, err);
            return st;
        }
    }
    return STK_OK;
}

static PyObject *read_sample(
    ext_state *state, PyObject *op, const stk_sample *sample, const stk_sample_field *fields)
{
    const stk_dataset *handle = self_of(op)->handle;
    PyObject *values = allocate_values(fields, sample->field_count);
    stk_error err = STK_ERROR_INIT;
    PyObject *dict = NULL;
    stk_status st;

    if (values == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    st = read_values(handle, sample, fields, &PyTuple_GET_ITEM(values, 0), &err);
    Py_END_ALLOW_THREADS
    if (st < 0)
        ext_raise(state, &err);
    else
        dict = ext_dataset_dict(state, op, sample);
    for (uint32_t i = 0; dict != NULL && i < sample->field_count; i++) {
        PyObject *name = ext_dataset_field_name(op, fields[i].field_id);
        if (PyDict_SetItem(dict, name, PyTuple_GET_ITEM(values, i)) != 0)
            Py_CLEAR(dict);
    }
    if (dict != NULL && !ext_dataset_finish(state, dict, sample))
        Py_CLEAR(dict);
    Py_DECREF(values);
    return dict;
}

static PyObject *sample_dict(ext_state *state, PyObject *op, uint64_t index)
{
    stk_sample_field few[16], *fields = few;
    stk_dataset *handle = self_of(op)->handle;
    stk_error err = STK_ERROR_INIT;
    PyObject *dict = NULL;
    stk_sample sample;

    if (stk_dataset_sample(handle, index, &sample, &err) < 0)
        return ext_raise(state, &err);
    if (sample.field_count > sizeof few / sizeof few[0]) {
        fields = PyMem_Calloc(sample.field_count, sizeof *fields);
        if (fields == NULL)
            return PyErr_NoMemory();
    }
    for (uint32_t i = 0; i < sample.field_count; i++) {
        if (stk_dataset_sample_field(handle, index, i, &fields[i], &err) < 0) {
            ext_raise(state, &err);
            goto out;
        }
    }
    dict = read_sample(state, op, &sample, fields);
out:
    if (fields != few)
        PyMem_Free(fields);
    return dict;
}

static PyObject *dataset_get(PyObject *op, PyObject *number)
{
    uint64_t index = PyLong_AsUnsignedLongLong(number);

    if (PyErr_Occurred() != NULL)
        return NULL;
    return sample_dict(PyType_GetModuleState(Py_TYPE(op)), op, index);
}

static PyObject *dataset_key(PyObject *op, PyObject *number)
{
    uint64_t index = PyLong_AsUnsignedLongLong(number);
    stk_error err = STK_ERROR_INIT;
    stk_sample sample;

    if (PyErr_Occurred() != NULL)
        return NULL;
    if (stk_dataset_sample(self_of(op)->handle, index, &sample, &err) < 0)
        return ext_raise(PyType_GetModuleState(Py_TYPE(op)), &err);
    return ext_text(sample.key.data, sample.key.size);
}

static PyObject *dataset_find(PyObject *op, PyObject *args)
{
    stk_dataset *handle = self_of(op)->handle;
    stk_error err = STK_ERROR_INIT;
    uint64_t index = 0;
    Py_buffer key;
    stk_status st;

    if (!PyArg_ParseTuple(args, "y*:find", &key))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    st = stk_dataset_find(handle, (stk_view){key.buf, (size_t)key.len}, &index, &err);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&key);
    if (st < 0)
        return ext_raise(PyType_GetModuleState(Py_TYPE(op)), &err);
    return PyLong_FromUnsignedLongLong(index);
}

/* [(name, field, offset, size_bytes, path of the source), ...] of a sample. */
static PyObject *dataset_members(PyObject *op, PyObject *number)
{
    ext_state *state = PyType_GetModuleState(Py_TYPE(op));
    stk_dataset *handle = self_of(op)->handle;
    uint64_t index = PyLong_AsUnsignedLongLong(number);
    stk_error err = STK_ERROR_INIT;
    stk_sample sample;
    PyObject *list;

    if (PyErr_Occurred() != NULL)
        return NULL;
    if (stk_dataset_sample(handle, index, &sample, &err) < 0)
        return ext_raise(state, &err);
    list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < sample.field_count; i++) {
        stk_sample_field field;
        PyObject *member = NULL;
        char path[4096];

        if (stk_dataset_sample_field(handle, index, i, &field, &err) < 0) {
            ext_raise(state, &err);
        } else {
            (void)stk_dataset_source_path(handle, field.source, path, sizeof path);
            member = Py_BuildValue("(NOKKN)", ext_text(field.name.data, field.name.size),
                ext_dataset_field_name(op, field.field_id), (unsigned long long)field.offset,
                (unsigned long long)field.size_bytes, ext_text(path, strlen(path)));
        }
        if (member == NULL || PyList_Append(list, member) != 0)
            Py_CLEAR(list);
        Py_XDECREF(member);
    }
    return list;
}

static PyObject *dataset_scan(PyObject *op, PyObject *args)
{
    unsigned long long first, last;

    if (!PyArg_ParseTuple(args, "KK:scan", &first, &last))
        return NULL;
    return ext_scan_new(PyType_GetModuleState(Py_TYPE(op)), op, first, last);
}

static PyObject *dataset_fields(PyObject *op, void *unused)
{
    const dataset_object *self = self_of(op);
    PyObject *tuple = PyTuple_New(self->field_count);

    (void)unused;
    for (uint32_t i = 0; tuple != NULL && i < self->field_count; i++)
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(self->fields[i]));
    return tuple;
}

static PyObject *dataset_classes(PyObject *op, void *unused)
{
    const stk_dataset *handle = self_of(op)->handle;
    uint32_t count = stk_dataset_class_count(handle);
    PyObject *tuple = PyTuple_New(count);

    (void)unused;
    for (uint32_t i = 0; tuple != NULL && i < count; i++) {
        const char *name = stk_dataset_class(handle, i);
        PyObject *text = ext_text(name, strlen(name));
        if (text == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, text);
    }
    return tuple;
}

/* ((name, first sample), ...) */
static PyObject *dataset_shards(PyObject *op, void *unused)
{
    dataset_object *self = self_of(op);
    PyObject *tuple = PyTuple_New(self->shard_count);

    (void)unused;
    for (uint32_t i = 0; tuple != NULL && i < self->shard_count; i++) {
        PyObject *name = shard_name(self, i);
        PyObject *pair = NULL;
        if (name != NULL)
            pair = Py_BuildValue(
                "(OK)", name, (unsigned long long)stk_dataset_shard_start(self->handle, i));
        if (pair == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, pair);
    }
    return tuple;
}

/* [(shard, offset, text), ...] */
static PyObject *dataset_notes(PyObject *op, void *unused)
{
    PyObject *list = PyList_New(0);
    stk_dataset_note note;

    (void)unused;
    for (size_t i = 0; list != NULL && stk_dataset_get_note(self_of(op)->handle, i, &note); i++) {
        const char *shard = note.shard != NULL ? note.shard : "";
        PyObject *tuple = Py_BuildValue("(NKN)", ext_text(shard, strlen(shard)),
            (unsigned long long)note.offset, ext_text(note.text, strlen(note.text)));
        if (tuple == NULL || PyList_Append(list, tuple) != 0)
            Py_CLEAR(list);
        Py_XDECREF(tuple);
    }
    return list;
}

static PyObject *dataset_fingerprint(PyObject *op, void *unused)
{
    uint64_t print[2];

    (void)unused;
    stk_dataset_fingerprint(self_of(op)->handle, print);
    return Py_BuildValue("(KK)", (unsigned long long)print[0], (unsigned long long)print[1]);
}

static Py_ssize_t dataset_length(PyObject *op)
{
    return (Py_ssize_t)stk_dataset_count(self_of(op)->handle);
}

/* Interned names of the fields, and room for those of the shards. */
static bool make_names(dataset_object *self)
{
    self->field_count = stk_dataset_field_count(self->handle);
    self->shard_count = stk_dataset_shard_count(self->handle);
    self->fields = PyMem_Calloc((size_t)self->field_count + 1, sizeof *self->fields);
    self->shards = PyMem_Calloc((size_t)self->shard_count + 1, sizeof *self->shards);
    if (self->fields == NULL || self->shards == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (uint32_t i = 0; i < self->field_count; i++) {
        const char *name = stk_dataset_field(self->handle, i);
        self->fields[i] = ext_text(name, strlen(name));
        if (self->fields[i] == NULL)
            return false;
        PyUnicode_InternInPlace(&self->fields[i]);
    }
    return true;
}

/* Borrowed C strings of a tuple of bytes; released by PyMem_Free(). */
static const char **paths_of(PyObject *tuple)
{
    Py_ssize_t count = PyTuple_GET_SIZE(tuple);
    const char **paths = PyMem_Calloc((size_t)count + 1, sizeof *paths);
    char *path;

    if (paths == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (PyBytes_AsStringAndSize(PyTuple_GET_ITEM(tuple, i), &path, NULL) != 0) {
            PyMem_Free(paths);
            return NULL;
        }
        paths[i] = path;
    }
    return paths;
}

/* Options of the constructor. */
static bool parse(PyObject *args, PyObject *kwargs, PyObject **where, stk_dataset_options *opt,
    stk_limits *limits)
{
    static const char *const names[] = {"where", "index", "keep_case", "concatenated",
        "skip_damaged_shards", "threads", "limits", NULL};
    int index, keep_case, concatenated, skip;
    PyObject *limits_op;

    *opt = (stk_dataset_options)STK_DATASET_OPTIONS_INIT;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!$ipppiO:Dataset", EXT_KEYWORDS(names),
            &PyTuple_Type, where, &index, &keep_case, &concatenated, &skip, &opt->threads,
            &limits_op) ||
        !ext_limits_parse(limits_op, limits, &opt->limits))
        return false;
    opt->index = (stk_index_mode)index;
    opt->keep_case = keep_case != 0;
    opt->concatenated = concatenated != 0;
    opt->skip_damaged_shards = skip != 0;
    return true;
}

/* Has a signal's handler raised, as that of Ctrl-C does? Only the main thread has any. */
static bool asks_signals(void *ctx)
{
    PyThreadState **detached = ctx;
    bool raised;

    PyEval_RestoreThread(*detached);
    raised = PyErr_CheckSignals() != 0;
    *detached = PyEval_SaveThread();
    return raised;
}

static PyObject *dataset_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    ext_state *state = PyType_GetModuleState(type);
    stk_error err = STK_ERROR_INIT;
    stk_dataset *handle = NULL;
    stk_dataset_options opt;
    dataset_object *self;
    const char **paths;
    stk_limits limits;
    PyObject *where;
    PyThreadState *detached;
    size_t count;
    stk_status st;

    if (!parse(args, kwargs, &where, &opt, &limits))
        return NULL;
    paths = paths_of(where);
    if (paths == NULL)
        return NULL;
    count = (size_t)PyTuple_GET_SIZE(where);
    opt.stop = asks_signals;
    opt.stop_ctx = &detached;
    detached = PyEval_SaveThread();
    st = stk_dataset_open(paths, count, &opt, &handle, &err);
    PyEval_RestoreThread(detached);
    PyMem_Free(paths);
    if (st == STK_ESTOPPED)
        return NULL; /* the handler's exception is set */
    if (st < 0)
        return ext_raise(state, &err);
    self = (dataset_object *)type->tp_alloc(type, 0);
    if (self == NULL) {
        stk_dataset_unref(handle);
        return NULL;
    }
    self->handle = handle;
    if (!make_names(self))
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void dataset_dealloc(PyObject *op)
{
    dataset_object *self = self_of(op);
    PyTypeObject *type = Py_TYPE(op);

    for (uint32_t i = 0; self->fields != NULL && i < self->field_count; i++)
        Py_XDECREF(self->fields[i]);
    for (uint32_t i = 0; self->shards != NULL && i < self->shard_count; i++)
        Py_XDECREF(self->shards[i]);
    PyMem_Free(self->fields);
    PyMem_Free(self->shards);
    Py_BEGIN_ALLOW_THREADS
    stk_dataset_unref(self->handle);
    Py_END_ALLOW_THREADS
    type->tp_free(op);
    Py_DECREF(type);
}

static PyMethodDef dataset_methods[] = {
    {"get", dataset_get, METH_O,
        PyDoc_STR("get($self, index, /)\n--\n\nA sample as a dict of bytes.")},
    {"key", dataset_key, METH_O, PyDoc_STR("key($self, index, /)\n--\n\nThe key of a sample.")},
    {"find", dataset_find, METH_VARARGS,
        PyDoc_STR("find($self, key, /)\n--\n\nIndex of the sample with these bytes as its key.")},
    {"members", dataset_members, METH_O,
        PyDoc_STR("members($self, index, /)\n--\n\n"
                  "(name, field, offset, size_bytes, source) of each field of a sample.")},
    {"scan", dataset_scan, METH_VARARGS,
        PyDoc_STR("scan($self, first, last, /)\n--\n\nAn iterator over samples, as dicts.")},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef dataset_getset[] = {
    {"fields", dataset_fields, NULL, NULL, NULL},
    {"classes", dataset_classes, NULL, NULL, NULL},
    {"shards", dataset_shards, NULL, NULL, NULL},
    {"notes", dataset_notes, NULL, NULL, NULL},
    {"fingerprint", dataset_fingerprint, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot dataset_slots[] = {
    {Py_tp_new, dataset_new},
    {Py_tp_dealloc, dataset_dealloc},
    {Py_tp_methods, dataset_methods},
    {Py_tp_getset, dataset_getset},
    {Py_sq_length, dataset_length},
    {Py_tp_doc, (void *)(uintptr_t)"The handle of a dataset."},
    {0, NULL},
};

PyType_Spec ext_dataset_spec = {
    .name = "stoker._core.Dataset",
    .basicsize = sizeof(dataset_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = dataset_slots,
};
