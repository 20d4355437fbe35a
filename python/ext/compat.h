/*
 * Differences between CPython versions, and nothing else. 3.10 is the oldest.
 *
 * Py_mod_gil and Py_mod_multiple_interpreters are declared only for what the tests have run under:
 * one interpreter, with the GIL. Without these slots CPython keeps both safe by itself.
 */
#ifndef EXT_COMPAT_H
#define EXT_COMPAT_H

#include <Python.h>

#include <stdint.h>

#if PY_VERSION_HEX < 0x030A0000
#    error "Stoker needs CPython 3.10 or later"
#endif

#if PY_VERSION_HEX >= 0x030C0000
#    define EXT_MODULE_SLOTS_COMPAT \
        {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#else
#    define EXT_MODULE_SLOTS_COMPAT
#endif

/* Names of keyword arguments: taken as char ** until 3.13, and written by none. */
#define EXT_KEYWORDS(names) ((char **)(uintptr_t)(names))

#endif
