/* Targets of hard links: see tar_links.h. An open-addressed table, at most half full. */
#include "archive/tar_links.h"

#include <stddef.h>

/* Where the name stands, or where it would be put. */
static stk__tar_target *place_of(
    stk__tar_target *targets, size_t capacity, const stk__fingerprint *name)
{
    size_t at = (size_t)stk__mix64(name->a) & (capacity - 1);

    while (targets[at].data_offset != 0 &&
           (targets[at].name.a != name->a || targets[at].name.b != name->b))
        at = (at + 1) & (capacity - 1);
    return &targets[at];
}

static bool grow(stk__heap *heap, stk__tar_links *links)
{
    size_t capacity = links->capacity == 0 ? 64 : 2 * links->capacity;
    stk__tar_target *targets = stk__heap_zalloc(heap, capacity, sizeof *targets);

    if (targets == NULL)
        return false;
    for (size_t i = 0; i < links->capacity; i++) {
        if (links->targets[i].data_offset != 0)
            *place_of(targets, capacity, &links->targets[i].name) = links->targets[i];
    }
    stk__heap_free(heap, links->targets, links->capacity, sizeof *targets);
    links->targets = targets;
    links->capacity = capacity;
    return true;
}

bool stk__tar_links_put(stk__heap *heap, stk__tar_links *links, stk_view name, uint64_t data_offset,
    uint64_t size_bytes)
{
    stk__tar_target target = {.data_offset = data_offset, .size_bytes = size_bytes};
    stk__tar_target *place;

    if (links->count >= links->capacity / 2 && !grow(heap, links))
        return false;
    stk__fingerprint_add(&target.name, name.data, name.size);
    place = place_of(links->targets, links->capacity, &target.name);
    links->count += place->data_offset == 0;
    *place = target;
    return true;
}

const stk__tar_target *stk__tar_links_find(const stk__tar_links *links, stk_view name)
{
    stk__fingerprint print = {0};
    const stk__tar_target *place;

    if (links->count == 0)
        return NULL;
    stk__fingerprint_add(&print, name.data, name.size);
    place = place_of(links->targets, links->capacity, &print);
    return place->data_offset != 0 ? place : NULL;
}

void stk__tar_links_fini(stk__heap *heap, stk__tar_links *links)
{
    stk__heap_free(heap, links->targets, links->capacity, sizeof *links->targets);
    *links = (stk__tar_links){0};
}
