/*
 * Functions on one picture: decode, probe, transform. Argument buffers are held while C reads them,
 * detached; results go to memory of their own.
 */
#include <Python.h>

#include "state.h"

/* height * width * 3 * item bytes in a new block; NULL with an exception. */
static ext_block *picture_block(uint64_t height, uint64_t width, size_t item)
{
    size_t size;

    if (__builtin_mul_overflow(height, width, &size) ||
        __builtin_mul_overflow(size, 3 * item, &size) || size > PY_SSIZE_T_MAX) {
        PyErr_NoMemory();
        return NULL;
    }
    return ext_block_new(size);
}

/* (top, left, height, width) inside the picture, or None for all of it. */
static bool parse_crop(ext_state *state, PyObject *op, const stk_image_info *info, stk_rect *out)
{
    Py_ssize_t top, left, height, width;
    stk_error err = STK_ERROR_INIT;

    *out = (stk_rect){0, 0, info->width, info->height};
    if (op == Py_None)
        return true;
    if (!PyArg_Parse(op, "(nnnn);crop is a tuple (top, left, height, width) of int", &top, &left,
            &height, &width))
        return false;
    if (top >= 0 && left >= 0 && height > 0 && width > 0 && height <= info->height &&
        top <= (Py_ssize_t)info->height - height && width <= info->width &&
        left <= (Py_ssize_t)info->width - width) {
        *out = (stk_rect){(uint32_t)left, (uint32_t)top, (uint32_t)width, (uint32_t)height};
        return true;
    }
    err.status = STK_ESHAPE;
    PyOS_snprintf(err.text, sizeof err.text,
        "a crop of height %zd, width %zd at top %zd, left %zd is not inside a picture of height "
        "%u, width %u",
        height, width, top, left, info->height, info->width);
    return ext_raise(state, &err) != NULL;
}

/* Decode as rows of RGB, and into planes where channels are to come first, else NULL. Detached. */
static stk_status decode_detached(stk_view encoded, const stk_rect *crop, const stk_limits *limits,
    ext_block *rows, ext_block *planes, stk_error *err)
{
    size_t pixels = (size_t)crop->width * crop->height;
    stk_image image = {.data = rows->data,
        .pitch_bytes = (size_t)crop->width * 3,
        .width = crop->width,
        .height = crop->height};
    stk_status st = stk_image_decode(encoded, crop, limits, &image, err);

    if (st < 0 || planes == NULL)
        return st;
    for (size_t channel = 0; channel < 3; channel++) {
        const uint8_t *src = (const uint8_t *)rows->data + channel;
        uint8_t *dst = (uint8_t *)planes->data + channel * pixels;
        for (size_t i = 0; i < pixels; i++)
            dst[i] = src[i * 3];
    }
    return st;
}

static PyObject *decode(ext_state *state, stk_view encoded, PyObject *crop_op, stk_layout layout,
    const stk_limits *limits)
{
    stk_error err = STK_ERROR_INIT;
    ext_block *rows = NULL, *planes = NULL;
    PyObject *made = NULL;
    stk_image_info info;
    stk_rect crop;
    stk_status st;

    Py_BEGIN_ALLOW_THREADS
    st = stk_image_probe(encoded, limits, &info, &err);
    Py_END_ALLOW_THREADS
    if (st < 0)
        return ext_raise(state, &err);
    if (!parse_crop(state, crop_op, &info, &crop))
        return NULL;
    rows = picture_block(crop.height, crop.width, 1);
    if (rows != NULL && layout == STK_NCHW)
        planes = picture_block(crop.height, crop.width, 1);
    if (rows == NULL || (layout == STK_NCHW && planes == NULL))
        goto out;
    Py_BEGIN_ALLOW_THREADS
    st = decode_detached(encoded, &crop, limits, rows, planes, &err);
    Py_END_ALLOW_THREADS
    if (st < 0)
        ext_raise(state, &err);
    else
        made = ext_tensor_of_picture(
            state, layout == STK_NCHW ? planes : rows, crop.height, crop.width, layout, STK_U8);
out:
    ext_block_unref(planes);
    ext_block_unref(rows);
    return made;
}

PyObject *ext_decode_image(PyObject *module, PyObject *args)
{
    ext_state *state = PyModule_GetState(module);
    PyObject *crop, *limits_op, *made = NULL;
    const stk_limits *use;
    stk_limits limits;
    Py_buffer data;
    int layout;

    if (!PyArg_ParseTuple(args, "y*OiO:decode_image", &data, &crop, &layout, &limits_op))
        return NULL;
    if (ext_limits_parse(limits_op, &limits, &use))
        made = decode(state, (stk_view){data.buf, (size_t)data.len}, crop, (stk_layout)layout, use);
    PyBuffer_Release(&data);
    return made;
}

PyObject *ext_image_info(PyObject *module, PyObject *args)
{
    ext_state *state = PyModule_GetState(module);
    stk_error err = STK_ERROR_INIT;
    const stk_limits *use;
    stk_image_info info;
    stk_limits limits;
    PyObject *limits_op;
    Py_buffer data;
    stk_status st;

    if (!PyArg_ParseTuple(args, "y*O:image_info", &data, &limits_op))
        return NULL;
    if (!ext_limits_parse(limits_op, &limits, &use)) {
        PyBuffer_Release(&data);
        return NULL;
    }
    st = stk_image_probe((stk_view){data.buf, (size_t)data.len}, use, &info, &err);
    PyBuffer_Release(&data);
    if (st < 0)
        return ext_raise(state, &err);
    return Py_BuildValue("(IIIIIsN)", info.width, info.height, info.orientation, info.channels,
        info.depth, info.format, PyBool_FromLong(info.progressive));
}

/* What a transform works on. */
typedef struct transform_job {
    stk_image src;
    const stk_transform *chain;
    size_t count;
    stk_draw draw;
    stk_layout layout;
    stk_dtype dtype;
} transform_job;

static PyObject *transform(ext_state *state, const transform_job *job)
{
    size_t item = stk_dtype_bytes(job->dtype);
    stk_error err = STK_ERROR_INIT;
    uint32_t width, height;
    ext_block *block;
    PyObject *made = NULL;
    stk_status st;

    st = stk_transform_shape(
        job->chain, job->count, job->src.width, job->src.height, &width, &height, &err);
    if (st < 0)
        return ext_raise(state, &err);
    block = picture_block(height, width, item);
    if (block == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    st = stk_image_transform(&job->src, job->chain, job->count, &job->draw, job->layout, job->dtype,
        (stk_span){block->data, (size_t)height * width * 3 * item}, &err);
    Py_END_ALLOW_THREADS
    if (st < 0)
        ext_raise(state, &err);
    else
        made = ext_tensor_of_picture(state, block, height, width, job->layout, job->dtype);
    ext_block_unref(block);
    return made;
}

PyObject *ext_transform(PyObject *module, PyObject *args)
{
    ext_state *state = PyModule_GetState(module);
    unsigned long long seed, epoch, sample;
    transform_job job = {0};
    stk_transform *chain = NULL;
    PyObject *chain_op, *made = NULL;
    Py_buffer data;
    int layout, dtype;

    if (!PyArg_ParseTuple(args, "y*IIOKKKii:transform", &data, &job.src.height, &job.src.width,
            &chain_op, &seed, &epoch, &sample, &layout, &dtype))
        return NULL;
    if ((unsigned long long)data.len != 3ull * job.src.height * job.src.width) {
        PyErr_SetString(PyExc_ValueError, "the buffer is not height * width * 3 bytes");
        goto out;
    }
    if (!ext_chain_parse(chain_op, &chain, &job.count))
        goto out;
    job.src.data = data.buf;
    job.src.pitch_bytes = (size_t)job.src.width * 3;
    job.chain = chain;
    job.draw = (stk_draw){seed, epoch, sample};
    job.layout = (stk_layout)layout;
    job.dtype = (stk_dtype)dtype;
    made = transform(state, &job);
out:
    PyMem_Free(chain);
    PyBuffer_Release(&data);
    return made;
}
