/*
 * Tensors as DLPack capsules.
 *
 * The structures are those of the DLPack specification, ABI 1.0, and of the unversioned form before
 * it. A capsule owns a reference to the slot; its deleter is plain C, so a consumer may call it
 * from any thread, without the GIL, after the loader was closed and after the interpreter ended.
 *
 * Source: dmlc.github.io/dlpack, "C API" and "Python Specification".
 */
#include <Python.h>

#include <stdlib.h>
#include <string.h>

#include "state.h"

enum { DEVICE_CPU = 1, VERSION_MAJOR = 1, VERSION_MINOR = 0, FLAG_IS_COPIED = 2 };

typedef struct dl_tensor {
    void *data;

    struct {
        int32_t type, id;
    } device;

    int32_t ndim;

    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;

    int64_t *shape;
    int64_t *strides;
    uint64_t byte_offset;
} dl_tensor;

typedef struct dl_managed {
    dl_tensor tensor;
    void *manager;
    void (*deleter)(struct dl_managed *self);
} dl_managed;

typedef struct dl_managed_versioned {
    struct {
        uint32_t major, minor;
    } version;

    void *manager;
    void (*deleter)(struct dl_managed_versioned *self);
    uint64_t flags;
    dl_tensor tensor;
} dl_managed_versioned;

/* What one capsule points into: its form, the axes that the form borrows, and the owner. */
typedef struct export {
    union {
        dl_managed plain;
        dl_managed_versioned versioned;
    } as;

    int64_t shape[STK_TENSOR_MAX_DIMS];
    int64_t strides[STK_TENSOR_MAX_DIMS];
    ext_owner owner;
} export;

static void export_free(export *out)
{
    ext_owner_unref(&out->owner);
    free(out);
}

static void plain_deleter(dl_managed *self)
{
    if (self != NULL)
        export_free(self->manager);
}

static void versioned_deleter(dl_managed_versioned *self)
{
    if (self != NULL)
        export_free(self->manager);
}

/* A capsule that nobody took. One that was taken is called "used_..." and belongs to its consumer.
 */
static void plain_capsule_gone(PyObject *capsule)
{
    dl_managed *managed;

    if (!PyCapsule_IsValid(capsule, "dltensor"))
        return;
    managed = PyCapsule_GetPointer(capsule, "dltensor");
    managed->deleter(managed);
}

static void versioned_capsule_gone(PyObject *capsule)
{
    dl_managed_versioned *managed;

    if (!PyCapsule_IsValid(capsule, "dltensor_versioned"))
        return;
    managed = PyCapsule_GetPointer(capsule, "dltensor_versioned");
    managed->deleter(managed);
}

static dl_tensor describe(export *out, const stk_tensor *tensor)
{
    static const struct {
        uint8_t code, bits;
    } types[] = {

#define TYPE(number, name, text, code, bits) [number] = {code, bits},
        STK_DTYPE_LIST(TYPE)
#undef TYPE
    };
    dl_tensor dl = {
        .data = tensor->data,
        .device = {DEVICE_CPU, 0},
        .ndim = tensor->ndim,
        .dtype = {types[tensor->dtype].code, types[tensor->dtype].bits, 1},
        .shape = out->shape,
        .strides = out->strides,
        .byte_offset = 0,
    };

    memcpy(out->shape, tensor->shape, sizeof out->shape);
    memcpy(out->strides, tensor->strides, sizeof out->strides);
    return dl;
}

/* What the consumer asks for. */
typedef struct wish {
    bool versioned;
    bool copy;
} wish;

/* None, or a tuple of two int; false with an exception. */
static bool parse_pair(PyObject *op, const char *name, long *first, long *second)
{
    if (!PyTuple_Check(op) || PyTuple_GET_SIZE(op) != 2) {
        PyErr_Format(PyExc_TypeError, "%s is %R; it must be None or a tuple of two int", name, op);
        return false;
    }
    *first = PyLong_AsLong(PyTuple_GET_ITEM(op, 0));
    *second = PyErr_Occurred() == NULL ? PyLong_AsLong(PyTuple_GET_ITEM(op, 1)) : -1;
    return PyErr_Occurred() == NULL;
}

static bool parse_wish(PyObject *args, PyObject *kwargs, wish *out)
{
    static const char *const names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
    long first, second;
    int truth;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", EXT_KEYWORDS(names),
            &stream, &version, &device, &copy))
        return false;
    if (stream != Py_None) {
        long number = PyLong_AsLong(stream);
        if (number == -1 && PyErr_Occurred() != NULL)
            return false;
        if (number != -1) { /* -1: the consumer wants no waiting, and there is none */
            PyErr_Format(PyExc_ValueError,
                "stream is %R; a tensor in host memory has none, it must be None", stream);
            return false;
        }
    }
    *out = (wish){false, false};
    if (version != Py_None) {
        if (!parse_pair(version, "max_version", &first, &second))
            return false;
        out->versioned = first >= VERSION_MAJOR;
    }
    if (device != Py_None) {
        if (!parse_pair(device, "dl_device", &first, &second))
            return false;
        if (first != DEVICE_CPU || second != 0) {
            PyErr_Format(PyExc_BufferError,
                "dl_device is %R; the tensor lies in host memory, (1, 0)", device);
            return false;
        }
    }
    truth = copy != Py_None ? PyObject_IsTrue(copy) : 0;
    out->copy = truth > 0;
    return truth >= 0;
}

/* The same elements in a block of their own. */
static bool copy_elements(PyObject *op, stk_tensor *tensor, ext_owner *owner_out)
{
    Py_buffer view;
    ext_block *block;
    int64_t stride = 1;

    if (tensor->dtype == STK_BF16) { /* no format: the same bits under another name */
        stk_tensor bits = *tensor;
        PyObject *twin;
        bool done;

        bits.dtype = STK_U16;
        twin = ext_tensor_new(PyType_GetModuleState(Py_TYPE(op)), &bits, ext_tensor_owner(op));
        if (twin == NULL)
            return false;
        done = copy_elements(twin, &bits, owner_out);
        Py_DECREF(twin);
        bits.dtype = STK_BF16;
        *tensor = bits;
        return done;
    }
    if (PyObject_GetBuffer(op, &view, PyBUF_FULL_RO) != 0)
        return false;
    block = ext_block_new((size_t)view.len);
    if (block == NULL || PyBuffer_ToContiguous(block->data, &view, view.len, 'C') != 0) {
        ext_block_unref(block);
        PyBuffer_Release(&view);
        return false;
    }
    PyBuffer_Release(&view);
    for (int32_t axis = tensor->ndim; axis-- > 0;) {
        tensor->strides[axis] = stride;
        stride *= tensor->shape[axis];
    }
    tensor->data = block->data;
    *owner_out = (ext_owner){.block = block};
    return true;
}

PyObject *ext_tensor_dlpack(PyObject *op, PyObject *args, PyObject *kwargs)
{
    stk_tensor tensor = *ext_tensor_of(op);
    ext_owner owner;
    PyObject *capsule;
    export *out;
    wish want;

    if (!parse_wish(args, kwargs, &want))
        return NULL;
    if (!want.copy)
        owner = ext_owner_ref(ext_tensor_owner(op));
    else if (!copy_elements(op, &tensor, &owner))
        return NULL;
    out = calloc(1, sizeof *out);
    if (out == NULL) {
        ext_owner_unref(&owner);
        return PyErr_NoMemory();
    }
    out->owner = owner;
    if (want.versioned) {
        out->as.versioned = (dl_managed_versioned){
            .version = {VERSION_MAJOR, VERSION_MINOR},
            .manager = out,
            .deleter = versioned_deleter,
            .flags = want.copy ? FLAG_IS_COPIED : 0,
            .tensor = describe(out, &tensor),
        };
        capsule = PyCapsule_New(&out->as.versioned, "dltensor_versioned", versioned_capsule_gone);
    } else {
        out->as.plain = (dl_managed){
            .tensor = describe(out, &tensor), .manager = out, .deleter = plain_deleter};
        capsule = PyCapsule_New(&out->as.plain, "dltensor", plain_capsule_gone);
    }
    if (capsule == NULL)
        export_free(out);
    return capsule;
}

PyObject *ext_tensor_dlpack_device(PyObject *op, PyObject *unused)
{
    (void)op;
    (void)unused;
    return Py_BuildValue("(ii)", DEVICE_CPU, 0);
}
