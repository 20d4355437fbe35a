/*
 * Names of fields: one number for each in the whole dataset, and from the numbers of each index to
 * those.
 *
 * Shards of one dataset nearly always have the same fields in the same order. Then they share one
 * table, which stays in the cache however many shards there are.
 */
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "dataset/dataset_int.h"

static stk_status no_memory(stk_error *err)
{
    return STK_FAIL(err, STK_ENOMEM, "no memory for the names of fields");
}

static uint64_t hash_of(stk_view name)
{
    stk__fingerprint print = {0};

    stk__fingerprint_add(&print, name.data, name.size);
    return print.a;
}

static bool is_called(const stk_dataset *ds, uint32_t id, stk_view name)
{
    const stk__owned_text *text = &ds->fields[id].name;

    return text->size == name.size &&
           (name.size == 0 || memcmp(text->data, name.data, name.size) == 0);
}

/* Slot of the name, or the free one where it belongs; the table is never full. */
static size_t slot_of(const stk_dataset *ds, stk_view name)
{
    size_t at = (size_t)hash_of(name) & (ds->field_slot_count - 1);

    while (ds->field_slots[at] != 0 && !is_called(ds, ds->field_slots[at] - 1, name))
        at = (at + 1) & (ds->field_slot_count - 1);
    return at;
}

uint32_t stk__dataset_find_field(const stk_dataset *ds, stk_view name)
{
    size_t at;

    if (ds->field_slot_count == 0)
        return UINT32_MAX;
    at = slot_of(ds, name);
    return ds->field_slots[at] == 0 ? UINT32_MAX : ds->field_slots[at] - 1;
}

/* Room for one more field, and for its slot. */
static stk_status make_room(stk_dataset *ds, stk_error *err)
{
    size_t capacity = ds->field_capacity == 0 ? 16 : (size_t)ds->field_capacity * 2;
    stk__dataset_field *fields;
    uint32_t *slots;

    if (ds->field_count < ds->field_capacity)
        return STK_OK;
    if (capacity > UINT32_MAX / 4)
        return STK_FAIL(err, STK_ELIMIT, "the dataset has more than a billion different fields");
    slots = stk__heap_zalloc(&ds->heap, capacity * 2, sizeof *slots);
    if (slots == NULL)
        return no_memory(err);
    fields =
        stk__heap_grow(&ds->heap, ds->fields, ds->field_capacity, capacity, sizeof *ds->fields);
    if (fields == NULL) {
        stk__heap_free(&ds->heap, slots, capacity * 2, sizeof *slots);
        return no_memory(err);
    }
    stk__heap_free(&ds->heap, ds->field_slots, ds->field_slot_count, sizeof *slots);
    ds->fields = fields;
    ds->field_capacity = (uint32_t)capacity;
    ds->field_slots = slots;
    ds->field_slot_count = capacity * 2;
    for (uint32_t id = 0; id < ds->field_count; id++) {
        const stk__owned_text *name = &ds->fields[id].name;
        ds->field_slots[slot_of(ds, (stk_view){name->data, name->size})] = id + 1;
    }
    return STK_OK;
}

static stk_status intern(stk_dataset *ds, stk_view name, uint32_t *id_out, stk_error *err)
{
    stk__owned_text text;
    size_t at;

    STK_TRY(make_room(ds, err));
    at = slot_of(ds, name);
    if (ds->field_slots[at] == 0) {
        STK_TRY(stk__owned_text_set(&ds->heap, &text, name, err));
        ds->fields[ds->field_count++] = (stk__dataset_field){.name = text};
        ds->field_slots[at] = ds->field_count;
    }
    *id_out = ds->field_slots[at] - 1;
    return STK_OK;
}

/* Number the fields of a part, in a table of its own or in that of the part before it. */
static stk_status join_part(
    stk_dataset *ds, stk__part *part, const stk__part *before, stk_error *err)
{
    size_t count = (size_t)part->index->section[STK__INDEX_FIELDS].count;
    bool same = before != NULL && before->index->section[STK__INDEX_FIELDS].count == count;
    stk__index_field found;
    uint32_t id;

    for (size_t k = 0; k < count; k++) {
        if (!stk__index_get_field(part->index, k, &found))
            return stk__dataset_damaged(part, err);
        if (same && is_called(ds, before->fields[k], found.name)) {
            id = before->fields[k];
        } else {
            same = false;
            STK_TRY(intern(ds, found.name, &id, err));
        }
        if (found.max_bytes > ds->fields[id].max_bytes)
            ds->fields[id].max_bytes = found.max_bytes;
    }
    if (same) {
        part->fields = before->fields;
        return STK_OK;
    }
    part->fields = stk__heap_alloc(&ds->heap, count, sizeof *part->fields);
    if (part->fields == NULL)
        return no_memory(err);
    part->fields_owned = true;
    for (size_t k = 0; k < count; k++) {
        if (!stk__index_get_field(part->index, k, &found))
            return stk__dataset_damaged(part, err);
        part->fields[k] = stk__dataset_find_field(ds, found.name);
    }
    return STK_OK;
}

stk_status stk__dataset_join_fields(stk_dataset *ds, stk_error *err)
{
    for (uint32_t i = 0; i < ds->part_count; i++)
        STK_TRY(join_part(ds, &ds->parts[i], i > 0 ? &ds->parts[i - 1] : NULL, err));
    return STK_OK;
}
