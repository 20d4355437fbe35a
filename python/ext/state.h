/*
 * What the files of the extension share: the state of the module, and how bytes are owned.
 *
 * stoker._core is private and dull: one thin type for each handle of the C API, a few functions, no
 * policy. Everything here runs attached (with the GIL) unless it says otherwise.
 */
#ifndef EXT_STATE_H
#define EXT_STATE_H

#include <Python.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <stoker/stoker.h>

#include "compat.h"

/* State of the module: visited and cleared in module.c. */
typedef struct ext_state {
    PyTypeObject *tensor_type;
    PyTypeObject *batch_type;
    PyTypeObject *loader_type;
    PyTypeObject *pass_type;
    PyTypeObject *dataset_type;
    PyTypeObject *scan_type;
    PyObject *make_error; /* stoker.errors.make_error */
    PyObject *asarray;    /* numpy.asarray; NULL until it is needed */
    PyObject *json_loads; /* json.loads; NULL until it is needed */
    PyObject *str_key;    /* "__key__", interned; so below */
    PyObject *str_shard;
    PyObject *str_cls;
} ext_state;

/* Memory made by the extension itself. */
typedef struct ext_block {
    atomic_uint count;
    void *data;
} ext_block;

/*
 * Whose bytes a tensor shows: those of a batch, or those of a block. One of the two is set. Taking
 * and dropping a reference is plain C, so a deleter needs no GIL and no interpreter.
 */
typedef struct ext_owner {
    stk_batch *batch;
    ext_block *block;
} ext_owner;

/* tensor.c */

/* Zeroed bookkeeping, aligned memory of `size` bytes; NULL and MemoryError. */
ext_block *ext_block_new(size_t size);
void ext_block_unref(ext_block *block); /* takes NULL; any thread, detached too */
ext_owner ext_owner_ref(const ext_owner *owner);
void ext_owner_unref(ext_owner *owner); /* clears it; any thread, detached too */

extern PyType_Spec ext_tensor_spec;
/* A view of `tensor`, whose name is not looked at. Takes a reference of its own to the owner. */
PyObject *ext_tensor_new(ext_state *state, const stk_tensor *tensor, const ext_owner *owner);
/* A view of a picture in a block: (h, w, 3) or (3, h, w). Takes a reference of its own. */
PyObject *ext_tensor_of_picture(ext_state *state, ext_block *block, uint32_t height, uint32_t width,
    stk_layout layout, stk_dtype dtype);
/* Format of the buffer protocol; NULL for what has none (bfloat16). */
const char *ext_dtype_format(stk_dtype dtype);
const stk_tensor *ext_tensor_of(PyObject *op);
const ext_owner *ext_tensor_owner(PyObject *op);

/* dlpack.c: methods of the tensor type */
PyObject *ext_tensor_dlpack(PyObject *op, PyObject *args, PyObject *kwargs);
PyObject *ext_tensor_dlpack_device(PyObject *op, PyObject *unused);

/* batch.c */

/* What the fields of a loader's batches are called, and how each is shown. References. */
typedef struct ext_schema {
    PyObject *names;   /* tuple of str, as declared */
    PyObject *index;   /* dict: name -> number, without the names that Batch itself uses */
    PyObject *kinds;   /* bytes: one of EXT_SHOW_* a field */
    PyObject *convert; /* None: NumPy arrays; else a callable that takes a Tensor */
} ext_schema;

enum {
    EXT_SHOW_TENSOR = 't',
    EXT_SHOW_BYTES = 'b',
    EXT_SHOW_TEXT = 's',
    EXT_SHOW_JSON = 'j',
    EXT_SHOW_KEY = 'k',
};

ext_schema ext_schema_ref(const ext_schema *schema);
void ext_schema_fini(ext_schema *schema);

extern PyType_Spec ext_batch_spec;
/* A batch for Python. Takes the reference to `batch`, even when it fails. */
PyObject *ext_batch_wrap(ext_state *state, const ext_schema *schema, stk_batch *batch);

/* options.c */

/* A tuple (max_pixels, max_scans, max_depth, max_member_bytes, max_header_bytes), or None. */
bool ext_limits_parse(PyObject *op, stk_limits *limits_out, const stk_limits **use_out);
/* A tuple of transforms; *chain_out is released by PyMem_Free(). */
bool ext_chain_parse(PyObject *op, stk_transform **chain_out, size_t *count_out);
/* Fields of a loader; the specs borrow from `op`. Released by ext_fields_free(). */
bool ext_fields_parse(PyObject *op, stk_field_spec **fields_out, size_t *count_out);
void ext_fields_free(stk_field_spec *fields, size_t count);

/* loader.c, dataset.c, scan.c */

extern PyType_Spec ext_loader_spec;
extern PyType_Spec ext_pass_spec;
extern PyType_Spec ext_dataset_spec;
extern PyType_Spec ext_scan_spec;

/* The handle, borrowed from the object; TypeError if it is no dataset. */
stk_dataset *ext_dataset_handle(ext_state *state, PyObject *op);
/* A dict with __key__ and __shard__ of a sample, and its class, if it has one of a folder. */
PyObject *ext_dataset_dict(ext_state *state, PyObject *op, const stk_sample *sample);
/* Name of a field, borrowed, interned. */
PyObject *ext_dataset_field_name(PyObject *op, uint32_t field_id);
/* Last step of a dict: the class number of a folder tree, where no member gave it. */
bool ext_dataset_finish(ext_state *state, PyObject *dict, const stk_sample *sample);
/* A pass over [first, last) of the dataset object `op`. */
PyObject *ext_scan_new(ext_state *state, PyObject *op, uint64_t first, uint64_t last);

/* codec.c: functions of the module */
PyObject *ext_decode_image(PyObject *module, PyObject *args);
PyObject *ext_image_info(PyObject *module, PyObject *args);
PyObject *ext_transform(PyObject *module, PyObject *args);

/* file_save.c: a function of the module */
PyObject *ext_save_file(PyObject *module, PyObject *args);

/* errors.c */

/* Raise the exception for an error; always NULL. */
PyObject *ext_raise(ext_state *state, const stk_error *err);
/* Bytes as they are stored, undecodable ones as surrogates (PEP 383). */
PyObject *ext_text(const char *text, size_t size);

#endif
