/*
 * The arena and its slots: see arena.h.
 *
 * Lock order: arena.mutex alone; nothing is called back with it held.
 */
#include "batch/arena.h"

#include <string.h>

#include "base/error.h"
#include "base/size.h"

/* One column of one slot. */
typedef struct column {
    void *data;
    size_t capacity_bytes;
    int64_t *offsets; /* ragged: rows + 1 */
} column;

struct stk_batch {
    stk__arena *arena;
    stk__atomic_u32 refs; /* atomic: 0 on the free list */
    stk_batch *next_free; /* guarded by arena.mutex */
    stk_batch *next_made; /* guarded by arena.mutex: all slots, for the end */
    uint64_t epoch, step; /* the holder's, as all below */
    size_t rows;
    stk_tensor *tensors;
    column *columns;
    uint64_t *samples;
};

struct stk__arena {
    stk__heap heap;
    uint32_t forks; /* stk__fork_generation() of the process that made it */
    stk__mutex mutex;
    stk__cond cond;
    uint32_t refs; /* guarded by mutex: the loader's, and one for each slot handed out */
    uint32_t made; /* guarded by mutex */
    uint32_t held; /* guarded by mutex */
    stk_batch *free_list, *all; /* guarded by mutex */
    stk__column_spec *specs;    /* set before the first slot, then constant; so too below */
    size_t count, rows;
    size_t *row_bytes; /* of a row of one shape; 0: ragged */
};

stk__heap *stk__arena_heap(stk__arena *arena)
{
    return &arena->heap;
}

stk__mutex *stk__arena_mutex(stk__arena *arena)
{
    return &arena->mutex;
}

stk__cond *stk__arena_cond(stk__arena *arena)
{
    return &arena->cond;
}

static void free_columns(stk__arena *arena)
{
    for (size_t i = 0; arena->specs != NULL && i < arena->count; i++) {
        char *name = (char *)(uintptr_t)arena->specs[i].name; /* our own copy */
        if (name != NULL)
            stk__heap_free(&arena->heap, name, strlen(name) + 1, 1);
    }
    stk__heap_free(&arena->heap, arena->specs, arena->count, sizeof *arena->specs);
    stk__heap_free(&arena->heap, arena->row_bytes, arena->count, sizeof *arena->row_bytes);
    arena->specs = NULL;
    arena->row_bytes = NULL;
}

static void free_slot(stk__arena *arena, stk_batch *slot)
{
    stk__heap *heap = &arena->heap;

    for (size_t i = 0; slot->columns != NULL && i < arena->count; i++) {
        stk__heap_free_aligned(heap, slot->columns[i].data, slot->columns[i].capacity_bytes);
        stk__heap_free(heap, slot->columns[i].offsets, arena->rows + 1, sizeof(int64_t));
    }
    stk__heap_free(heap, slot->columns, arena->count, sizeof *slot->columns);
    stk__heap_free(heap, slot->tensors, arena->count, sizeof *slot->tensors);
    stk__heap_free(heap, slot->samples, arena->rows, sizeof *slot->samples);
    stk__heap_free(heap, slot, 1, sizeof *slot);
}

static void free_arena(stk__arena *arena)
{
    stk__heap own = {0};

    while (arena->all != NULL) {
        stk_batch *slot = arena->all;
        arena->all = slot->next_made;
        free_slot(arena, slot);
    }
    free_columns(arena);
    stk__cond_fini(&arena->cond);
    stk__mutex_fini(&arena->mutex);
    /* Its own heap goes with it, so another one with the same figure takes it back. */
    STK_IGNORE(stk__heap_reserve(&own, sizeof *arena)); /* no ceiling: cannot fail */
    stk__heap_free(&own, arena, 1, sizeof *arena);
}

stk_status stk__arena_new(uint64_t ceiling_bytes, stk__arena **arena_out, stk_error *err)
{
    stk__heap first = {.ceiling_bytes = ceiling_bytes};
    stk__arena *arena = stk__heap_zalloc(&first, 1, sizeof *arena);
    stk_status st;

    if (arena == NULL)
        return STK_FAIL(err, STK_ENOMEM, "no memory for an arena of batches");
    arena->heap.ceiling_bytes = ceiling_bytes;
    arena->refs = 1;
    arena->forks = stk__fork_generation();
    STK_IGNORE(stk__heap_reserve(&arena->heap, sizeof *arena)); /* it fitted in `first` */
    st = stk__mutex_init(&arena->mutex, err);
    if (st < 0)
        goto no_mutex;
    st = stk__cond_init(&arena->cond, err);
    if (st < 0)
        goto no_cond;
    *arena_out = arena;
    return STK_OK;
no_cond:
    stk__mutex_fini(&arena->mutex);
no_mutex:
    stk__heap_free(&first, arena, 1, sizeof *arena);
    return st;
}

/* Bytes of a row; false when they do not fit a size_t with all rows. */
static bool row_bytes_of(const stk__column_spec *spec, size_t rows, size_t *bytes_out)
{
    size_t bytes = stk_dtype_bytes(spec->dtype), whole;

    for (int32_t i = 0; i < spec->ndim; i++) {
        if (!stk__size_mul(bytes, (size_t)spec->shape[i], &bytes))
            return false;
    }
    *bytes_out = bytes;
    return stk__size_mul(bytes, rows, &whole) && whole < SIZE_MAX / 2;
}

stk_status stk__arena_set_columns(stk__arena *arena, const stk__column_spec *columns,
    size_t column_count, size_t rows, stk_error *err)
{
    arena->count = column_count;
    arena->rows = rows;
    arena->specs = stk__heap_zalloc(&arena->heap, column_count, sizeof *arena->specs);
    arena->row_bytes = stk__heap_zalloc(&arena->heap, column_count, sizeof *arena->row_bytes);
    if (arena->specs == NULL || arena->row_bytes == NULL)
        return STK_FAIL(err, STK_ENOMEM, "no memory for the columns of a batch");
    for (size_t i = 0; i < column_count; i++) {
        const char *name = columns[i].name;

        arena->specs[i] = columns[i];
        arena->specs[i].name = stk__heap_text(&arena->heap, name, strlen(name));
        if (arena->specs[i].name == NULL)
            return STK_FAIL(err, STK_ENOMEM, "no memory for the columns of a batch");
        if (!columns[i].ragged && !row_bytes_of(&columns[i], rows, &arena->row_bytes[i]))
            return STK_FAIL(
                err, STK_ESHAPE, "%zu rows of field %s are larger than any memory", rows, name);
    }
    return STK_OK;
}

uint64_t stk__arena_slot_bytes(const stk__arena *arena)
{
    uint64_t bytes = sizeof(stk_batch) + arena->rows * sizeof(uint64_t);

    for (size_t i = 0; i < arena->count; i++) {
        bytes += sizeof(stk_tensor) + sizeof(column);
        if (arena->specs[i].ragged)
            bytes += arena->specs[i].start_bytes + (arena->rows + 1) * sizeof(int64_t);
        else
            bytes += (uint64_t)arena->row_bytes[i] * arena->rows;
    }
    return bytes;
}

void stk__arena_unref(stk__arena *arena)
{
    bool last;

    if (arena == NULL || stk__arena_foreign(arena))
        return;
    stk__mutex_lock(&arena->mutex);
    last = --arena->refs == 0;
    stk__mutex_unlock(&arena->mutex);
    if (last)
        free_arena(arena);
}

bool stk__arena_foreign(const stk__arena *arena)
{
    return arena->forks != stk__fork_generation();
}

/* A slot goes into other hands. */
static void hand_out_locked(stk__arena *arena, stk_batch *slot)
{
    slot->next_free = NULL;
    stk__store_release_u32(&slot->refs, 1);
    arena->held++;
    arena->refs++;
}

stk_batch *stk__arena_take_locked(stk__arena *arena)
{
    stk_batch *slot = arena->free_list;

    if (slot != NULL) {
        arena->free_list = slot->next_free;
        hand_out_locked(arena, slot);
    }
    return slot;
}

void stk__arena_return_locked(stk__arena *arena, stk_batch *slot)
{
    stk__store_release_u32(&slot->refs, 0);
    slot->next_free = arena->free_list;
    arena->free_list = slot;
    arena->held--;
    arena->refs--;
}

static bool make_column(stk__arena *arena, stk_batch *slot, size_t nth)
{
    const stk__column_spec *spec = &arena->specs[nth];
    column *made = &slot->columns[nth];
    stk_tensor *tensor = &slot->tensors[nth];

    made->capacity_bytes = spec->ragged ? spec->start_bytes : arena->row_bytes[nth] * arena->rows;
    made->data = stk__heap_alloc_aligned(&arena->heap, made->capacity_bytes);
    if (made->data == NULL)
        return false;
    tensor->name = spec->name;
    tensor->data = made->data;
    tensor->dtype = spec->dtype;
    tensor->text = spec->text;
    if (spec->ragged) {
        made->offsets = stk__heap_zalloc(&arena->heap, arena->rows + 1, sizeof(int64_t));
        tensor->offsets = made->offsets;
        tensor->ndim = 1;
        tensor->strides[0] = 1;
        return made->offsets != NULL;
    }
    tensor->ndim = spec->ndim + 1;
    tensor->strides[spec->ndim] = 1;
    for (int32_t i = spec->ndim; i > 0; i--) {
        tensor->shape[i] = spec->shape[i - 1];
        tensor->strides[i - 1] = tensor->strides[i] * tensor->shape[i];
    }
    return true;
}

/* Looked at beforehand: a slot that is made in part and given up takes memory that a thread next to
 * it could have had. */
static bool fits(const stk__arena *arena)
{
    uint64_t used = stk__load_relaxed_u64(&arena->heap.used_bytes), sum;

    if (arena->heap.ceiling_bytes == 0)
        return true;
    return stk__u64_add(used, stk__arena_slot_bytes(arena), &sum) &&
           sum <= arena->heap.ceiling_bytes;
}

stk_batch *stk__arena_grow_locked(stk__arena *arena)
{
    stk_batch *slot = fits(arena) ? stk__heap_zalloc(&arena->heap, 1, sizeof *slot) : NULL;

    if (slot == NULL)
        return NULL;
    slot->arena = arena;
    slot->columns = stk__heap_zalloc(&arena->heap, arena->count, sizeof *slot->columns);
    slot->tensors = stk__heap_zalloc(&arena->heap, arena->count, sizeof *slot->tensors);
    slot->samples = stk__heap_zalloc(&arena->heap, arena->rows, sizeof *slot->samples);
    if (slot->columns == NULL || slot->tensors == NULL || slot->samples == NULL)
        goto fail;
    for (size_t i = 0; i < arena->count; i++) {
        if (!make_column(arena, slot, i))
            goto fail;
    }
    slot->next_made = arena->all;
    arena->all = slot;
    arena->made++;
    hand_out_locked(arena, slot);
    return slot;
fail:
    free_slot(arena, slot);
    return NULL;
}

uint32_t stk__arena_slots_locked(const stk__arena *arena)
{
    return arena->made;
}

uint32_t stk__arena_held_locked(const stk__arena *arena)
{
    return arena->held;
}

void stk__slot_set_rows(stk_batch *slot, size_t rows)
{
    slot->rows = rows;
    for (size_t i = 0; i < slot->arena->count; i++) {
        const int64_t *offsets = slot->columns[i].offsets;

        slot->tensors[i].data = slot->columns[i].data;
        slot->tensors[i].shape[0] = offsets != NULL ? offsets[rows] : (int64_t)rows;
    }
}

void stk__slot_set_place(stk_batch *slot, uint64_t epoch, uint64_t step)
{
    slot->epoch = epoch;
    slot->step = step;
}

uint64_t *stk__slot_samples(stk_batch *slot)
{
    return slot->samples;
}

void *stk__slot_row(stk_batch *slot, size_t nth, size_t row)
{
    return (char *)slot->columns[nth].data + slot->arena->row_bytes[nth] * row;
}

/* Give a ragged column room for `bytes`, its first `keep` bytes kept. */
static stk_status make_room(
    stk_batch *slot, size_t nth, uint64_t bytes, size_t keep, stk_error *err)
{
    column *grown = &slot->columns[nth];
    stk__heap *heap = &slot->arena->heap;
    const char *name = slot->tensors[nth].name;
    size_t capacity;
    void *data;

    if (bytes <= grown->capacity_bytes)
        return STK_OK;
    if (bytes > SIZE_MAX / 4)
        return STK_FAIL(err, STK_ENOMEM, "field %s of one batch is larger than any memory", name);
    capacity = stk__size_align((size_t)bytes + (size_t)bytes / 4, 4096); /* a quarter of slack */
    data = stk__heap_alloc_aligned(heap, capacity);
    if (data == NULL)
        return STK_FAIL(err, STK_ENOMEM,
            "the memory ceiling left no %zu bytes for field %s of one batch", capacity, name);
    if (keep > 0)
        memcpy(data, grown->data, keep);
    stk__heap_free_aligned(heap, grown->data, grown->capacity_bytes);
    grown->data = data;
    grown->capacity_bytes = capacity;
    return STK_OK;
}

stk_status stk__slot_lay_ragged(
    stk_batch *slot, size_t nth, const uint64_t *sizes, size_t rows, stk_error *err)
{
    int64_t *offsets = slot->columns[nth].offsets;
    uint64_t sum = 0;

    for (size_t i = 0; i < rows; i++) {
        offsets[i] = (int64_t)sum;
        if (!stk__u64_add(sum, sizes[i], &sum) || sum > INT64_MAX)
            return STK_FAIL(err, STK_ENOMEM, "field %s of one batch is larger than any memory",
                slot->tensors[nth].name);
    }
    offsets[rows] = (int64_t)sum;
    return make_room(slot, nth, sum, 0, err);
}

void *stk__slot_ragged(stk_batch *slot, size_t nth, size_t row, size_t *room_out)
{
    const int64_t *offsets = slot->columns[nth].offsets;

    *room_out = (size_t)(offsets[row + 1] - offsets[row]);
    return (char *)slot->columns[nth].data + offsets[row];
}

stk_status stk__slot_resize_ragged(
    stk_batch *slot, size_t nth, size_t row, uint64_t size, stk_error *err)
{
    column *moved = &slot->columns[nth];
    size_t begin = (size_t)moved->offsets[row], end = (size_t)moved->offsets[row + 1];
    size_t total = (size_t)moved->offsets[slot->rows];
    uint64_t bytes;

    if (!stk__u64_add(total - (end - begin), size, &bytes))
        bytes = UINT64_MAX; /* refused by make_room */
    STK_TRY(make_room(slot, nth, bytes, total, err));
    memmove((char *)moved->data + begin + size, (char *)moved->data + end, total - end);
    for (size_t i = row + 1; i <= slot->rows; i++)
        moved->offsets[i] += (int64_t)size - (int64_t)(end - begin);
    slot->tensors[nth].data = moved->data;
    slot->tensors[nth].shape[0] = moved->offsets[slot->rows];
    return STK_OK;
}

size_t stk_batch_rows(const stk_batch *batch)
{
    return batch->rows;
}

size_t stk_batch_count(const stk_batch *batch)
{
    return batch->arena->count;
}

const stk_tensor *stk_batch_tensor(const stk_batch *batch, size_t nth)
{
    return nth < batch->arena->count ? &batch->tensors[nth] : NULL;
}

uint64_t stk_batch_epoch(const stk_batch *batch)
{
    return batch->epoch;
}

uint64_t stk_batch_step(const stk_batch *batch)
{
    return batch->step;
}

const uint64_t *stk_batch_samples(const stk_batch *batch)
{
    return batch->samples;
}

stk_batch *stk_batch_ref(stk_batch *batch)
{
    stk__add_relaxed_u32(&batch->refs, 1); /* the caller's own reference keeps it alive meanwhile */
    return batch;
}

void stk_batch_unref(stk_batch *batch)
{
    stk__arena *arena;
    bool last;

    if (batch == NULL || stk__sub_acq_rel_u32(&batch->refs, 1) != 1)
        return;
    arena = batch->arena;
    if (stk__arena_foreign(arena))
        return;
    stk__mutex_lock(&arena->mutex);
    stk__arena_return_locked(arena, batch);
    last = arena->refs == 0;
    if (!last)
        stk__cond_broadcast(&arena->cond); /* a worker may wait for a slot */
    stk__mutex_unlock(&arena->mutex);
    if (last)
        free_arena(arena);
}
