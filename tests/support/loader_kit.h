/* Datasets of numbered samples, and what loaders make of them. */
#ifndef STK_LOADER_KIT_H
#define STK_LOADER_KIT_H

#include <stoker/loader.h>

#include "support/make_tar.h"
#include "support/temp_tree.h"
#include "support/test.h"

/* Samples 0 to count - 1 in shards of per_shard: `cls` is the number, `txt` its decimal digits
 * repeated number % 5 times. bad: numbers whose cls is no number; bad_count of them. */
static inline stk_dataset *numbered(
    const char *folder, unsigned count, unsigned per_shard, const unsigned *bad, size_t bad_count)
{
    const char *pattern = in_folder(folder, "numbered-*.tar");
    stk_dataset_options options = STK_DATASET_OPTIONS_INIT;
    stk_dataset *dataset = NULL;
    stk_error err = STK_ERROR_INIT;

    for (unsigned shard = 0; shard * per_shard < count; shard++) {
        made_tar tar = {0};
        char name[64];

        for (unsigned i = shard * per_shard; i < count && i < (shard + 1) * per_shard; i++) {
            char key[32], number[32], text[128] = "";
            bool damaged = false;

            for (size_t k = 0; k < bad_count; k++)
                damaged = damaged || bad[k] == i;
            snprintf(number, sizeof number, "%u", i);
            snprintf(key, sizeof key, "%06u.cls", i);
            tar_text(&tar, key, damaged ? "none" : number);
            for (unsigned k = 0; k < i % 5; k++)
                strcat(text, number);
            snprintf(key, sizeof key, "%06u.txt", i);
            tar_text(&tar, key, text);
        }
        tar_end(&tar);
        snprintf(name, sizeof name, "numbered-%04u.tar", shard);
        save_file(in_folder(folder, name), tar.data, tar.size);
        tar_free(&tar);
    }
    options.index = STK_INDEX_MEMORY;
    if (stk_dataset_open(&pattern, 1, &options, &dataset, &err) != STK_OK)
        fail_msg("could not open the numbered shards: %s", err.text);
    assert_int_equal(stk_dataset_count(dataset), count);
    return dataset;
}

/* Fields label and text of numbered samples. */
static inline void numbered_fields(stk_field_spec fields[2], stk_loader_options *options)
{
    fields[0] = (stk_field_spec)STK_FIELD_SPEC_INIT;
    fields[0].name = "label";
    fields[0].source = "cls";
    fields[0].kind = STK_FIELD_LABEL;
    fields[1] = (stk_field_spec)STK_FIELD_SPEC_INIT;
    fields[1].name = "text";
    fields[1].source = "txt";
    fields[1].kind = STK_FIELD_TEXT;
    *options = (stk_loader_options)STK_LOADER_OPTIONS_INIT;
    options->fields = fields;
    options->field_count = 2;
}

static inline stk_loader *open_numbered(stk_dataset *dataset, const stk_loader_options *options)
{
    stk_loader *loader = NULL;
    stk_error err = STK_ERROR_INIT;

    if (stk_loader_open_dataset(dataset, options, &loader, &err) != STK_OK)
        fail_msg("could not open the loader: %s", err.text);
    return loader;
}

/* Labels of a batch appended to `out`; its texts are checked against them. */
static inline size_t append_labels(const stk_batch *batch, int64_t *out, size_t at)
{
    const int64_t *labels = stk_batch_tensor(batch, 0)->data;
    const stk_tensor *text = stk_batch_tensor(batch, 1);

    for (size_t i = 0; i < stk_batch_rows(batch); i++) {
        const char *row = (const char *)text->data + text->offsets[i];
        char number[32];
        size_t length = (size_t)snprintf(number, sizeof number, "%lld", (long long)labels[i]);

        assert_int_equal(
            text->offsets[i + 1] - text->offsets[i], (int64_t)length * (labels[i] % 5));
        for (int64_t k = 0; k < labels[i] % 5; k++)
            assert_memory_equal(row + (size_t)k * length, number, length);
        assert_int_equal(stk_batch_samples(batch)[i], labels[i]);
        out[at++] = labels[i];
    }
    return at;
}

/* The labels of the rest of an epoch, in order; the sizes of its batches if wanted. */
static inline size_t rest_of_epoch(stk_loader *loader, int64_t *out, size_t *sizes, size_t *batches)
{
    stk_error err = STK_ERROR_INIT;
    size_t count = 0, steps = 0;
    stk_batch *batch;
    stk_status st;

    while ((st = stk_loader_next(loader, &batch, &err)) == STK_OK) {
        if (sizes != NULL)
            sizes[steps] = stk_batch_rows(batch);
        steps++;
        count = append_labels(batch, out, count);
        stk_batch_unref(batch);
    }
    if (st != STK_END)
        fail_msg("the epoch ended with %s: %s", stk_status_name(st), err.text);
    if (batches != NULL)
        *batches = steps;
    return count;
}

#endif
