/*
 * Tensor: an array in a slot of a batch, or in memory of its own, shown through the buffer protocol
 * and DLPack without a copy.
 *
 * A tensor holds the slot, not the Batch it came from. Whatever shows it further (a NumPy array, a
 * torch tensor) holds the Tensor or, through DLPack, the slot itself.
 */
#include <Python.h>

#include <stdlib.h>
#include <structmember.h>

#include "state.h"

typedef struct tensor_object {
    PyObject_HEAD
    stk_tensor tensor;
    ext_owner owner;
    Py_ssize_t shape[STK_TENSOR_MAX_DIMS]; /* for Py_buffer, which borrows them */
    Py_ssize_t strides_bytes[STK_TENSOR_MAX_DIMS];
    Py_ssize_t size_bytes;
    bool contiguous; /* last axis fastest, no gaps */
} tensor_object;

ext_block *ext_block_new(size_t size)
{
    ext_block *block = calloc(1, sizeof *block);
    size_t room = size > 0 ? size : 1;

    if (block == NULL || posix_memalign(&block->data, STK_ALIGN_BYTES, room) != 0) {
        free(block);
        PyErr_NoMemory();
        return NULL;
    }
    atomic_init(&block->count, 1);
    return block;
}

void ext_block_unref(ext_block *block)
{
    if (block == NULL)
        return;
    /* acquire and release: the writes of every holder come before the memory is given back */
    if (atomic_fetch_sub_explicit(&block->count, 1, memory_order_acq_rel) != 1)
        return;
    free(block->data);
    free(block);
}

ext_owner ext_owner_ref(const ext_owner *owner)
{
    ext_owner more = *owner;

    if (more.batch != NULL)
        stk_batch_ref(more.batch);
    if (more.block != NULL) /* relaxed: who takes a reference holds one already */
        atomic_fetch_add_explicit(&more.block->count, 1, memory_order_relaxed);
    return more;
}

void ext_owner_unref(ext_owner *owner)
{
    stk_batch_unref(owner->batch);
    ext_block_unref(owner->block);
    *owner = (ext_owner){NULL, NULL};
}

const char *ext_dtype_format(stk_dtype dtype)
{
    switch (dtype) {
    case STK_U8:
        return "B";
    case STK_I8:
        return "b";
    case STK_U16:
        return "H";
    case STK_I16:
        return "h";
    case STK_U32:
        return "I";
    case STK_I32:
        return "i";
    case STK_U64:
        return "Q";
    case STK_I64:
        return "q";
    case STK_F16:
        return "e";
    case STK_F32:
        return "f";
    case STK_F64:
        return "d";
    case STK_BOOL:
        return "?";
    case STK_BF16:
    case STK_DTYPE_NONE:
        break;
    }
    return NULL;
}

const stk_tensor *ext_tensor_of(PyObject *op)
{
    return &((tensor_object *)op)->tensor;
}

const ext_owner *ext_tensor_owner(PyObject *op)
{
    return &((tensor_object *)op)->owner;
}

/* Shape and strides as the buffer protocol wants them. */
static void describe_axes(tensor_object *self)
{
    Py_ssize_t item = (Py_ssize_t)stk_dtype_bytes(self->tensor.dtype);
    Py_ssize_t packed = item;

    self->contiguous = true;
    for (int32_t axis = self->tensor.ndim; axis-- > 0;) {
        self->shape[axis] = (Py_ssize_t)self->tensor.shape[axis];
        self->strides_bytes[axis] = (Py_ssize_t)self->tensor.strides[axis] * item;
        if (self->shape[axis] != 1 && self->strides_bytes[axis] != packed)
            self->contiguous = false;
        packed *= self->shape[axis];
    }
    self->size_bytes = packed;
    self->contiguous = self->contiguous || packed == 0;
}

PyObject *ext_tensor_new(ext_state *state, const stk_tensor *tensor, const ext_owner *owner)
{
    tensor_object *self = (tensor_object *)state->tensor_type->tp_alloc(state->tensor_type, 0);

    if (self == NULL)
        return NULL;
    self->tensor = *tensor;
    self->tensor.name = NULL; /* borrowed from the batch: nothing here needs it */
    self->owner = ext_owner_ref(owner);
    describe_axes(self);
    return (PyObject *)self;
}

PyObject *ext_tensor_of_picture(ext_state *state, ext_block *block, uint32_t height, uint32_t width,
    stk_layout layout, stk_dtype dtype)
{
    int64_t h = height, w = width;
    stk_tensor tensor = {.data = block->data, .dtype = dtype, .ndim = 3};
    ext_owner owner = {.block = block};

    if (layout == STK_NCHW) {
        tensor.shape[0] = 3, tensor.shape[1] = h, tensor.shape[2] = w;
        tensor.strides[0] = h * w, tensor.strides[1] = w, tensor.strides[2] = 1;
    } else {
        tensor.shape[0] = h, tensor.shape[1] = w, tensor.shape[2] = 3;
        tensor.strides[0] = w * 3, tensor.strides[1] = 3, tensor.strides[2] = 1;
    }
    return ext_tensor_new(state, &tensor, &owner);
}

static void tensor_dealloc(PyObject *op)
{
    PyTypeObject *type = Py_TYPE(op);

    ext_owner_unref(&((tensor_object *)op)->owner);
    type->tp_free(op);
    Py_DECREF(type);
}

static int refuse_buffer(Py_buffer *view, const char *why)
{
    view->obj = NULL;
    PyErr_SetString(PyExc_BufferError, why);
    return -1;
}

static int tensor_getbuffer(PyObject *op, Py_buffer *view, int flags)
{
    tensor_object *self = (tensor_object *)op;
    const char *format = ext_dtype_format(self->tensor.dtype);

    if (format == NULL)
        return refuse_buffer(view,
            "bfloat16 has no format in the buffer protocol; take the tensor by DLPack "
            "(torch.from_dlpack)");
    if (!self->contiguous && (flags & PyBUF_STRIDES) != PyBUF_STRIDES)
        return refuse_buffer(view, "the tensor is not contiguous; ask for its strides");
    if (!self->contiguous && (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS)
        return refuse_buffer(view, "the tensor is not contiguous");
    if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && self->tensor.ndim > 1)
        return refuse_buffer(view, "the last axis of the tensor is the fastest, not the first");

    *view = (Py_buffer){
        .buf = self->tensor.data,
        .obj = Py_NewRef(op),
        .len = self->size_bytes,
        .itemsize = (Py_ssize_t)stk_dtype_bytes(self->tensor.dtype),
        .readonly = 0,
        .ndim = self->tensor.ndim,
        .format = (flags & PyBUF_FORMAT) == PyBUF_FORMAT ? (char *)(uintptr_t)format : NULL,
        .shape = (flags & PyBUF_ND) == PyBUF_ND ? self->shape : NULL,
        .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? self->strides_bytes : NULL,
    };
    return 0;
}

/* NumPy takes the buffer and comes here only where that failed: say why, not an array of objects.
 */
static PyObject *tensor_array(PyObject *op, PyObject *args, PyObject *kwargs)
{
    PyObject *view, *numpy, *array;

    (void)args;
    (void)kwargs;
    view = PyMemoryView_FromObject(op);
    if (view == NULL)
        return NULL;
    numpy = PyImport_ImportModule("numpy");
    array = numpy != NULL ? PyObject_CallMethod(numpy, "asarray", "O", view) : NULL;
    Py_XDECREF(numpy);
    Py_DECREF(view);
    return array;
}

static PyObject *tuple_of(const int64_t *numbers, int32_t count)
{
    PyObject *tuple = PyTuple_New(count);

    for (int32_t i = 0; tuple != NULL && i < count; i++) {
        PyObject *number = PyLong_FromLongLong(numbers[i]);
        if (number == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, number);
    }
    return tuple;
}

static PyObject *tensor_shape(PyObject *op, void *unused)
{
    (void)unused;
    return tuple_of(ext_tensor_of(op)->shape, ext_tensor_of(op)->ndim);
}

static PyObject *tensor_strides(PyObject *op, void *unused)
{
    (void)unused;
    return tuple_of(ext_tensor_of(op)->strides, ext_tensor_of(op)->ndim);
}

static PyObject *tensor_dtype(PyObject *op, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(stk_dtype_name(ext_tensor_of(op)->dtype));
}

static PyObject *tensor_nbytes(PyObject *op, void *unused)
{
    (void)unused;
    return PyLong_FromSsize_t(((tensor_object *)op)->size_bytes);
}

static PyObject *tensor_repr(PyObject *op)
{
    PyObject *shape = tensor_shape(op, NULL);
    PyObject *text = NULL;

    if (shape != NULL)
        text =
            PyUnicode_FromFormat("Tensor(%R, %s)", shape, stk_dtype_name(ext_tensor_of(op)->dtype));
    Py_XDECREF(shape);
    return text;
}

static Py_ssize_t tensor_length(PyObject *op)
{
    if (ext_tensor_of(op)->ndim > 0)
        return ((tensor_object *)op)->shape[0];
    PyErr_SetString(PyExc_TypeError, "a tensor without axes has no length");
    return -1;
}

PyDoc_STRVAR(dlpack_doc,
    "__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None,\n"
    "           copy=None)\n--\n\n"
    "A DLPack capsule of the tensor, without a copy unless `copy` asks for one.");

static PyMethodDef tensor_methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))ext_tensor_dlpack, METH_VARARGS | METH_KEYWORDS,
        dlpack_doc},
    {"__dlpack_device__", ext_tensor_dlpack_device, METH_NOARGS,
        PyDoc_STR("__dlpack_device__($self, /)\n--\n\n(1, 0): memory of the host.")},
    {"__array__", (PyCFunction)(void (*)(void))tensor_array, METH_VARARGS | METH_KEYWORDS,
        PyDoc_STR("The tensor as a NumPy array, without a copy.")},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef tensor_getset[] = {
    {"shape", tensor_shape, NULL, PyDoc_STR("Elements along each axis."), NULL},
    {"strides", tensor_strides, NULL, PyDoc_STR("Elements from one to the next, per axis."), NULL},
    {"dtype", tensor_dtype, NULL, PyDoc_STR("Name of the element type: \"uint8\"."), NULL},
    {"nbytes", tensor_nbytes, NULL, PyDoc_STR("Bytes of all elements."), NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyDoc_STRVAR(tensor_doc, "An array in a slot of a batch, shown without a copy.\n\n"
                         "Writable. Taken by numpy.asarray(), memoryview(), and anything that\n"
                         "knows DLPack; keeps its slot until the last of them dies.");

static PyType_Slot tensor_slots[] = {
    {Py_tp_dealloc, tensor_dealloc},
    {Py_tp_repr, tensor_repr},
    {Py_tp_methods, tensor_methods},
    {Py_tp_getset, tensor_getset},
    {Py_bf_getbuffer, tensor_getbuffer},
    {Py_sq_length, tensor_length},
    {Py_tp_doc, (void *)(uintptr_t)tensor_doc},
    {0, NULL},
};

PyType_Spec ext_tensor_spec = {
    .name = "stoker._core.Tensor",
    .basicsize = sizeof(tensor_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = tensor_slots,
};
