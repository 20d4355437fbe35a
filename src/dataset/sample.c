/*
 * From a number to a sample and its fields. No lock, no allocation: an index is only read.
 *
 * Every entry is checked on its way, since the index may be damaged; see index_file.h.
 */
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "base/text.h"
#include "dataset/dataset.h"
#include "dataset/dataset_int.h"

/* A sample found: where it is, and its members in the index of its part. */
typedef struct found {
    const stk__part *part;
    uint32_t shard;
    uint64_t first, end;
} found;

stk_status stk__dataset_damaged(const stk__part *part, stk_error *err)
{
    return stk__error_in(STK_FAIL(err, STK_EINDEX, "an entry of the index is damaged"),
        &(stk__place){.source = part->path}, err);
}

uint32_t stk__dataset_shard_of(const stk_dataset *ds, uint64_t sample)
{
    size_t stretch = (size_t)(sample >> ds->guide_shift);
    uint32_t low = ds->guide[stretch], high = ds->guide[stretch + 1];

    while (low < high) { /* the last one that starts at or before it */
        uint32_t middle = high - (high - low) / 2;

        if (ds->shards[middle].start <= sample)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static stk_status find_sample(const stk_dataset *ds, uint64_t sample, found *out, stk_error *err)
{
    if (STK__UNLIKELY(sample >= ds->samples))
        return STK_FAIL(err, STK_ERANGE, "sample %llu of a dataset with %llu",
            (unsigned long long)sample, (unsigned long long)ds->samples);
    out->shard = stk__dataset_shard_of(ds, sample);
    out->part = &ds->parts[ds->shards[out->shard].part];
    if (STK__UNLIKELY(!stk__index_sample(
            out->part->index, sample - out->part->first_sample, &out->first, &out->end)))
        return stk__dataset_damaged(out->part, err);
    return STK_OK;
}

bool stk__part_key(const stk__part *part, uint64_t local, stk_view *key_out)
{
    stk__index_entry entry;
    uint64_t first, end;

    if (!stk__index_sample(part->index, local, &first, &end) ||
        !stk__index_member(part->index, first, &entry))
        return false;
    *key_out = (stk_view){entry.name.data, entry.key_bytes};
    return true;
}

void stk__dataset_fill_field(const stk_dataset *ds, const stk__part *part, uint64_t member,
    const stk__index_entry *entry, stk_sample_field *out)
{
    uint32_t id = part->fields[entry->field];

    *out = (stk_sample_field){
        .field = {ds->fields[id].name.data, ds->fields[id].name.size},
        .name = entry->name,
        .offset = entry->offset,
        .size_bytes = entry->size_bytes,
        .source = ds->tar ? part->first_source : part->first_source + (uint32_t)member,
        .field_id = id,
    };
}

stk_status stk_dataset_sample(
    const stk_dataset *dataset, uint64_t index, stk_sample *sample_out, stk_error *err)
{
    stk__index_entry entry;
    found at;

    STK_TRY(find_sample(dataset, index, &at, err));
    if (!stk__index_member(at.part->index, at.first, &entry))
        return stk__dataset_damaged(at.part, err);
    *sample_out = (stk_sample){
        .index = index,
        .key = {entry.name.data, entry.key_bytes},
        .shard = at.shard,
        .field_count = (uint32_t)(at.end - at.first),
        .label = dataset->shards[at.shard].label,
    };
    return STK_OK;
}

stk_status stk_dataset_sample_field(const stk_dataset *dataset, uint64_t index, uint32_t nth,
    stk_sample_field *field_out, stk_error *err)
{
    stk__index_entry entry;
    found at;

    STK_TRY(find_sample(dataset, index, &at, err));
    if (nth >= at.end - at.first)
        return STK_FAIL(
            err, STK_ERANGE, "field %u of a sample with %u", nth, (uint32_t)(at.end - at.first));
    if (!stk__index_member(at.part->index, at.first + nth, &entry))
        return stk__dataset_damaged(at.part, err);
    stk__dataset_fill_field(dataset, at.part, at.first + nth, &entry, field_out);
    return STK_OK;
}

/* What a sample has instead of what was asked for. */
static stk_status lacks_field(const stk_dataset *ds, const found *at, uint64_t sample,
    const uint32_t *field_ids, size_t n, stk_error *err)
{
    char has[160] = "", wants[64] = "";
    stk__text has_text = {.data = has, .capacity = sizeof has};
    stk__text wants_text = {.data = wants, .capacity = sizeof wants};
    stk__index_entry entry;
    stk_status st;

    for (uint64_t i = at->first; i < at->end && has_text.needed < sizeof has; i++)
        if (stk__index_member(at->part->index, i, &entry))
            stk__text_put(&has_text, "%s%s", i > at->first ? ", " : "",
                ds->fields[at->part->fields[entry.field]].name.data);
    for (size_t i = 0; i < n && wants_text.needed < sizeof wants; i++)
        if (field_ids[i] < ds->field_count)
            stk__text_put(&wants_text, "%s%s", wants_text.needed > 0 ? ";" : "",
                ds->fields[field_ids[i]].name.data);
    st = STK_FAIL(err, STK_EFIELD, "the sample has no such field; it has %s", has);
    return stk__error_in(stk__dataset_error_in(ds, sample, STK_STAGE_NONE, st, err),
        &(stk__place){.field = {wants, strlen(wants)}}, err);
}

stk_status stk__dataset_locate(const stk_dataset *ds, uint64_t sample, const uint32_t *field_ids,
    size_t n, stk_sample_field *found_out, stk_error *err)
{
    stk__index_entry entry;
    uint64_t member = 0;
    size_t best = n;
    uint32_t field;
    found at;

    STK_TRY(find_sample(ds, sample, &at, err));
    for (uint64_t i = at.first; i < at.end && best > 0; i++) {
        if (STK__UNLIKELY(!stk__index_member_field(at.part->index, i, &field)))
            return stk__dataset_damaged(at.part, err);
        for (size_t k = 0; k < best; k++) {
            if (field_ids[k] == at.part->fields[field]) {
                best = k;
                member = i;
            }
        }
    }
    if (STK__UNLIKELY(best == n))
        return lacks_field(ds, &at, sample, field_ids, n, err);
    if (STK__UNLIKELY(!stk__index_member(at.part->index, member, &entry)))
        return stk__dataset_damaged(at.part, err);
    stk__dataset_fill_field(ds, at.part, member, &entry, found_out);
    return STK_OK;
}

stk_status stk__dataset_error_in(
    const stk_dataset *ds, uint64_t sample, stk_stage stage, stk_status st, stk_error *err)
{
    stk__place place = {.stage = stage, .sample = sample + 1};
    const stk__part *part;
    uint32_t shard;

    if (st >= 0 || err == NULL || sample >= ds->samples)
        return st;
    shard = stk__dataset_shard_of(ds, sample);
    part = &ds->parts[ds->shards[shard].part];
    place.shard = ds->shard_names[shard].data;
    if (ds->tar)
        place.source = part->path; /* a folder's file is known to who knows the field */
    STK_IGNORE(!stk__part_key(part, sample - part->first_sample, &place.key)); /* stays empty */
    return stk__error_in(st, &place, err);
}
