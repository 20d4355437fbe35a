/* stoker cat: one field of one sample to standard output, byte for byte. */
#include <stdlib.h>
#include <string.h>

#include <stoker/dataset.h>

#include "cli.h"
#include "out_human.h"
#include "where.h"

enum { PIECE_BYTES = 1 << 20 };

typedef struct settings {
    uint64_t index;
} settings;

static const option options[] = {
    {"index", 'i', OPTION_NUMBER, offsetof(settings, index), 0, UINT64_MAX - 1, "I",
        "The sample by its number, from 0, instead of by its key."},
};

static int no_field(const stk_dataset *dataset, const stk_sample *sample, const char *name)
{
    stk_error err;
    size_t used = 0, length = sample->key.size;
    stk_sample_field field;

    if (name != NULL) {
        error_make(&err, STK_EFIELD, "", "the sample has no field %s; it has", name);
    } else {
        error_make(&err, STK_EFIELD, "", "which field? The sample has");
    }
    used = strlen(err.text);
    for (uint32_t nth = 0; nth < sample->field_count && used < sizeof err.text; nth++) {
        int more;

        if (stk_dataset_sample_field(dataset, sample->index, nth, &field, NULL) != STK_OK)
            continue;
        more = snprintf(err.text + used, sizeof err.text - used, "%s %.*s", nth > 0 ? "," : "",
            (int)(field.field.size < 64 ? field.field.size : 64), (const char *)field.field.data);
        used += more > 0 ? (size_t)more : 0;
    }
    length = length < sizeof err.key - 1 ? length : sizeof err.key - 1;
    memcpy(err.key, sample->key.data, length);
    err.key[length] = '\0';
    fail(&err, false);
    return name != NULL ? EXIT_DATA : EXIT_USAGE;
}

/* The field asked for, or the only one. */
static bool choose(const stk_dataset *dataset, const stk_sample *sample, const char *name,
    stk_sample_field *field_out)
{
    if (name != NULL)
        return where_field(dataset, sample, name, field_out);
    return sample->field_count == 1 &&
           stk_dataset_sample_field(dataset, sample->index, 0, field_out, NULL) == STK_OK;
}

static stk_status copy_out(
    const stk_dataset *dataset, const stk_sample_field *field, stk_error *err)
{
    char *piece = memory_get(NULL, PIECE_BYTES, 1);
    stk_status st = STK_OK;

    for (uint64_t at = 0; at < field->size_bytes && st >= 0 && !ferror(stdout);) {
        uint64_t left = field->size_bytes - at;
        size_t here = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;

        st = stk_dataset_read(
            dataset, field->source, field->offset + at, (stk_span){piece, here}, err);
        if (st >= 0 && fwrite(piece, 1, here, stdout) != here)
            break; /* out_finish() tells */
        at += here;
    }
    free(piece);
    return st;
}

static int show(stk_dataset *dataset, uint64_t index, const char *name)
{
    stk_error err = STK_ERROR_INIT;
    stk_sample sample;
    stk_sample_field field;
    stk_status st = stk_dataset_sample(dataset, index, &sample, &err);

    if (st < 0)
        return fail(&err, false);
    if (!choose(dataset, &sample, name, &field)) {
        if (name == NULL || strcmp(name, "cls") != 0 || sample.label < 0)
            return no_field(dataset, &sample, name);
        say("%lld", (long long)sample.label); /* what its class folder gives it */
        return EXIT_DONE;
    }
    st = copy_out(dataset, &field, &err);
    return st < 0 ? fail(&err, false) : EXIT_DONE;
}

static int run(const command *self, int argc, char **argv)
{
    settings s = {.index = UINT64_MAX};
    stk_dataset_options opening = STK_DATASET_OPTIONS_INIT;
    stk_error err = STK_ERROR_INIT;
    stk_dataset *dataset;
    bool by_key;
    words w, where;
    int code;

    if (!options_read(self, argc, argv, &s, &w))
        return EXIT_USAGE;
    by_key = s.index == UINT64_MAX;
    if (w.count < (by_key ? 2u : 1u) || w.count > (by_key ? 3u : 2u))
        return usage_error(self, "give WHERE, KEY or --index, and the FIELD");
    where = (words){w.words, 1};
    code = where_open(self, &where, &opening, false, &dataset);
    if (code != EXIT_DONE)
        return code;
    if (by_key &&
        stk_dataset_find(dataset, (stk_view){w.words[1], strlen(w.words[1])}, &s.index, &err) < 0) {
        code = fail(&err, false);
    } else {
        code = show(dataset, s.index, w.count > (by_key ? 2u : 1u) ? w.words[w.count - 1] : NULL);
    }
    stk_dataset_unref(dataset);
    return code;
}

const command command_cat = {
    .name = "cat",
    .summary = "one field of one sample to standard output",
    .usage = "WHERE KEY [FIELD]\nWHERE --index I [FIELD]",
    .about = "Writes the bytes of one field, exactly as they are stored. FIELD may be left out\n"
             "where the sample has only one.",
    .examples = "stoker cat train-000000.tar cats/0001 jpg > cat.jpg\n"
                "stoker cat \"train-*.tar\" --index 12345 json | jq .",
    .options = options,
    .option_count = COUNT_OF(options),
    .run = run,
};
