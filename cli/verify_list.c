/* What was found, in little memory: see verify.h. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "verify.h"

/* The texts of an error, in the order in which they are kept. */
enum { TEXTS = 5 };

static void texts_of(stk_error *err, char *texts[TEXTS], size_t capacities[TEXTS])
{
    texts[0] = err->text;
    texts[1] = err->source;
    texts[2] = err->shard;
    texts[3] = err->key;
    texts[4] = err->field;
    capacities[0] = sizeof err->text;
    capacities[1] = sizeof err->source;
    capacities[2] = sizeof err->shard;
    capacities[3] = sizeof err->key;
    capacities[4] = sizeof err->field;
}

static char *keep_texts(const stk_error *err)
{
    stk_error copy = *err;
    char *texts[TEXTS], *kept, *at;
    size_t capacities[TEXTS], size = 0;

    texts_of(&copy, texts, capacities);
    for (int i = 0; i < TEXTS; i++)
        size += strlen(texts[i]) + 1;
    kept = at = malloc(size);
    for (int i = 0; i < TEXTS && kept != NULL; i++) {
        size = strlen(texts[i]) + 1;
        memcpy(at, texts[i], size);
        at += size;
    }
    return kept;
}

bool verify_keep(
    verify_list *list, uint32_t shard, uint64_t sample, uint32_t nth, const stk_error *err)
{
    char *texts;

    list->total++;
    if (list->count >= list->most)
        return true;
    if (list->count == list->capacity) {
        size_t capacity = list->capacity > 0 ? list->capacity * 2 : 64;
        verify_found *grown = realloc(list->found, capacity * sizeof *grown);

        if (grown == NULL)
            return false;
        list->found = grown;
        list->capacity = capacity;
    }
    texts = keep_texts(err);
    if (texts == NULL)
        return false;
    list->found[list->count++] = (verify_found){
        .shard = shard,
        .sample = sample,
        .nth = nth,
        .status = err->status,
        .stage = err->stage,
        .os_errno = err->os_errno,
        .has_offset = err->has_offset,
        .offset = err->offset,
        .texts = texts,
    };
    return true;
}

static int by_place(const void *a, const void *b)
{
    const verify_found *x = a, *y = b;

    if (x->shard != y->shard)
        return x->shard < y->shard ? -1 : 1;
    if (x->sample != y->sample)
        return x->sample < y->sample ? -1 : 1;
    if (x->nth != y->nth)
        return x->nth < y->nth ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

void verify_sort(verify_list *list)
{
    if (list->count > 0)
        qsort(list->found, list->count, sizeof *list->found, by_place);
}

void verify_get(const verify_list *list, size_t nth, stk_error *err_out)
{
    const verify_found *f = &list->found[nth];
    char *texts[TEXTS];
    size_t capacities[TEXTS];
    const char *at = f->texts;

    *err_out = (stk_error)STK_ERROR_INIT;
    err_out->status = f->status;
    err_out->stage = f->stage;
    err_out->os_errno = f->os_errno;
    err_out->has_offset = f->has_offset;
    err_out->offset = f->offset;
    err_out->sample = f->sample;
    texts_of(err_out, texts, capacities);
    for (int i = 0; i < TEXTS; i++) {
        size_t size = strlen(at) + 1;

        memcpy(texts[i], at, size <= capacities[i] ? size : capacities[i]);
        at += size;
    }
}

void verify_list_fini(verify_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->found[i].texts);
    free(list->found);
}
