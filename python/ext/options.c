/*
 * Settings from Python to the structs of the library.
 *
 * The package has checked names and ranges and hands over plain tuples, so what fails here is a
 * mistake in the package. The library checks ranges again.
 */
#include <Python.h>

#include "state.h"

bool ext_limits_parse(PyObject *op, stk_limits *limits_out, const stk_limits **use_out)
{
    unsigned long long pixels, member_bytes, header_bytes;

    *use_out = NULL;
    if (op == Py_None)
        return true;
    *limits_out = (stk_limits)STK_LIMITS_INIT;
    if (!PyArg_Parse(op, "(KIIKK);limits are a tuple of five int", &pixels, &limits_out->max_scans,
            &limits_out->max_depth, &member_bytes, &header_bytes))
        return false;
    limits_out->max_pixels = pixels;
    limits_out->max_member_bytes = member_bytes;
    limits_out->max_header_bytes = header_bytes;
    *use_out = limits_out;
    return true;
}

static bool parse_transform(PyObject *op, stk_transform *out)
{
    int kind, interpolation, padding_mode, antialias, pad_if_needed;

    *out = (stk_transform)STK_TRANSFORM_INIT;
    if (!PyArg_Parse(op, "(iIIIIIiipp(IIII)(bbb)(dd)(dd)d(fff)(fff));a transform is a tuple of 17",
            &kind, &out->height, &out->width, &out->top, &out->left, &out->max_size, &interpolation,
            &padding_mode, &antialias, &pad_if_needed, &out->padding[0], &out->padding[1],
            &out->padding[2], &out->padding[3], &out->fill[0], &out->fill[1], &out->fill[2],
            &out->scale[0], &out->scale[1], &out->ratio[0], &out->ratio[1], &out->probability,
            &out->mean[0], &out->mean[1], &out->mean[2], &out->std[0], &out->std[1], &out->std[2]))
        return false;
    out->kind = (stk_transform_kind)kind;
    out->interpolation = (stk_interpolation)interpolation;
    out->padding_mode = (stk_padding_mode)padding_mode;
    out->antialias = antialias != 0;
    out->pad_if_needed = pad_if_needed != 0;
    return true;
}

bool ext_chain_parse(PyObject *op, stk_transform **chain_out, size_t *count_out)
{
    Py_ssize_t count;
    stk_transform *chain;

    if (!PyTuple_Check(op)) {
        PyErr_Format(PyExc_TypeError, "transforms are a tuple, not %s", Py_TYPE(op)->tp_name);
        return false;
    }
    count = PyTuple_GET_SIZE(op);
    chain = PyMem_Calloc((size_t)count + 1, sizeof *chain);
    if (chain == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!parse_transform(PyTuple_GET_ITEM(op, i), &chain[i])) {
            PyMem_Free(chain);
            return false;
        }
    }
    *chain_out = chain;
    *count_out = (size_t)count;
    return true;
}

static bool parse_field(PyObject *op, stk_field_spec *out)
{
    int kind, layout, dtype, orient, optional;
    stk_transform *chain;
    PyObject *transforms;

    *out = (stk_field_spec)STK_FIELD_SPEC_INIT;
    if (!PyArg_Parse(op, "(sziOiipp);a field is a tuple of 8", &out->name, &out->source, &kind,
            &transforms, &layout, &dtype, &orient, &optional) ||
        !ext_chain_parse(transforms, &chain, &out->transform_count))
        return false;
    out->transforms = chain;
    out->kind = (stk_field_kind)kind;
    out->layout = (stk_layout)layout;
    out->dtype = (stk_dtype)dtype;
    out->orient = orient != 0;
    out->optional = optional != 0;
    return true;
}

bool ext_fields_parse(PyObject *op, stk_field_spec **fields_out, size_t *count_out)
{
    Py_ssize_t count = PyTuple_GET_SIZE(op);
    stk_field_spec *fields = PyMem_Calloc((size_t)count + 1, sizeof *fields);

    if (fields == NULL) {
        PyErr_NoMemory();
        return false;
    }
    *fields_out = fields; /* from here on the caller's, half-made or whole */
    *count_out = (size_t)count;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!parse_field(PyTuple_GET_ITEM(op, i), &fields[i]))
            return false;
    }
    return true;
}

void ext_fields_free(stk_field_spec *fields, size_t count)
{
    for (size_t i = 0; fields != NULL && i < count; i++)
        PyMem_Free((void *)(uintptr_t)fields[i].transforms);
    PyMem_Free(fields);
}
