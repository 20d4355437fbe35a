/*
 * --continue: is a shard that stands under its final name the one of the plan?
 *
 * Its index tells: the same samples in the same order, with the same fields, names and sizes; and
 * the labels that were added are read, since two numbers may have the same length. What the bytes
 * of the other files were when the shard was written is not compared.
 */
#include <stdio.h>
#include <string.h>

#include <stoker/dataset.h>

#include "out_human.h"
#include "pack.h"

/* One shard being compared. */
typedef struct comparison {
    const pack_job *job;
    const pack_shard *shard;
    stk_dataset *dataset;
    stk_error *err;
} comparison;

static bool same_text(stk_view a, const char *b)
{
    return a.size == strlen(b) && memcmp(a.data, b, a.size) == 0;
}

/* The label that was added: member KEY.cls. */
static bool same_label(
    const comparison *c, const pack_sample *planned, const stk_sample_field *field)
{
    stk_view key = pack_key(c->job, planned);
    char want[32], have[32];
    int length = snprintf(want, sizeof want, "%lld", (long long)planned->label);

    if (length < 0 || field->size_bytes != (uint64_t)length ||
        field->name.size != key.size + sizeof ".cls" - 1 ||
        memcmp(field->name.data, key.data, key.size) != 0 ||
        memcmp((const char *)field->name.data + key.size, ".cls", 4) != 0)
        return false;
    if (stk_dataset_read(
            c->dataset, field->source, field->offset, (stk_span){have, (size_t)length}, NULL) < 0)
        return false;
    return memcmp(want, have, (size_t)length) == 0;
}

static bool same_sample(const comparison *c, const pack_sample *planned, const stk_sample *sample)
{
    stk_sample_field field;

    if (sample->field_count != planned->count + planned->adds_label)
        return false;
    for (uint32_t i = 0; i < sample->field_count; i++) {
        const pack_file *file = &c->job->files[planned->first + i];

        if (stk_dataset_sample_field(c->dataset, sample->index, i, &field, NULL) != STK_OK)
            return false;
        if (i == planned->count)
            return same_label(c, planned, &field);
        if (!same_text(field.name, file->name) || field.size_bytes != file->size_bytes)
            return false;
    }
    return true;
}

static stk_status differs(const comparison *c, const pack_sample *planned)
{
    stk_view key = pack_key(c->job, planned);
    size_t size = key.size < sizeof c->err->key - 1 ? key.size : sizeof c->err->key - 1;

    error_make(c->err, STK_EEXIST, c->shard->path,
        "the shard is not what this pack makes: it differs at this sample; --force makes all anew");
    memcpy(c->err->key, key.data, size);
    c->err->key[size] = '\0';
    return STK_EEXIST;
}

static stk_status compare(const comparison *c, uint64_t *left_out_out, uint64_t *files_out)
{
    bool skips = c->job->s.on_error == ON_ERROR_SKIP;
    uint64_t count = stk_dataset_count(c->dataset), at = 0, left_out = 0, files = 0;
    stk_sample sample;

    for (size_t i = 0; i < c->shard->count; i++) {
        const pack_sample *planned = &c->job->samples[c->shard->first + i];

        if (at < count && stk_dataset_sample(c->dataset, at, &sample, NULL) == STK_OK &&
            same_sample(c, planned, &sample)) {
            files += planned->count + planned->adds_label;
            at++;
        } else if (skips) {
            left_out++;
        } else {
            return differs(c, planned);
        }
    }
    if (at < count) {
        return error_make(c->err, STK_EEXIST, c->shard->path,
            "the shard has %llu samples more than this pack puts there; --force makes all anew",
            (unsigned long long)(count - at));
    }
    *left_out_out = left_out;
    *files_out = files;
    return STK_OK;
}

stk_status pack_shard_equals(const pack_job *job, pack_shard *shard, stk_error *err)
{
    stk_dataset_options opening = STK_DATASET_OPTIONS_INIT;
    comparison c = {.job = job, .shard = shard, .err = err};
    const char *path = shard->path;
    stk_status st;

    opening.index = job->s.no_index ? STK_INDEX_MEMORY : STK_INDEX_AUTO;
    opening.threads = 1;
    st = stk_dataset_open(&path, 1, &opening, &c.dataset, err);
    if (st < 0)
        return st;
    st = compare(&c, &shard->left_out, &shard->files);
    stk_dataset_unref(c.dataset);
    return st;
}
