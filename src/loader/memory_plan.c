/*
 * The plan of memory: everything that a loader will hold is added up before the first sample, and
 * either fits the ceiling, with less prefetch if need be, or is refused with its parts named.
 *
 * Pictures far larger than the first one need more scratch than planned; decoders and runs count it
 * against the same ceiling when it happens.
 */
#include "base/error.h"
#include "base/size.h"
#include "base/text.h"
#include "loader/handle.h"

typedef struct memory_parts {
    uint64_t slot_bytes, thread_bytes, step_bytes, io_bytes;
} memory_parts;

static uint64_t power_of_two(uint64_t size)
{
    uint64_t power = 4096;

    while (power < size && power < (uint64_t)1 << 62)
        power *= 2;
    return power;
}

static memory_parts parts_of(const stk_loader *loader)
{
    const stk__field_plan *plan = &loader->plan;
    uint32_t width = plan->probe_width, height = plan->probe_height;
    uint64_t scratch = 0;
    memory_parts parts = {.slot_bytes = stk__arena_slot_bytes(loader->arena),
        .step_bytes = stk__step_bytes(&loader->schedule)};

    for (size_t i = 0; i < plan->count; i++) {
        const stk__field *field = &plan->fields[i];

        if (field->chain == NULL)
            continue;
        scratch += stk__image_chain_scratch_bytes(field->chain, width, height);
        scratch += stk__decoder_scratch_bytes(width, height);
        if (field->orient)
            scratch += 2 * power_of_two((uint64_t)width * height * 4);
    }
    parts.io_bytes = power_of_two(stk__step_read_bytes(plan));
    parts.thread_bytes = parts.io_bytes + scratch;
    return parts;
}

static uint64_t total_of(const stk_loader *loader, const memory_parts *parts, uint32_t prefetch)
{
    uint64_t used = stk__load_relaxed_u64(&loader->heap->used_bytes);
    uint64_t io = loader->threads == 0 ? 0 : (uint64_t)loader->options.io_threads;

    return used + (prefetch + 1) * parts->slot_bytes + prefetch * parts->step_bytes +
           (loader->threads + 1) * parts->thread_bytes + io * parts->io_bytes;
}

stk_status stk__loader_plan_memory(stk_loader *loader, stk_error *err)
{
    const memory_parts parts = parts_of(loader);
    uint64_t ceiling = loader->options.memory_bytes;
    char need[32], slot[32], thread[32], have[32];

    loader->prefetch = loader->threads == 0 ? 1 : loader->options.prefetch;
    while (loader->prefetch > 1 && total_of(loader, &parts, loader->prefetch) > ceiling)
        loader->prefetch--;
    if (total_of(loader, &parts, loader->prefetch) <= ceiling)
        return STK_OK;
    stk__text_bytes(total_of(loader, &parts, 1), need, sizeof need);
    stk__text_bytes(parts.slot_bytes, slot, sizeof slot);
    stk__text_bytes(parts.thread_bytes, thread, sizeof thread);
    stk__text_bytes(ceiling, have, sizeof have);
    return STK_FAIL(err, STK_ENOMEM,
        "the loader needs %s with a prefetch of 1: 2 batches of %s, %u threads of %s, %d reads; "
        "memory is %s",
        need, slot, loader->threads + 1, thread, (int)loader->options.io_threads, have);
}
