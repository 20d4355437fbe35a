/*
 * Many files behind few descriptors: see file_set.h.
 *
 * Files are spread over buckets by their number, each with a lock of its own that is held for a
 * few comparisons and never over a system call. Lock order: one bucket at a time, nothing below.
 *
 * A fork may come while another thread is anywhere in here, and descriptors are copied at another
 * moment than memory. So a child believes a slot only if its descriptor leads to the very file that
 * was opened for it, and forgets the others. A slot lies in one cache line, hence in one page, and
 * is written in an order in which every prefix makes sense: emptied first, filled last.
 */
#include "source/file_set.h"

#include <errno.h>
#include <string.h>

#include "base/atomic.h"
#include "base/error.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/process.h"
#include "os/thread.h"

enum { BUCKETS = 8, WAYS = STK__FILE_SET_OPEN / BUCKETS };

/* Paths that the system takes are shorter. */
#define PATH_BYTES 4352u

/* While every descriptor is in use: how long to wait for one, and how often to look. */
#define LOOK_NS    1000000u
#define MOST_LOOKS 5000u

typedef struct slot {
    _Alignas(64) uint32_t id;
    uint32_t readers; /* it is not closed while there are any */
    uint64_t used;    /* files opened so far when it was used last: no clock is asked */
    uint64_t device, inode;
    stk__atomic_u32 fd; /* + 1; 0: empty. Atomic for the order of its stores alone */
} slot;

typedef struct bucket {
    _Alignas(64) stk__mutex mutex;
    slot slots[WAYS]; /* guarded by mutex */
} bucket;

struct stk__file_set {
    stk__heap *heap; /* set at creation; so too path and ctx */
    stk__file_path *path;
    const void *ctx;
    uint32_t mutexes;           /* made at creation */
    stk__atomic_u32 generation; /* atomic: fork generation that the locks belong to */
    stk__atomic_u32 repairing;  /* atomic: generation for which somebody makes them anew */
    stk__atomic_u64 opened;     /* atomic: files so far, the time of `used` */
    bucket buckets[BUCKETS];
};

/* A file held for one read. */
typedef struct hold {
    stk__file file;
    bucket *home; /* NULL: it is in no slot, and is closed afterwards */
    slot *slot;
} hold;

stk_status stk__file_set_new(
    stk__heap *heap, stk__file_path *path, const void *ctx, stk__file_set **set_out, stk_error *err)
{
    stk__file_set *set = stk__heap_alloc_aligned(heap, sizeof *set);

    if (set == NULL)
        return STK_FAIL(err, STK_ENOMEM, "no memory for a set of files");
    memset(set, 0, sizeof *set);
    set->heap = heap;
    set->path = path;
    set->ctx = ctx;
    stk__store_release_u32(&set->generation, stk__fork_generation());
    stk__store_release_u32(&set->repairing, stk__fork_generation());
    for (; set->mutexes < BUCKETS; set->mutexes++) {
        stk_status st = stk__mutex_init(&set->buckets[set->mutexes].mutex, err);

        if (st < 0) {
            stk__file_set_free(set);
            return st;
        }
    }
    *set_out = set;
    return STK_OK;
}

static stk__file file_of(slot *s)
{
    return (stk__file){.fd = (int)stk__load_acquire_u32(&s->fd) - 1};
}

void stk__file_set_free(stk__file_set *set)
{
    if (set == NULL)
        return;
    for (uint32_t b = 0; b < BUCKETS; b++)
        for (uint32_t w = 0; w < WAYS; w++) {
            stk__file file = file_of(&set->buckets[b].slots[w]);
            stk__file_fini(&file);
        }
    for (uint32_t b = 0; b < set->mutexes; b++)
        stk__mutex_fini(&set->buckets[b].mutex);
    stk__heap_free_aligned(set->heap, set, sizeof *set);
}

/* In a child: nobody reads here yet, and what the descriptor leads to has to be looked at. */
static void renew_slot(slot *s)
{
    stk__file file = file_of(s);
    stk__file_stat found;

    s->readers = 0;
    if (file.fd >= 0 && (stk__file_stat_of(&file, "", &found, NULL) < 0 ||
                            found.device != s->device || found.inode != s->inode))
        stk__store_release_u32(&s->fd, 0); /* it may be somebody else's: not ours to close */
}

/* In a child of fork: locks may be held by threads that are not here. The first who comes makes all
 * anew; the others wait, which takes no longer than that. */
static void enter(stk__file_set *set)
{
    uint32_t now = stk__fork_generation();
    uint32_t before;

    if (stk__load_acquire_u32(&set->generation) == now)
        return;
    before = stk__load_acquire_u32(&set->repairing);
    if (before != now && stk__cas_acq_rel_u32(&set->repairing, &before, now)) {
        for (uint32_t b = 0; b < BUCKETS; b++) {
            STK_IGNORE(stk__mutex_init(&set->buckets[b].mutex, NULL) < 0); /* its memory is there */
            for (uint32_t w = 0; w < WAYS; w++)
                renew_slot(&set->buckets[b].slots[w]);
        }
        stk__store_release_u32(&set->generation, now);
    }
    while (stk__load_acquire_u32(&set->generation) != now)
        stk__clock_sleep(LOOK_NS);
}

/* Slot of the file, or NULL. */
static slot *find_locked(bucket *home, uint32_t id)
{
    for (uint32_t w = 0; w < WAYS; w++)
        if (home->slots[w].id == id && file_of(&home->slots[w]).fd >= 0)
            return &home->slots[w];
    return NULL;
}

/* The slot to use next: an empty one, else the least recently used that nobody reads; or NULL. */
static slot *victim_locked(bucket *home, bool empty_too)
{
    slot *oldest = NULL;

    for (uint32_t w = 0; w < WAYS; w++) {
        slot *s = &home->slots[w];

        if (file_of(s).fd < 0) {
            if (empty_too)
                return s;
        } else if (s->readers == 0 && (oldest == NULL || s->used < oldest->used)) {
            oldest = s;
        }
    }
    return oldest;
}

/* Take the descriptor out of a slot; the caller closes it, when the lock is open again. */
static stk__file empty_locked(slot *s)
{
    stk__file file = file_of(s);

    stk__store_release_u32(&s->fd, 0);
    return file;
}

static void use_locked(stk__file_set *set, hold *h, bucket *home, slot *s)
{
    s->readers++;
    s->used = stk__load_relaxed_u64(&set->opened); /* a little late is early enough */
    *h = (hold){.file = file_of(s), .home = home, .slot = s};
}

uint32_t stk__file_set_count(stk__file_set *set)
{
    uint32_t count = 0;

    enter(set);
    for (uint32_t b = 0; b < BUCKETS; b++) {
        stk__mutex_lock(&set->buckets[b].mutex);
        for (uint32_t w = 0; w < WAYS; w++)
            count += file_of(&set->buckets[b].slots[w]).fd >= 0 ? 1 : 0;
        stk__mutex_unlock(&set->buckets[b].mutex);
    }
    return count;
}

/* Close the least recently used descriptor of the whole set. false: none is idle. */
static bool give_one_back(stk__file_set *set, bool *busy_out)
{
    uint64_t oldest = UINT64_MAX;
    bucket *from = NULL;
    stk__file file = STK__FILE_NONE;

    *busy_out = false;
    for (uint32_t b = 0; b < BUCKETS; b++) {
        bucket *each = &set->buckets[b];
        slot *s;

        stk__mutex_lock(&each->mutex);
        s = victim_locked(each, false);
        if (s != NULL && s->used < oldest) {
            oldest = s->used;
            from = each;
        }
        for (uint32_t w = 0; w < WAYS; w++)
            *busy_out = *busy_out || each->slots[w].readers > 0;
        stk__mutex_unlock(&each->mutex);
    }
    if (from == NULL)
        return false;
    stk__mutex_lock(&from->mutex);
    {
        slot *s = victim_locked(from, false);
        if (s != NULL)
            file = empty_locked(s);
    }
    stk__mutex_unlock(&from->mutex);
    stk__file_fini(&file);
    return true; /* even if somebody was faster: what that one holds comes back soon */
}

/* Open a file, giving descriptors back for it if the system wants that. */
static stk_status open_file(stk__file_set *set, const char *path, stk__file *file, stk_error *err)
{
    stk_error why = STK_ERROR_INIT;
    stk_status st;
    uint32_t looks = 0;
    bool busy = false;

    for (;;) {
        st = stk__file_open(file, path, &why);
        if (st >= 0)
            return STK_OK;
        if (why.os_errno != EMFILE && why.os_errno != ENFILE)
            break;
        if (give_one_back(set, &busy))
            continue;
        if (!busy || ++looks > MOST_LOOKS)
            break;
        stk__clock_sleep(LOOK_NS);
    }
    if (why.os_errno == EMFILE)
        stk__error_set_os(&why, st, EMFILE,
            "could not open the file with a limit of %llu descriptors, of which this dataset "
            "holds %u",
            (unsigned long long)stk__process_max_files(), stk__file_set_count(set));
    if (err != NULL)
        *err = why;
    return stk__error_in(st, &(stk__place){.source = path}, err);
}

static stk_status refuse(const char *path, uint64_t found, uint64_t indexed, stk_error *err)
{
    stk_status st = STK_FAIL_AT(err, STK_ECORRUPT, found,
        "file is %s than its index says (%llu of %llu bytes); it changed after it was indexed",
        found < indexed ? "shorter" : "longer", (unsigned long long)found,
        (unsigned long long)indexed);

    return stk__error_in(st, &(stk__place){.source = path}, err);
}

/* Put a file that was just opened into a slot, unless somebody else did so meanwhile or none is
 * free. */
static void keep(
    stk__file_set *set, uint32_t id, const stk__file_stat *found, stk__file *file, hold *h)
{
    bucket *home = &set->buckets[id % BUCKETS];
    stk__file spare = STK__FILE_NONE;
    slot *same, *room;

    stk__add_relaxed_u64(&set->opened, 1);
    stk__mutex_lock(&home->mutex);
    same = find_locked(home, id);
    room = same == NULL ? victim_locked(home, true) : NULL;
    if (same != NULL) {
        spare = *file;
        use_locked(set, h, home, same);
    } else if (room != NULL) {
        spare = empty_locked(room);
        room->id = id;
        room->device = found->device;
        room->inode = found->inode;
        stk__store_release_u32(&room->fd, (uint32_t)file->fd + 1);
        use_locked(set, h, home, room);
    } else {
        *h = (hold){.file = *file};
    }
    stk__mutex_unlock(&home->mutex);
    *file = (stk__file)STK__FILE_NONE;
    stk__file_fini(&spare);
}

static stk_status take(
    stk__file_set *set, const stk__file_want *want, const char *path, hold *h, stk_error *err)
{
    stk__file file = STK__FILE_NONE;
    stk__file_stat found;
    stk_status st;

    STK_TRY(open_file(set, path, &file, err));
    st = stk__file_stat_of(&file, path, &found, err);
    if (st >= 0 && want->exact && found.size_bytes != want->indexed_bytes)
        st = refuse(path, found.size_bytes, want->indexed_bytes, err);
    if (st < 0) {
        stk__file_fini(&file);
        return st;
    }
    keep(set, want->id, &found, &file, h);
    return STK_OK;
}

static bool take_open(stk__file_set *set, uint32_t id, hold *h)
{
    bucket *home = &set->buckets[id % BUCKETS];
    slot *s;

    stk__mutex_lock(&home->mutex);
    s = find_locked(home, id);
    if (s != NULL)
        use_locked(set, h, home, s);
    stk__mutex_unlock(&home->mutex);
    return s != NULL;
}

static void drop(hold *h)
{
    if (h->home == NULL) {
        stk__file_fini(&h->file);
        return;
    }
    stk__mutex_lock(&h->home->mutex);
    h->slot->readers--;
    stk__mutex_unlock(&h->home->mutex);
}

static stk_status read_held(const hold *h, const stk__file_want *want, stk_span dst, stk_error *err)
{
    stk__file_stat found;
    size_t got;

    STK_TRY(stk__file_read_at(&h->file, "", want->offset, dst, &got, err));
    if (got == dst.size)
        return STK_OK;
    STK_TRY(stk__file_stat_of(&h->file, "", &found, err));
    if (found.size_bytes >= want->indexed_bytes)
        found.size_bytes = want->offset + got; /* it grows and shrinks while it is read */
    return refuse("", found.size_bytes, want->indexed_bytes, err);
}

typedef enum patience { WAIT, DO_NOT_WAIT } patience;

/* Its path, for opening and for errors: a file that is open needs none. */
static stk_status path_of(
    stk__file_set *set, uint32_t id, char *path, size_t capacity, stk_error *err)
{
    if (set->path(set->ctx, id, path, capacity) < capacity)
        return STK_OK;
    return stk__error_in(STK_FAIL_OS(err, STK_ESOURCE, ENAMETOOLONG, "could not open the file"),
        &(stk__place){.source = path}, err);
}

static stk_status read_file(
    stk__file_set *set, const stk__file_want *want, stk_span dst, patience p, stk_error *err)
{
    char path[PATH_BYTES];
    stk_status st;
    size_t got;
    hold h;

    enter(set);
    if (!take_open(set, want->id, &h)) {
        STK_TRY(path_of(set, want->id, path, sizeof path, err));
        STK_TRY(take(set, want, path, &h, err));
    }
    st = p == WAIT ? read_held(&h, want, dst, err)
                   : stk__file_try_read_at(&h.file, "", want->offset, dst, &got, err);
    drop(&h);
    if (st < 0 && path_of(set, want->id, path, sizeof path, NULL) >= 0)
        st = stk__error_in(st, &(stk__place){.source = path}, err);
    return st;
}

stk_status stk__file_set_read(
    stk__file_set *set, const stk__file_want *want, stk_span dst, stk_error *err)
{
    return read_file(set, want, dst, WAIT, err);
}

stk_status stk__file_set_try_read(
    stk__file_set *set, const stk__file_want *want, stk_span dst, stk_error *err)
{
    return read_file(set, want, dst, DO_NOT_WAIT, err);
}
