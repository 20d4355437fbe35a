/*
 * Grouping members into samples, and growing the arrays of an index: see index_build.h.
 *
 * Members of the open sample stand at the end of the array already; a sample is closed by the next
 * key or by the end. Two hash tables live beside the arrays while it is built: field names, and the
 * keys of closed samples, so that a key that comes back is noticed once.
 */
#include "archive/index_build.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "archive/index_layout.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/size.h"

/* Notes of one kind that are kept in full. */
#define NOTES_KEPT 8u

/* Numbers by hash: open addressing, at most half full, 0 is free. Who uses it compares. */
typedef struct table {
    uint32_t *slots; /* number + 1 */
    size_t capacity; /* a power of two, or 0 */
    size_t used;
} table;

struct stk__index_build {
    stk__heap *heap; /* set at creation; not ours */
    stk__index_kind kind;
    uint32_t flags;
    bool lenient;
    bool damaged;            /* something was left out */
    stk__index_grown *grown; /* NULL after finish */
    stk__fingerprint print;
    uint64_t samples;     /* closed ones */
    uint64_t members;     /* of all samples, the open one too */
    uint64_t first;       /* member of the open sample; == members: there is none */
    uint64_t *field_seen; /* for each field: the sample that had it last, + 1 */
    size_t field_capacity;
    table fields, keys;
    bool keys_watched; /* until the first key came back */
    uint64_t notes[STK__NOTE_KINDS];
};

static stk_status no_memory(stk_error *err)
{
    return STK_FAIL(err, STK_ENOMEM, "no memory for the index");
}

/* Arrays. */

static uint8_t *reserve(stk__index_build *build, uint32_t id, size_t size)
{
    size_t held = build->grown->section[id].size;
    size_t capacity = build->grown->section[id].capacity;
    size_t wanted, larger;
    uint8_t *data;

    if (!stk__size_add(held, size, &wanted))
        return NULL;
    if (wanted > capacity) {
        larger = capacity < 1024 ? 1024 : capacity;
        while (larger < wanted)
            if (!stk__size_mul(larger, 2, &larger))
                return NULL;
        data = stk__heap_grow(build->heap, build->grown->section[id].data, capacity, larger, 1);
        if (data == NULL)
            return NULL;
        build->grown->section[id].data = data;
        build->grown->section[id].capacity = larger;
    }
    build->grown->section[id].size = wanted;
    return build->grown->section[id].data + held;
}

static size_t count_of(const stk__index_build *build, uint32_t id)
{
    return build->grown->section[id].size / stk__index_entry_bytes[id];
}

/* Append to the names; a NUL goes behind if `closed`. */
static bool put_name(stk__index_build *build, stk_view name, bool closed, uint64_t *offset_out)
{
    uint64_t offset = build->grown->section[STK__INDEX_NAMES].size;
    uint8_t *to;

    if (offset > STK__NAME_OFFSET_MASK || name.size > UINT32_MAX - 1)
        return false;
    to = reserve(build, STK__INDEX_NAMES, name.size + (closed ? 1 : 0));
    if (to == NULL)
        return false;
    if (name.size > 0)
        memcpy(to, name.data, name.size);
    if (closed)
        to[name.size] = 0;
    *offset_out = offset;
    return true;
}

/* The last step of a sample: where its first member stands. */
static bool put_sample(stk__index_build *build, uint64_t first)
{
    uint8_t *entry = reserve(build, STK__INDEX_SAMPLES, 8);

    if (entry != NULL)
        stk__put_le64(entry, first);
    return entry != NULL;
}

/* Texts that were put there; the caller knows that they are. */

static stk_view text_of(const stk__index_build *build, uint32_t id, uint64_t nth)
{
    const uint8_t *entry = build->grown->section[id].data + nth * stk__index_entry_bytes[id];
    const uint8_t *names = build->grown->section[STK__INDEX_NAMES].data;

    return (stk_view){names + stk__get_le64(entry), stk__get_le32(entry + 8)};
}

static stk_view member_text(const stk__index_build *build, uint64_t member, bool key_only)
{
    const uint8_t *entry = build->grown->section[STK__INDEX_MEMBERS].data + member * 32;
    const uint8_t *names = build->grown->section[STK__INDEX_NAMES].data;
    uint64_t packed = stk__get_le64(entry + 16);

    return (stk_view){names + (packed & STK__NAME_OFFSET_MASK),
        key_only ? (size_t)(packed >> STK__NAME_OFFSET_BITS) : stk__get_le32(entry + 24)};
}

static uint64_t first_of(const stk__index_build *build, uint64_t sample)
{
    return stk__get_le64(build->grown->section[STK__INDEX_SAMPLES].data + sample * 8);
}

static bool equal(stk_view a, stk_view b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* Hashing. */

static uint64_t hash_of(stk_view text)
{
    stk__fingerprint print = {0};

    stk__fingerprint_add(&print, text.data, text.size);
    return print.a;
}

static stk_view numbered_text(const stk__index_build *build, const table *t, uint32_t number)
{
    return t == &build->fields ? text_of(build, STK__INDEX_FIELDS, number)
                               : member_text(build, first_of(build, number), true);
}

/* Slot of the text, or the free one where it belongs. The table has room. */
static uint32_t *slot_of(const stk__index_build *build, const table *t, stk_view text)
{
    size_t at = (size_t)hash_of(text) & (t->capacity - 1);

    while (t->slots[at] != 0 && !equal(numbered_text(build, t, t->slots[at] - 1), text))
        at = (at + 1) & (t->capacity - 1);
    return &t->slots[at];
}

/* Room for one more. */
static bool table_room(stk__index_build *build, table *t)
{
    table larger = {.capacity = t->capacity == 0 ? 64 : t->capacity * 2, .used = t->used};

    if (t->used < t->capacity / 2)
        return true;
    larger.slots = stk__heap_zalloc(build->heap, larger.capacity, sizeof *larger.slots);
    if (larger.slots == NULL)
        return false;
    for (size_t i = 0; i < t->capacity; i++)
        if (t->slots[i] != 0) {
            size_t at =
                (size_t)hash_of(numbered_text(build, t, t->slots[i] - 1)) & (larger.capacity - 1);
            while (larger.slots[at] != 0)
                at = (at + 1) & (larger.capacity - 1);
            larger.slots[at] = t->slots[i];
        }
    stk__heap_free(build->heap, t->slots, t->capacity, sizeof *t->slots);
    *t = larger;
    return true;
}

static void table_free(stk__index_build *build, table *t)
{
    stk__heap_free(build->heap, t->slots, t->capacity, sizeof *t->slots);
    *t = (table){0};
}

/* Life. */

stk_status stk__index_build_new(stk__heap *heap, stk__index_kind kind, uint32_t flags,
    stk__index_build **build_out, stk_error *err)
{
    stk__index_build *build = stk__heap_zalloc(heap, 1, sizeof *build);

    if (build == NULL)
        return no_memory(err);
    build->heap = heap;
    build->kind = kind;
    build->flags = flags & ~(uint32_t)STK__INDEX_LENIENT;
    build->lenient = (flags & STK__INDEX_LENIENT) != 0;
    build->keys_watched = kind == STK__INDEX_TAR; /* a folder is sorted: no key can come back */
    build->grown = stk__heap_zalloc(heap, 1, sizeof *build->grown);
    if (build->grown == NULL) {
        stk__index_build_free(build);
        return no_memory(err);
    }
    *build_out = build;
    return STK_OK;
}

void stk__index_build_free(stk__index_build *build)
{
    if (build == NULL)
        return;
    table_free(build, &build->fields);
    table_free(build, &build->keys);
    stk__heap_free(
        build->heap, build->field_seen, build->field_capacity, sizeof *build->field_seen);
    stk__index_grown_free(build->heap, build->grown);
    stk__heap_free(build->heap, build, 1, sizeof *build);
}

void stk__index_grown_free(stk__heap *heap, stk__index_grown *grown)
{
    if (grown == NULL)
        return;
    for (uint32_t id = 0; id < STK__INDEX_SECTION_COUNT; id++)
        stk__heap_free(heap, grown->section[id].data, grown->section[id].capacity, 1);
    stk__heap_free(heap, grown, 1, sizeof *grown);
}

/* Notes, classes, folders. */

static bool put_note(stk__index_build *build, uint64_t offset, const char *text)
{
    stk_view view = {text, strlen(text)};
    uint64_t name;
    uint8_t *entry;

    if (!put_name(build, view, true, &name))
        return false;
    entry = reserve(build, STK__INDEX_NOTES, 24);
    if (entry == NULL)
        return false;
    stk__put_le64(entry, name);
    stk__put_le32(entry + 8, (uint32_t)view.size);
    stk__put_le32(entry + 12, 0);
    stk__put_le64(entry + 16, offset);
    return true;
}

stk_status stk__index_build_note(stk__index_build *build, stk__index_note_kind kind,
    uint64_t offset, stk_error *err, const char *format, ...)
{
    char text[512];
    va_list args;

    if (kind == STK__NOTE_DAMAGE || kind == STK__NOTE_FIELD_TWICE)
        build->damaged = true;
    if (build->notes[kind]++ >= NOTES_KEPT)
        return STK_OK;
    va_start(args, format);
    STK_IGNORE(vsnprintf(text, sizeof text, format, args) < 0); /* long names are cut */
    va_end(args);
    return put_note(build, offset, text) ? STK_OK : no_memory(err);
}

/* How many more there were. */
static bool put_counts(stk__index_build *build)
{
    static const char *const what[STK__NOTE_KINDS] = {
        [STK__NOTE_KEY_CAME_BACK] = "keys that come back after others",
        [STK__NOTE_FIELD_TWICE] = "fields that stand twice in one sample",
        [STK__NOTE_LINK] = "fields that are links without data",
        [STK__NOTE_DAMAGE] = "damaged places",
        [STK__NOTE_ARCHIVE] = "remarks on the archive",
        [STK__NOTE_FOLDER] = "remarks on folders and files",
    };
    char text[96];

    for (int kind = 0; kind < STK__NOTE_KINDS; kind++) {
        if (build->notes[kind] <= NOTES_KEPT)
            continue;
        STK_IGNORE(snprintf(text, sizeof text, "%llu more %s",
                       (unsigned long long)(build->notes[kind] - NOTES_KEPT), what[kind]) < 0);
        if (!put_note(build, 0, text))
            return false;
    }
    return true;
}

static void close_sample(stk__index_build *build)
{
    if (build->first < build->members) {
        build->samples++;
        build->first = build->members;
    }
}

void stk__index_build_break(stk__index_build *build)
{
    close_sample(build);
}

void stk__index_build_drop_sample(stk__index_build *build, stk_view key)
{
    uint64_t dropped = build->members - build->first;

    if (dropped == 0 || !equal(member_text(build, build->first, true), key))
        return;
    /* Names, fields and the fingerprint keep what was put there: more than is used is no harm. */
    build->grown->section[STK__INDEX_MEMBERS].size -= (size_t)dropped * 32;
    build->grown->section[STK__INDEX_SAMPLES].size -= 8;
    build->members = build->first;
}

stk_status stk__index_build_class(stk__index_build *build, stk_view name, stk_error *err)
{
    uint64_t offset;
    uint8_t *entry;

    close_sample(build);
    if (!put_name(build, name, true, &offset))
        return no_memory(err);
    entry = reserve(build, STK__INDEX_CLASSES, 24);
    if (entry == NULL)
        return no_memory(err);
    stk__put_le64(entry, offset);
    stk__put_le32(entry + 8, (uint32_t)name.size);
    stk__put_le32(entry + 12, 0);
    stk__put_le64(entry + 16, build->samples);
    stk__fingerprint_add(&build->print, name.data, name.size);
    return STK_OK;
}

stk_status stk__index_build_folder(
    stk__index_build *build, stk_view path, int64_t mtime_ns, uint64_t names_hash, stk_error *err)
{
    uint64_t offset;
    uint8_t *entry;

    if (!put_name(build, path, true, &offset))
        return no_memory(err);
    entry = reserve(build, STK__INDEX_FOLDERS, 32);
    if (entry == NULL)
        return no_memory(err);
    stk__put_le64(entry, offset);
    stk__put_le32(entry + 8, (uint32_t)path.size);
    stk__put_le32(entry + 12, 0);
    stk__put_le64(entry + 16, (uint64_t)mtime_ns);
    stk__put_le64(entry + 24, names_hash);
    return STK_OK;
}

/* Members. */

static stk_status new_field(stk__index_build *build, stk_view field, stk_error *err)
{
    size_t count = count_of(build, STK__INDEX_FIELDS);
    uint64_t offset;
    uint64_t *seen;
    uint8_t *entry;

    if (count >= UINT32_MAX - 1)
        return STK_FAIL(err, STK_ELIMIT, "the shard has more than 4 billion different fields");
    if (count == build->field_capacity) {
        size_t larger = count == 0 ? 16 : count * 2;
        seen = stk__heap_grow(build->heap, build->field_seen, count, larger, sizeof *seen);
        if (seen == NULL)
            return no_memory(err);
        build->field_seen = seen;
        build->field_capacity = larger;
    }
    build->field_seen[count] = 0;
    if (!put_name(build, field, true, &offset))
        return no_memory(err);
    entry = reserve(build, STK__INDEX_FIELDS, 32);
    if (entry == NULL)
        return no_memory(err);
    memset(entry, 0, 32);
    stk__put_le64(entry, offset);
    stk__put_le32(entry + 8, (uint32_t)field.size);
    return STK_OK;
}

/* Number of a field whose case is settled. */
static stk_status intern_field(
    stk__index_build *build, stk_view field, uint32_t *id_out, stk_error *err)
{
    uint32_t *slot;

    if (!table_room(build, &build->fields))
        return no_memory(err);
    slot = slot_of(build, &build->fields, field);
    if (*slot == 0) {
        STK_TRY(new_field(build, field, err));
        *slot = (uint32_t)count_of(build, STK__INDEX_FIELDS); /* number + 1 */
        build->fields.used++;
    }
    *id_out = *slot - 1;
    return STK_OK;
}

/* ASCII only: whatever the locale is. */
static void lower(char *to, stk_view from)
{
    const char *text = from.data;

    for (size_t i = 0; i < from.size; i++)
        to[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] - 'A' + 'a' : text[i]);
}

static stk_status field_number(
    stk__index_build *build, stk_view field, uint32_t *id_out, stk_error *err)
{
    char small[256];
    char *folded = small;
    stk_status st;

    if ((build->flags & STK__INDEX_KEEP_CASE) != 0 || field.size == 0)
        return intern_field(build, field, id_out, err);
    if (field.size > sizeof small) {
        folded = stk__heap_alloc(build->heap, field.size, 1);
        if (folded == NULL)
            return no_memory(err);
    }
    lower(folded, field);
    st = intern_field(build, (stk_view){folded, field.size}, id_out, err);
    if (folded != small)
        stk__heap_free(build->heap, folded, field.size, 1);
    return st;
}

/* A sample begins: has its key been there before? Said once, with both names. */
static stk_status watch_key(stk__index_build *build, const stk__index_told *told, stk_error *err)
{
    uint32_t *slot;
    stk_view before;

    if (!build->keys_watched)
        return STK_OK;
    if (build->samples >= UINT32_MAX - 1) {
        build->keys_watched = false; /* the table has no larger numbers; a shard of that size is
                                        not worth one that has */
        return STK_OK;
    }
    if (!table_room(build, &build->keys))
        return no_memory(err);
    slot = slot_of(build, &build->keys, told->key);
    if (*slot == 0) {
        *slot = (uint32_t)build->samples + 1; /* the number that it is about to get */
        build->keys.used++;
        return STK_OK;
    }
    build->keys_watched = false;
    before = member_text(build, first_of(build, *slot - 1), false);
    return stk__index_build_note(build, STK__NOTE_KEY_CAME_BACK, told->header, err,
        "key %.*s comes back after others: %.*s and later %.*s are different samples",
        (int)stk__size_min(told->key.size, 100), (const char *)told->key.data,
        (int)stk__size_min(before.size, 100), (const char *)before.data,
        (int)stk__size_min(told->name.size, 100), (const char *)told->name.data);
}

static stk_status put_member(
    stk__index_build *build, const stk__index_told *told, uint32_t field, stk_error *err)
{
    uint64_t name;
    uint8_t *entry, *stats;

    if (!put_name(build, told->name, false, &name))
        return no_memory(err);
    entry = reserve(build, STK__INDEX_MEMBERS, 32);
    if (entry == NULL)
        return no_memory(err);
    stk__put_le64(entry, told->offset);
    stk__put_le64(entry + 8, told->size_bytes);
    stk__put_le64(entry + 16, name | (uint64_t)told->key.size << STK__NAME_OFFSET_BITS);
    stk__put_le32(entry + 24, (uint32_t)told->name.size);
    stk__put_le32(entry + 28, field);
    stats = build->grown->section[STK__INDEX_FIELDS].data + (size_t)field * 32;
    if (told->size_bytes > stk__get_le64(stats + 16))
        stk__put_le64(stats + 16, told->size_bytes);
    stk__put_le64(stats + 24, stk__get_le64(stats + 24) + 1);
    stk__fingerprint_add(&build->print, told->name.data, told->name.size);
    stk__fingerprint_add_u64(&build->print, told->size_bytes);
    build->members++;
    return STK_OK;
}

static stk_status field_twice(stk__index_build *build, const stk__index_told *told, stk_error *err)
{
    int length = (int)stk__size_min(told->name.size, 160);
    const char *name = told->name.data;

    if (build->lenient)
        return stk__index_build_note(build, STK__NOTE_FIELD_TWICE, told->header, err,
            "member %.*s has a field that its sample has already; the first one stays", length,
            name);
    return stk__error_in(STK_FAIL_AT(err, STK_EFIELD, told->header,
                             "member %.*s has a field that its sample has already", length, name),
        &(stk__place){.key = told->key, .field = told->field}, err);
}

stk_status stk__index_build_member(
    stk__index_build *build, const stk__index_told *told, stk_error *err)
{
    uint32_t field;

    if (told->name.size > STK__NAME_MAX_BYTES)
        return STK_FAIL_AT(err, STK_ELIMIT, told->header,
            "the name of a member has %zu bytes; the limit is %u", told->name.size,
            STK__NAME_MAX_BYTES);
    if (build->first == build->members ||
        !equal(member_text(build, build->first, true), told->key)) {
        close_sample(build);
        STK_TRY(watch_key(build, told, err));
        if (!put_sample(build, build->members))
            return no_memory(err);
    }
    STK_TRY(field_number(build, told->field, &field, err));
    if (build->field_seen[field] == build->samples + 1)
        return field_twice(build, told, err);
    build->field_seen[field] = build->samples + 1;
    return put_member(build, told, field, err);
}

stk_status stk__index_build_finish(stk__index_build *build, const stk__index_source *source,
    stk__index **index_out, stk_error *err)
{
    stk__index *index;

    close_sample(build);
    if (!put_sample(build, build->members) || !put_counts(build))
        return no_memory(err);
    STK_TRY(stk__index_new(build->heap, &index, err));
    index->kind = build->kind;
    index->flags = build->flags | (build->damaged ? (uint32_t)STK__INDEX_LENIENT : 0);
    if (source != NULL)
        index->source = *source;
    index->fingerprint[0] = build->print.a;
    index->fingerprint[1] = build->print.b;
    index->samples = build->samples;
    index->members = build->members;
    for (uint32_t id = 1; id < STK__INDEX_SECTION_COUNT; id++)
        index->section[id] = (stk__index_section){
            .data = build->grown->section[id].data,
            .count = count_of(build, id),
        };
    index->grown = build->grown;
    build->grown = NULL;
    *index_out = index;
    return STK_OK;
}
