/*
 * Batch: one step of a loader, as attributes, a mapping and a tuple.
 *
 * It owns one reference to the slot and makes the value of a field when it is first asked for: an
 * array that shows the slot, or, where samples differ in length, a list. A value that was made is
 * kept, so that `batch.image is batch.image`; since a list may come to hold anything, the garbage
 * collector looks inside.
 */
#include <Python.h>

#include <string.h>

#include "state.h"

typedef struct batch_object {
    PyObject_HEAD
    stk_batch *batch;
    ext_schema schema;
    PyObject **values; /* NULL until a field was asked for; one a field, each NULL until then */
    Py_ssize_t count;
} batch_object;

ext_schema ext_schema_ref(const ext_schema *schema)
{
    return (ext_schema){
        .names = Py_NewRef(schema->names),
        .index = Py_NewRef(schema->index),
        .kinds = Py_NewRef(schema->kinds),
        .convert = Py_NewRef(schema->convert),
    };
}

void ext_schema_fini(ext_schema *schema)
{
    Py_CLEAR(schema->names);
    Py_CLEAR(schema->index);
    Py_CLEAR(schema->kinds);
    Py_CLEAR(schema->convert);
}

static ext_owner owner_of(const batch_object *self)
{
    return (ext_owner){.batch = self->batch};
}

PyObject *ext_batch_wrap(ext_state *state, const ext_schema *schema, stk_batch *batch)
{
    batch_object *self = (batch_object *)state->batch_type->tp_alloc(state->batch_type, 0);

    if (self == NULL) {
        stk_batch_unref(batch);
        return NULL;
    }
    self->batch = batch;
    self->count = PyTuple_GET_SIZE(schema->names);
    self->schema = ext_schema_ref(schema);
    return (PyObject *)self;
}

static int batch_clear(PyObject *op)
{
    batch_object *self = (batch_object *)op;

    /* Only what can be part of a cycle: methods may still be called on what is cleared. */
    for (Py_ssize_t i = 0; self->values != NULL && i < self->count; i++)
        Py_CLEAR(self->values[i]);
    Py_XSETREF(self->schema.convert, Py_NewRef(Py_None));
    return 0;
}

static int batch_traverse(PyObject *op, visitproc visit, void *arg)
{
    batch_object *self = (batch_object *)op;

    for (Py_ssize_t i = 0; self->values != NULL && i < self->count; i++)
        Py_VISIT(self->values[i]);
    Py_VISIT(self->schema.names);
    Py_VISIT(self->schema.index);
    Py_VISIT(self->schema.kinds);
    Py_VISIT(self->schema.convert);
    Py_VISIT(Py_TYPE(op));
    return 0;
}

static void batch_dealloc(PyObject *op)
{
    batch_object *self = (batch_object *)op;
    PyTypeObject *type = Py_TYPE(op);

    PyObject_GC_UnTrack(op);
    for (Py_ssize_t i = 0; self->values != NULL && i < self->count; i++)
        Py_XDECREF(self->values[i]);
    PyMem_Free(self->values);
    ext_schema_fini(&self->schema);
    stk_batch_unref(self->batch);
    type->tp_free(op);
    Py_DECREF(type);
}

/* numpy.asarray(tensor), or the Tensor itself where NumPy has no such type. */
static PyObject *to_numpy(ext_state *state, PyObject *tensor)
{
    if (ext_dtype_format(ext_tensor_of(tensor)->dtype) == NULL)
        return Py_NewRef(tensor);
    if (state->asarray == NULL) {
        PyObject *numpy = PyImport_ImportModule("numpy");
        if (numpy == NULL)
            return NULL;
        state->asarray = PyObject_GetAttrString(numpy, "asarray");
        Py_DECREF(numpy);
        if (state->asarray == NULL)
            return NULL;
    }
    return PyObject_CallOneArg(state->asarray, tensor);
}

/* A tensor as the loader's face shows tensors. */
static PyObject *show(batch_object *self, const stk_tensor *tensor)
{
    ext_state *state = PyType_GetModuleState(Py_TYPE((PyObject *)self));
    ext_owner owner = owner_of(self);
    PyObject *made = ext_tensor_new(state, tensor, &owner);
    PyObject *shown;

    if (made == NULL)
        return NULL;
    if (self->schema.convert == Py_None)
        shown = to_numpy(state, made);
    else
        shown = PyObject_CallOneArg(self->schema.convert, made);
    Py_DECREF(made);
    return shown;
}

static PyObject *parse_json(ext_state *state, const char *data, Py_ssize_t size)
{
    PyObject *bytes, *parsed;

    if (state->json_loads == NULL) {
        PyObject *json = PyImport_ImportModule("json");
        if (json == NULL)
            return NULL;
        state->json_loads = PyObject_GetAttrString(json, "loads");
        Py_DECREF(json);
        if (state->json_loads == NULL)
            return NULL;
    }
    bytes = PyBytes_FromStringAndSize(data, size);
    if (bytes == NULL)
        return NULL;
    parsed = PyObject_CallOneArg(state->json_loads, bytes);
    Py_DECREF(bytes);
    return parsed;
}

/* One row of a ragged field. `data` may be NULL where size is 0. */
static PyObject *row_of(ext_state *state, char kind, const char *data, Py_ssize_t size)
{
    const char *start = size > 0 ? data : "";

    switch (kind) {
    case EXT_SHOW_TEXT:
        return PyUnicode_DecodeUTF8(start, size, "strict");
    case EXT_SHOW_KEY:
        return PyUnicode_DecodeUTF8(start, size, "surrogateescape");
    case EXT_SHOW_JSON:
        if (size == 0) /* an optional field that the sample lacks */
            return Py_NewRef(Py_None);
        return parse_json(state, start, size);
    default:
        return PyBytes_FromStringAndSize(start, size);
    }
}

static PyObject *list_of(batch_object *self, const stk_tensor *tensor, char kind)
{
    ext_state *state = PyType_GetModuleState(Py_TYPE((PyObject *)self));
    Py_ssize_t rows = (Py_ssize_t)stk_batch_rows(self->batch);
    PyObject *list = PyList_New(rows);

    for (Py_ssize_t i = 0; list != NULL && i < rows; i++) {
        int64_t from = tensor->offsets[i], to = tensor->offsets[i + 1];
        PyObject *row =
            row_of(state, kind, (const char *)tensor->data + from, (Py_ssize_t)(to - from));
        if (row == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, row);
    }
    return list;
}

/* A new reference to the value of a field, made if it was not yet. */
static PyObject *value_of(batch_object *self, Py_ssize_t nth)
{
    const stk_tensor *tensor;
    PyObject *value;

    if (self->values == NULL) {
        self->values = PyMem_Calloc((size_t)self->count + 1, sizeof *self->values);
        if (self->values == NULL)
            return PyErr_NoMemory();
    }
    if (self->values[nth] != NULL)
        return Py_NewRef(self->values[nth]);
    tensor = stk_batch_tensor(self->batch, (size_t)nth);
    if (tensor == NULL)
        return PyErr_Format(PyExc_SystemError, "the batch has no field %zd", nth);
    if (tensor->offsets == NULL)
        value = show(self, tensor);
    else
        value = list_of(self, tensor, PyBytes_AS_STRING(self->schema.kinds)[nth]);
    if (value == NULL)
        return NULL;
    if (self->values[nth] == NULL) /* making it may have run other code that made it, too */
        self->values[nth] = Py_NewRef(value);
    return value;
}

/* Number of the field of that name, among all; -1 without an exception if there is none. */
static Py_ssize_t nth_of(const batch_object *self, PyObject *name)
{
    for (Py_ssize_t i = 0; i < self->count; i++) {
        PyObject *candidate = PyTuple_GET_ITEM(self->schema.names, i);
        if (candidate == name || PyUnicode_Compare(candidate, name) == 0)
            return i;
    }
    return -1;
}

static PyObject *batch_getattro(PyObject *op, PyObject *name)
{
    batch_object *self = (batch_object *)op;
    PyObject *number = PyDict_GetItemWithError(self->schema.index, name); /* borrowed */

    if (number != NULL)
        return value_of(self, PyLong_AsSsize_t(number));
    if (PyErr_Occurred() != NULL)
        return NULL;
    return PyObject_GenericGetAttr(op, name);
}

static PyObject *batch_subscript(PyObject *op, PyObject *key)
{
    batch_object *self = (batch_object *)op;
    Py_ssize_t nth;

    if (PyUnicode_Check(key)) {
        nth = nth_of(self, key);
        if (nth < 0) {
            PyErr_SetObject(PyExc_KeyError, key);
            return NULL;
        }
        return value_of(self, nth);
    }
    if (PyIndex_Check(key)) {
        nth = PyNumber_AsSsize_t(key, PyExc_IndexError);
        if (nth == -1 && PyErr_Occurred() != NULL)
            return NULL;
        if (nth < 0)
            nth += self->count;
        if (nth < 0 || nth >= self->count)
            return PyErr_Format(PyExc_IndexError, "the batch has %zd fields", self->count);
        return value_of(self, nth);
    }
    return PyErr_Format(PyExc_TypeError,
        "a batch is indexed by the name or the number of a field, not by %s",
        Py_TYPE(key)->tp_name);
}

static Py_ssize_t batch_length(PyObject *op)
{
    return ((batch_object *)op)->count;
}

static int batch_contains(PyObject *op, PyObject *name)
{
    return PyUnicode_Check(name) && nth_of((batch_object *)op, name) >= 0;
}

static PyObject *batch_values(PyObject *op, PyObject *unused)
{
    batch_object *self = (batch_object *)op;
    PyObject *tuple = PyTuple_New(self->count);

    (void)unused;
    for (Py_ssize_t i = 0; tuple != NULL && i < self->count; i++) {
        PyObject *value = value_of(self, i);
        if (value == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, value);
    }
    return tuple;
}

static PyObject *batch_iter(PyObject *op)
{
    PyObject *values = batch_values(op, NULL);
    PyObject *iterator;

    if (values == NULL)
        return NULL;
    iterator = PyObject_GetIter(values);
    Py_DECREF(values);
    return iterator;
}

static PyObject *batch_keys(PyObject *op, PyObject *unused)
{
    (void)unused;
    return Py_NewRef(((batch_object *)op)->schema.names);
}

static PyObject *batch_items(PyObject *op, PyObject *unused)
{
    batch_object *self = (batch_object *)op;
    PyObject *tuple = PyTuple_New(self->count);

    (void)unused;
    for (Py_ssize_t i = 0; tuple != NULL && i < self->count; i++) {
        PyObject *value = value_of(self, i);
        PyObject *pair = NULL;
        if (value != NULL)
            pair = PyTuple_Pack(2, PyTuple_GET_ITEM(self->schema.names, i), value);
        Py_XDECREF(value);
        if (pair == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, pair);
    }
    return tuple;
}

/* Offsets of a ragged field as an array of rows + 1 int64. */
static PyObject *offsets_of(batch_object *self, const stk_tensor *tensor)
{
    stk_tensor offsets = {
        .data = (void *)(uintptr_t)tensor->offsets,
        .dtype = STK_I64,
        .ndim = 1,
        .shape = {(int64_t)stk_batch_rows(self->batch) + 1},
        .strides = {1},
    };

    return show(self, &offsets);
}

static PyObject *batch_column(PyObject *op, PyObject *name)
{
    batch_object *self = (batch_object *)op;
    const stk_tensor *tensor;
    PyObject *values, *offsets, *pair;
    Py_ssize_t nth;

    if (!PyUnicode_Check(name))
        return PyErr_Format(PyExc_TypeError, "name is %R; it must be a str", name);
    nth = nth_of(self, name);
    if (nth < 0) {
        PyErr_SetObject(PyExc_KeyError, name);
        return NULL;
    }
    tensor = stk_batch_tensor(self->batch, (size_t)nth);
    if (tensor->offsets == NULL) {
        values = value_of(self, nth);
        offsets = Py_NewRef(Py_None);
    } else {
        stk_tensor flat = *tensor;
        flat.dtype = tensor->dtype != STK_DTYPE_NONE ? tensor->dtype : STK_U8;
        flat.ndim = 1;
        flat.shape[0] = tensor->offsets[stk_batch_rows(self->batch)];
        flat.strides[0] = 1;
        values = show(self, &flat);
        offsets = values != NULL ? offsets_of(self, tensor) : NULL;
    }
    pair = values != NULL && offsets != NULL ? PyTuple_Pack(2, values, offsets) : NULL;
    Py_XDECREF(values);
    Py_XDECREF(offsets);
    return pair;
}

static PyObject *batch_samples(PyObject *op, void *unused)
{
    batch_object *self = (batch_object *)op;
    stk_tensor samples = {
        .data = (void *)(uintptr_t)stk_batch_samples(self->batch),
        .dtype = STK_I64, /* below 2^48, and torch has no arithmetic on uint64 */
        .ndim = 1,
        .shape = {(int64_t)stk_batch_rows(self->batch)},
        .strides = {1},
    };

    (void)unused;
    return show(self, &samples);
}

static PyObject *batch_epoch(PyObject *op, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(stk_batch_epoch(((batch_object *)op)->batch));
}

static PyObject *batch_step(PyObject *op, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(stk_batch_step(((batch_object *)op)->batch));
}

static PyObject *batch_rows(PyObject *op, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t(stk_batch_rows(((batch_object *)op)->batch));
}

/* "image: uint8 (256, 3, 224, 224)", or "text: 256 rows" of a ragged field. */
static PyObject *describe_field(batch_object *self, Py_ssize_t nth)
{
    const stk_tensor *tensor = stk_batch_tensor(self->batch, (size_t)nth);
    PyObject *name = PyTuple_GET_ITEM(self->schema.names, nth);
    PyObject *made, *shape, *text = NULL;
    ext_owner owner = owner_of(self);

    if (tensor->offsets != NULL)
        return PyUnicode_FromFormat("%U: %zu rows of %lld bytes", name, stk_batch_rows(self->batch),
            (long long)tensor->offsets[stk_batch_rows(self->batch)]);
    made = ext_tensor_new(PyType_GetModuleState(Py_TYPE((PyObject *)self)), tensor, &owner);
    shape = made != NULL ? PyObject_GetAttrString(made, "shape") : NULL;
    if (shape != NULL)
        text = PyUnicode_FromFormat("%U: %s %R", name, stk_dtype_name(tensor->dtype), shape);
    Py_XDECREF(shape);
    Py_XDECREF(made);
    return text;
}

static PyObject *batch_repr(PyObject *op)
{
    batch_object *self = (batch_object *)op;
    PyObject *text = PyUnicode_FromFormat("Batch(epoch %llu, step %llu, %zu rows",
        (unsigned long long)stk_batch_epoch(self->batch),
        (unsigned long long)stk_batch_step(self->batch), stk_batch_rows(self->batch));

    for (Py_ssize_t i = 0; text != NULL && i < self->count; i++) {
        PyObject *field = describe_field(self, i);
        PyObject *longer = field != NULL ? PyUnicode_FromFormat("%U, %U", text, field) : NULL;
        Py_XDECREF(field);
        Py_SETREF(text, longer);
    }
    if (text != NULL)
        Py_SETREF(text, PyUnicode_FromFormat("%U)", text));
    return text;
}

static PyMethodDef batch_methods[] = {
    {"keys", batch_keys, METH_NOARGS,
        PyDoc_STR("keys($self, /)\n--\n\nNames of the fields, in order of declaration.")},
    {"values", batch_values, METH_NOARGS,
        PyDoc_STR("values($self, /)\n--\n\nValues of the fields, in order of declaration.")},
    {"items", batch_items, METH_NOARGS,
        PyDoc_STR("items($self, /)\n--\n\nPairs of name and value.")},
    {"column", batch_column, METH_O,
        PyDoc_STR(
            "column($self, name, /)\n--\n\n"
            "Raw form of a field: (values, offsets).\n\n"
            "Of a field whose samples differ in length, `values` is (total,) uint8 and\n"
            "`offsets` (rows + 1,) int64: row i is values[offsets[i]:offsets[i + 1]]. Of any\n"
            "other field, `values` is the field and `offsets` is None. No copy.")},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef batch_getset[] = {
    {"epoch", batch_epoch, NULL, PyDoc_STR("Epoch that the batch belongs to, from 0."), NULL},
    {"step", batch_step, NULL, PyDoc_STR("Step in the epoch, from 0."), NULL},
    {"rows", batch_rows, NULL, PyDoc_STR("Samples in the batch."), NULL},
    {"samples", batch_samples, NULL, PyDoc_STR("Index in the dataset of each row: (rows,) int64."),
        NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyDoc_STRVAR(batch_doc,
    "One step of a loader.\n\n"
    "Fields are attributes (`batch.image`), items of a mapping (`batch[\"image\"]`, `keys()`) and\n"
    "of a tuple in order of declaration (`images, labels = batch`, `batch[0]`). Arrays show the\n"
    "memory of the batch without a copy and may be written to; fields whose samples differ in\n"
    "length are lists. The memory is used again when the batch and all its arrays are gone.");

static PyType_Slot batch_slots[] = {
    {Py_tp_dealloc, batch_dealloc},
    {Py_tp_traverse, batch_traverse},
    {Py_tp_clear, batch_clear},
    {Py_tp_getattro, batch_getattro},
    {Py_tp_repr, batch_repr},
    {Py_tp_iter, batch_iter},
    {Py_tp_methods, batch_methods},
    {Py_tp_getset, batch_getset},
    {Py_mp_length, batch_length},
    {Py_mp_subscript, batch_subscript},
    {Py_sq_contains, batch_contains},
    {Py_tp_doc, (void *)(uintptr_t)batch_doc},
    {0, NULL},
};

PyType_Spec ext_batch_spec = {
    .name = "stoker._core.Batch",
    .basicsize = sizeof(batch_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
             Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = batch_slots,
};
