/*
 * From a key to its sample: a table of one word a sample, made on first use.
 *
 * A word is the highest bits of the key's hash with the number of the sample below them, so that
 * sorting the words puts equal hashes side by side, the first sample first. Keys are compared in
 * the index, whatever their hashes say.
 *
 * Threads: who comes first makes the table under the mutex; it is published by `ready` and then
 * never changes. A child of fork makes the mutex anew, since the thread that held it is not there.
 * The child also adds the table up once: a fork copies memory page by page, so it may have got the
 * news that the table is ready, but not all of the table.
 */
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "dataset/dataset.h"
#include "dataset/dataset_int.h"
#include "os/clock.h"

static uint64_t hash_of(stk_view key)
{
    stk__fingerprint print = {0};

    stk__fingerprint_add(&print, key.data, key.size);
    return print.a;
}

static uint64_t hash_bits(const stk_dataset *ds, uint64_t hash)
{
    return hash >> ds->keys.sample_bits << ds->keys.sample_bits;
}

/* Sort by one byte after the other, the lowest first; the words end where they began after eight
 * passes. */
static void sort_words(uint64_t *words, uint64_t *spare, size_t count)
{
    for (uint32_t shift = 0; shift < 64; shift += 8) {
        size_t start[257] = {0};
        uint64_t *swap;

        for (size_t i = 0; i < count; i++)
            start[(words[i] >> shift & 255) + 1]++;
        for (size_t b = 0; b < 256; b++)
            start[b + 1] += start[b];
        for (size_t i = 0; i < count; i++)
            spare[start[words[i] >> shift & 255]++] = words[i];
        swap = words;
        words = spare;
        spare = swap;
    }
}

static stk_status fill(const stk_dataset *ds, uint64_t *words, stk_error *err)
{
    for (uint32_t i = 0; i < ds->part_count; i++) {
        const stk__part *part = &ds->parts[i];

        for (uint64_t k = 0; k < part->index->samples; k++) {
            stk_view key;

            if (!stk__part_key(part, k, &key))
                return stk__dataset_damaged(part, err);
            words[part->first_sample + k] = hash_bits(ds, hash_of(key)) | (part->first_sample + k);
        }
    }
    return STK_OK;
}

static uint64_t sum_of(const uint64_t *words, size_t count)
{
    uint64_t sum = 1; /* never that of a table whose sum was not copied, which is 0 */

    for (size_t i = 0; i < count; i++)
        sum += words[i] ^ i;
    return sum;
}

/* Is the table, which a parent made, all here? */
static bool inherited_locked(stk_dataset *ds)
{
    if (stk__load_acquire_u32(&ds->keys.ready) == 0 || ds->keys.entries == NULL ||
        sum_of(ds->keys.entries, (size_t)ds->samples) != ds->keys.sum)
        return false;
    stk__store_release_u32(&ds->keys.ready, stk__fork_generation() + 1);
    return true;
}

static stk_status make_table_locked(stk_dataset *ds, stk_error *err)
{
    size_t count = (size_t)ds->samples;
    uint64_t *words = stk__heap_alloc(&ds->heap, count, sizeof *words);
    uint64_t *spare = stk__heap_alloc(&ds->heap, count, sizeof *spare);
    stk_status st;

    if (words == NULL || spare == NULL) {
        st = STK_FAIL(err, STK_ENOMEM, "no memory for a table of keys");
        goto out;
    }
    st = fill(ds, words, err);
    if (st < 0)
        goto out;
    sort_words(words, spare, count);
    ds->keys.entries = words;
    ds->keys.sum = sum_of(words, count);
    words = NULL;
    stk__store_release_u32(&ds->keys.ready, stk__fork_generation() + 1);
out:
    stk__heap_free(&ds->heap, words, count, sizeof *words);
    stk__heap_free(&ds->heap, spare, count, sizeof *spare);
    return st;
}

/* See enter() of file_set.c: the same, for one mutex. */
static void renew_mutex_after_fork(stk_dataset *ds)
{
    uint32_t now = stk__fork_generation();
    uint32_t before = stk__load_acquire_u32(&ds->find_repairing);

    if (stk__load_acquire_u32(&ds->find_generation) == now)
        return;
    if (before != now && stk__cas_acq_rel_u32(&ds->find_repairing, &before, now)) {
        STK_IGNORE(stk__mutex_init(&ds->find_mutex, NULL) < 0); /* its memory is there */
        stk__store_release_u32(&ds->find_generation, now);
    }
    while (stk__load_acquire_u32(&ds->find_generation) != now)
        stk__clock_sleep(100000);
}

static stk_status need_table(stk_dataset *ds, stk_error *err)
{
    const uint32_t ours = stk__fork_generation() + 1;
    stk_status st = STK_OK;

    if (STK__LIKELY(stk__load_acquire_u32(&ds->keys.ready) == ours))
        return STK_OK;
    renew_mutex_after_fork(ds);
    stk__mutex_lock(&ds->find_mutex);
    if (stk__load_acquire_u32(&ds->keys.ready) != ours && !inherited_locked(ds))
        st = make_table_locked(ds, err);
    stk__mutex_unlock(&ds->find_mutex);
    return st;
}

static stk_status find(const stk_dataset *ds, stk_view key, uint64_t *index_out, stk_error *err)
{
    const uint64_t wanted = hash_bits(ds, hash_of(key));
    const uint64_t number = ((uint64_t)1 << ds->keys.sample_bits) - 1;
    uint64_t low = 0, high = ds->samples;

    while (low < high) { /* the first word that is not below */
        uint64_t middle = low + (high - low) / 2;

        if (ds->keys.entries[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < ds->samples && (ds->keys.entries[low] & ~number) == wanted; low++) {
        uint64_t sample = ds->keys.entries[low] & number;
        const stk__part *part = &ds->parts[ds->shards[stk__dataset_shard_of(ds, sample)].part];
        stk_view found;

        if (!stk__part_key(part, sample - part->first_sample, &found))
            return stk__dataset_damaged(part, err);
        if (found.size == key.size &&
            (key.size == 0 || memcmp(found.data, key.data, key.size) == 0)) {
            *index_out = sample;
            return STK_OK;
        }
    }
    return stk__error_in(
        STK_FAIL(err, STK_EFIELD, "no sample has this key"), &(stk__place){.key = key}, err);
}

stk_status stk_dataset_find(stk_dataset *dataset, stk_view key, uint64_t *index_out, stk_error *err)
{
    STK_TRY(need_table(dataset, err));
    return find(dataset, key, index_out, err);
}
