/* A dataset as text, for comparisons: a line for each sample, "key jpg=bytes cls=bytes", a label
 * behind it as " #1" where there is one. Bytes are read through the dataset. */
#ifndef STK_DESCRIBE_H
#define STK_DESCRIBE_H

#include <stoker/dataset.h>

#include "support/test.h"

typedef struct described {
    char *text;
    size_t size;
} described;

static inline void describe_put(described *d, const void *data, size_t size)
{
    d->text = realloc(d->text, d->size + size + 1);
    if (d->text == NULL)
        abort();
    if (size > 0)
        memcpy(d->text + d->size, data, size);
    d->size += size;
    d->text[d->size] = '\0';
}

static inline void describe_field(described *d, const stk_dataset *ds, const stk_sample_field *f)
{
    stk_error err = STK_ERROR_INIT;
    char *bytes = malloc((size_t)f->size_bytes + 1);
    stk_span dst = {bytes, (size_t)f->size_bytes};
    stk_status st =
        bytes == NULL ? STK_ENOMEM : stk_dataset_read(ds, f->source, f->offset, dst, &err);

    describe_put(d, " ", 1);
    describe_put(d, f->field.data, f->field.size);
    describe_put(d, "=", 1);
    if (st == STK_OK)
        describe_put(d, bytes, dst.size);
    else
        describe_put(d, stk_status_name(st), strlen(stk_status_name(st)));
    free(bytes);
}

/* Freed by the caller. */
static inline char *describe(const stk_dataset *ds)
{
    described d = {NULL, 0};
    stk_sample_field field;
    stk_sample sample;
    char label[24];

    describe_put(&d, "", 0);
    for (uint64_t i = 0; i < stk_dataset_count(ds); i++) {
        assert_int_equal(stk_dataset_sample(ds, i, &sample, NULL), STK_OK);
        assert_int_equal(sample.index, i);
        describe_put(&d, sample.key.data, sample.key.size);
        for (uint32_t k = 0; k < sample.field_count; k++) {
            assert_int_equal(stk_dataset_sample_field(ds, i, k, &field, NULL), STK_OK);
            describe_field(&d, ds, &field);
        }
        snprintf(label, sizeof label, " #%lld", (long long)sample.label);
        if (sample.label >= 0)
            describe_put(&d, label, strlen(label));
        describe_put(&d, "\n", 1);
    }
    return d.text;
}

static inline void assert_described(const stk_dataset *ds, const char *expected)
{
    char *text = describe(ds);

    assert_string_equal(text, expected);
    free(text);
}

/* Is there a note that has this text in it? */
static inline bool has_note(const stk_dataset *ds, const char *part)
{
    stk_dataset_note note;

    for (size_t i = 0; stk_dataset_get_note(ds, i, &note); i++)
        if (strstr(note.text, part) != NULL)
            return true;
    return false;
}

#endif
