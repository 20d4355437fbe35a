/* A dataset given on the command line: see where.h. */
#include "where.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <stoker/codec.h>

#include "cli.h"
#include "out_human.h"
#include "stop.h"

enum { LONGEST_LABEL = 64 }; /* bytes; more is no number that fits 64 bits */

static bool asks_signals(void *ctx)
{
    (void)ctx;
    return stop_asked();
}

stk_status where_open_patiently(const char *const *where, size_t count,
    const stk_dataset_options *options, stk_dataset **dataset_out, stk_error *err)
{
    stk_dataset_options opening = *options;
    stk_status st;

    opening.stop = asks_signals;
    stop_gently();
    st = stk_dataset_open(where, count, &opening, dataset_out, err);
    stop_at_once();
    return st;
}

int where_open(const command *cmd, const words *w, const stk_dataset_options *options, bool as_json,
    stk_dataset **dataset_out)
{
    stk_error err = STK_ERROR_INIT;
    stk_status st;

    if (w->count == 0)
        return usage_error(cmd, "which dataset? Give a shard, a folder or a pattern");
    st = where_open_patiently((const char *const *)w->words, w->count, options, dataset_out, &err);
    return st < 0 ? fail(&err, as_json) : EXIT_DONE;
}

stk_status where_read(
    const stk_dataset *dataset, const stk_sample_field *field, void **data_out, stk_error *err)
{
    char *data;
    stk_status st;

    if (field->size_bytes >= SIZE_MAX) {
        return error_make(err, STK_ENOMEM, "", "a field of %s has no room in memory",
            bytes_text(field->size_bytes).text);
    }
    data = malloc((size_t)field->size_bytes + 1);
    if (data == NULL) {
        return error_make(
            err, STK_ENOMEM, "", "no memory for a field of %s", bytes_text(field->size_bytes).text);
    }
    st = stk_dataset_read(
        dataset, field->source, field->offset, (stk_span){data, (size_t)field->size_bytes}, err);
    if (st < 0) {
        free(data);
        return st;
    }
    data[field->size_bytes] = '\0';
    *data_out = data;
    return STK_OK;
}

void where_cache_folder(char *path, size_t capacity)
{
    const char *cache = getenv("XDG_CACHE_HOME"); /* NOLINT(concurrency-mt-unsafe) */
    const char *home = getenv("HOME");            /* NOLINT(concurrency-mt-unsafe) */
    int length = 0;

    path[0] = '\0';
    if (cache != NULL && cache[0] == '/')
        length = snprintf(path, capacity, "%s/stoker", cache);
    else if (home != NULL && home[0] == '/')
        length = snprintf(path, capacity, "%s/.cache/stoker", home);
    if (length < 0 || (size_t)length >= capacity)
        path[0] = '\0';
}

bool where_field(const stk_dataset *dataset, const stk_sample *sample, const char *name,
    stk_sample_field *field_out)
{
    size_t length = strlen(name);

    for (uint32_t nth = 0; nth < sample->field_count; nth++) {
        if (stk_dataset_sample_field(dataset, sample->index, nth, field_out, NULL) == STK_OK &&
            field_out->field.size == length && memcmp(field_out->field.data, name, length) == 0)
            return true;
    }
    return false;
}

bool where_label(const stk_dataset *dataset, const stk_sample *sample, int64_t *label_out)
{
    char text[LONGEST_LABEL];
    stk_sample_field field;

    if (!where_field(dataset, sample, "cls", &field)) {
        *label_out = sample->label;
        return sample->label >= 0;
    }
    if (field.size_bytes > sizeof text)
        return false;
    if (stk_dataset_read(dataset, field.source, field.offset,
            (stk_span){text, (size_t)field.size_bytes}, NULL) < 0)
        return false;
    return stk_text_integer((stk_view){text, (size_t)field.size_bytes}, label_out, NULL) == STK_OK;
}
