/*
 * stoker verify: read all, decode all, list the damage.
 *
 * Threads take stretches of samples and read each front to back; what they find is sorted at the
 * end, so the report does not depend on them. The headers of shards are read anew, whatever an
 * index says; that one is compared with its checksums. A shard that is damaged between its members
 * is read up to there.
 *
 * Locks: job->mutex alone, held while something found is kept.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "crew.h"
#include "out_human.h"
#include "out_json.h"
#include "save.h"
#include "stop.h"
#include "verify.h"
#include "where.h"

enum { STRETCH_LEAST = 16, STRETCH_MOST = 4096, NOTES_KEPT = 1000, DAMAGE_KEPT = 1000000 };

typedef struct settings {
    uint64_t threads;
    const char *save;
    bool no_decode, json, quiet;
} settings;

static const option options[] = {
    {"threads", 't', OPTION_NUMBER, offsetof(settings, threads), 1, 1024, "N",
        "Threads; the cores this process may use by default."},
    {"no-decode", 0, OPTION_FLAG, offsetof(settings, no_decode), 0, 0, NULL,
        "Read only: shards must be whole, but fields may hold anything."},
    {"save", 0, OPTION_TEXT, offsetof(settings, save), 0, 0, "FILE",
        "Write the report as JSON into a file, too; a loader can be told to leave those samples "
        "out."},
    {"json", 0, OPTION_FLAG, offsetof(settings, json), 0, 0, NULL,
        "One JSON document instead of lines."},
    {"quiet", 'q', OPTION_FLAG, offsetof(settings, quiet), 0, 0, NULL,
        "Only the damage; no notes, no summary, no progress."},
};

typedef struct verify_job {
    const settings *s;
    const words *where;
    stk_dataset *dataset;
    uint64_t samples, stretch;
    _Atomic uint64_t next; /* first sample of the next stretch */
    progress bar;
    pthread_mutex_t mutex;
    verify_list damage, notes; /* guarded by mutex */
    uint64_t damaged_samples;  /* guarded by mutex */
    uint64_t fields, bytes;    /* guarded by mutex: read */
    atomic_bool failed;        /* the machine is at fault, and not the data: all give up */
    stk_error failure;         /* guarded by mutex: why */
} verify_job;

static void give_up_locked(verify_job *job, const stk_error *err)
{
    if (!atomic_load(&job->failed))
        job->failure = *err;
    atomic_store(&job->failed, true);
}

static void give_up(verify_job *job, const stk_error *err)
{
    pthread_mutex_lock(&job->mutex);
    give_up_locked(job, err);
    pthread_mutex_unlock(&job->mutex);
}

static bool ended(const verify_job *job)
{
    return stop_asked() || atomic_load(&job->failed);
}

static void keep_locked(verify_job *job, verify_list *list, uint32_t shard, uint64_t sample,
    uint32_t nth, const stk_error *err)
{
    stk_error none;

    if (verify_keep(list, shard, sample, nth, err))
        return;
    error_make(&none, STK_ENOMEM, "", "no memory for what was found");
    give_up_locked(job, &none);
}

static void keep(
    verify_job *job, bool damage, const stk_sample *sample, uint32_t nth, const stk_error *err)
{
    pthread_mutex_lock(&job->mutex);
    keep_locked(job, damage ? &job->damage : &job->notes, sample->shard, sample->index, nth, err);
    pthread_mutex_unlock(&job->mutex);
}

static void copy_tail(char *to, size_t capacity, const char *from)
{
    size_t length = strlen(from);

    if (length >= capacity)
        from += length - (capacity - 1);
    memcpy(to, from, strlen(from) + 1);
}

static void copy_head(char *to, size_t capacity, stk_view from)
{
    size_t size = from.size < capacity - 1 ? from.size : capacity - 1;

    if (size > 0)
        memcpy(to, from.data, size);
    to[size] = '\0';
}

/* What the dataset knows, and a codec does not. */
static void fill_place(
    const verify_job *job, const stk_sample *sample, const stk_sample_field *field, stk_error *err)
{
    char path[4096];

    err->sample = sample->index;
    copy_head(err->key, sizeof err->key, sample->key);
    copy_tail(err->shard, sizeof err->shard, stk_dataset_shard_name(job->dataset, sample->shard));
    if (field == NULL)
        return;
    copy_head(err->field, sizeof err->field, field->field);
    err->offset = (err->has_offset ? err->offset : 0) + field->offset;
    err->has_offset = true;
    if (stk_dataset_source_path(job->dataset, field->source, path, sizeof path) < sizeof path)
        copy_tail(err->source, sizeof err->source, path);
}

/* @return is the field damaged? */
static bool check_field(verify_job *job, verify_scratch *scratch, const stk_sample *sample,
    uint32_t nth, const stk_sample_field *field, stk_view bytes)
{
    stk_error err = STK_ERROR_INIT;
    char note[NOTE_BYTES];
    stk_status st = verify_field(scratch, field->field, bytes, note, &err);

    if (st == STK_ENOMEM) {
        give_up(job, &err);
        return false;
    }
    if (st >= 0 && note[0] == '\0')
        return false;
    if (st >= 0) {
        err = (stk_error)STK_ERROR_INIT;
        copy_tail(err.text, sizeof err.text, note);
    } else if (err.stage == STK_STAGE_NONE) {
        err.stage = STK_STAGE_DECODE;
    }
    fill_place(job, sample, field, &err);
    keep(job, st < 0, sample, nth, &err);
    return st < 0;
}

/* What one thread has counted. */
typedef struct tally {
    uint64_t damaged, fields, bytes;
} tally;

static void check_sample(verify_job *job, verify_scratch *scratch, const stk_sample *sample,
    const stk_sample_field *fields, const stk_view *data, tally *t)
{
    uint64_t bytes = 0;
    bool damaged = false;

    for (uint32_t i = 0; i < sample->field_count; i++) {
        bytes += data[i].size;
        if (!job->s->no_decode)
            damaged |= check_field(job, scratch, sample, i, &fields[i], data[i]);
    }
    t->fields += sample->field_count;
    t->bytes += bytes;
    t->damaged += damaged;
    progress_add(&job->bar, 1, bytes);
}

/* A sample that could not be read: the scan goes on after it. A bad sector is damage, too; that
 * there are no more descriptors or no memory is not. */
static void lose_sample(verify_job *job, uint64_t index, stk_error *err, tally *t)
{
    stk_sample sample;

    if (exit_of(err) == EXIT_MACHINE && err->os_errno != EIO) {
        give_up(job, err);
        return;
    }
    if (stk_dataset_sample(job->dataset, index, &sample, NULL) < 0)
        sample = (stk_sample){.index = index, .label = -1};
    if (err->key[0] == '\0')
        fill_place(job, &sample, NULL, err);
    keep(job, true, &sample, 0, err);
    t->damaged++;
    progress_add(&job->bar, 1, 0);
}

static void check_stretch(
    verify_job *job, verify_scratch *scratch, uint64_t first, uint64_t last, tally *t)
{
    stk_error err = STK_ERROR_INIT;
    stk_scan *scan = NULL;
    const stk_sample_field *fields;
    const stk_view *data;
    stk_sample sample;
    stk_status st = stk_scan_open(job->dataset, first, last, &scan, &err);

    if (st < 0)
        give_up(job, &err);
    for (uint64_t at = first; at < last && !ended(job); at++) {
        st = stk_scan_next(scan, &sample, &fields, &data, &err);
        if (st == STK_END)
            break;
        if (st == STK_OK)
            check_sample(job, scratch, &sample, fields, data, t);
        else
            lose_sample(job, at, &err, t);
    }
    stk_scan_close(scan);
}

static void work(void *ctx, unsigned nth)
{
    verify_job *job = ctx;
    verify_scratch scratch = {NULL, 0};
    tally t = {0};

    (void)nth;
    while (!ended(job)) {
        uint64_t first = atomic_fetch_add(&job->next, job->stretch);
        uint64_t last = first + job->stretch < job->samples ? first + job->stretch : job->samples;

        if (first >= job->samples)
            break;
        check_stretch(job, &scratch, first, last, &t);
    }
    verify_scratch_fini(&scratch);
    pthread_mutex_lock(&job->mutex);
    job->damaged_samples += t.damaged;
    job->fields += t.fields;
    job->bytes += t.bytes;
    pthread_mutex_unlock(&job->mutex);
}

/* Damage between members: which shards cannot be opened whole? `first` is what opening all of them
 * said. */
static void find_damaged_shards(verify_job *job, const stk_error *first)
{
    stk_dataset_options opening = STK_DATASET_OPTIONS_INIT;
    uint32_t shards = stk_dataset_shard_count(job->dataset);
    char path[4096];
    const char *where = path;
    bool found = false;

    opening.index = STK_INDEX_MEMORY;
    for (uint32_t i = 0; i < shards; i++) {
        stk_error err = STK_ERROR_INIT;
        stk_dataset *one = NULL;
        stk_status st;

        if (stk_dataset_source_path(job->dataset, i, path, sizeof path) >= sizeof path)
            continue;
        st = stk_dataset_open(&where, 1, &opening, &one, &err);
        stk_dataset_unref(one);
        if (st >= 0)
            continue;
        found = true;
        copy_tail(err.shard, sizeof err.shard, stk_dataset_shard_name(job->dataset, i));
        keep_locked(job, &job->damage, i, UINT64_MAX, 0, &err); /* no other thread yet */
    }
    if (!found)
        keep_locked(job, &job->damage, 0, UINT64_MAX, 0, first);
}

static bool is_damage(stk_status st)
{
    return st == STK_ECORRUPT || st == STK_EFIELD || st == STK_ENOTSUP || st == STK_ELIMIT;
}

/* All of it if it is whole, else what is before the damage of each shard. */
static stk_status open_all(verify_job *job, stk_error *err)
{
    stk_dataset_options opening = STK_DATASET_OPTIONS_INIT;
    const char *const *where = (const char *const *)job->where->words;
    stk_error first = STK_ERROR_INIT;
    stk_status st;

    opening.index = STK_INDEX_MEMORY;
    opening.threads = (int32_t)job->s->threads;
    st = where_open_patiently(where, job->where->count, &opening, &job->dataset, &first);
    if (!is_damage(st)) {
        *err = first;
        return st;
    }
    opening.skip_damaged_shards = true;
    st = where_open_patiently(where, job->where->count, &opening, &job->dataset, err);
    if (st >= 0)
        find_damaged_shards(job, &first);
    return st;
}

/* Is a note of the dataset the damage that is listed already? */
static bool is_listed(const verify_job *job, const stk_dataset_note *note)
{
    stk_error err;

    for (size_t i = 0; i < job->damage.count; i++) {
        if (job->damage.found[i].sample != UINT64_MAX)
            continue;
        verify_get(&job->damage, i, &err);
        if (err.offset == note->offset && strcmp(err.shard, note->shard) == 0)
            return true;
    }
    return false;
}

/* Indexes are not used here, but by whoever opens the dataset next. Called without threads. */
static void check_indexes(verify_job *job)
{
    for (uint32_t nth = 0; !stop_asked(); nth++) {
        stk_error err = STK_ERROR_INIT;
        stk_status st = stk_dataset_check_kept_index(job->dataset, nth, &err);
        size_t length = strlen(err.text);

        if (st == STK_ERANGE)
            break;
        if (st == STK_ENOMEM)
            give_up_locked(job, &err);
        if (st >= 0 || st == STK_ENOMEM)
            continue;
        if (snprintf(err.text + length, sizeof err.text - length,
                "; stoker index --force makes it anew") < 0)
            err.text[length] = '\0';
        keep_locked(job, &job->damage, UINT32_MAX, UINT64_MAX, nth, &err); /* behind all others */
    }
}

static void take_notes(verify_job *job)
{
    stk_dataset_note note;

    for (size_t nth = 0; stk_dataset_get_note(job->dataset, nth, &note); nth++) {
        stk_error err = STK_ERROR_INIT;

        if (is_listed(job, &note))
            continue;
        copy_tail(err.shard, sizeof err.shard, note.shard);
        copy_head(err.text, sizeof err.text, (stk_view){note.text, strlen(note.text)});
        err.offset = note.offset;
        err.has_offset = note.offset != 0;
        keep_locked(job, &job->notes, UINT32_MAX, UINT64_MAX, (uint32_t)nth, &err); /* last */
    }
}

static void say_list(const char *what, const verify_list *list)
{
    char line[1536];
    stk_error err;

    for (size_t i = 0; i < list->count; i++) {
        verify_get(list, i, &err);
        stk_error_format(&err, line, sizeof line);
        say("%s: ", what);
        say_text(line);
        say("\n");
    }
    if (list->total > list->count)
        say("%s: %s more\n", what, count_text(list->total - list->count).text);
}

static void say_report(const verify_job *job)
{
    uint32_t shards = stk_dataset_shard_count(job->dataset);

    say_list("damaged", &job->damage);
    if (job->s->quiet)
        return;
    say_list("note", &job->notes);
    say("%s %s sample%s, %s field%s, %s in %s shard%s: ", job->s->no_decode ? "read" : "checked",
        count_text(job->samples).text, plural(job->samples), count_text(job->fields).text,
        plural(job->fields), bytes_text(job->bytes).text, count_text(shards).text, plural(shards));
    if (job->damage.total == 0) {
        say("no damage\n");
    } else {
        say("%s damaged place%s, %s damaged sample%s\n", count_text(job->damage.total).text,
            plural(job->damage.total), count_text(job->damaged_samples).text,
            plural(job->damaged_samples));
    }
}

enum { OF_SAMPLES = 1, OF_SHARDS = 2 };

static void json_list(json *out, const char *name, const verify_list *list, int which)
{
    stk_error err;

    json_array(out, name, true);
    for (size_t i = 0; i < list->count; i++) {
        if ((which & (list->found[i].sample != UINT64_MAX ? OF_SAMPLES : OF_SHARDS)) == 0)
            continue;
        verify_get(list, i, &err);
        json_object(out, NULL, false);
        json_error(out, &err);
        json_end_object(out);
    }
    json_end_array(out);
}

/* The account that a loader takes as known_damage: format, fingerprint, and in "damage" what lies
 * in samples. Damage between members, and notes, stand apart. */
static void write_report(FILE *file, const void *ctx)
{
    const verify_job *job = ctx;
    uint64_t fingerprint[2];
    char hex[40];
    json out;

    stk_dataset_fingerprint(job->dataset, fingerprint);
    if (snprintf(hex, sizeof hex, "%016llx%016llx", (unsigned long long)fingerprint[0],
            (unsigned long long)fingerprint[1]) < 0)
        hex[0] = '\0';
    json_start(&out, file);
    json_object(&out, NULL, true);
    json_count(&out, "format", 1);
    json_text(&out, "fingerprint", hex);
    json_count(&out, "samples", job->samples);
    json_count(&out, "fields", job->fields);
    json_count(&out, "bytes", job->bytes);
    json_count(&out, "shards", stk_dataset_shard_count(job->dataset));
    json_bool(&out, "decoded", !job->s->no_decode);
    json_count(&out, "damage_count", job->damage.total);
    json_count(&out, "damaged_samples", job->damaged_samples);
    json_list(&out, "damage", &job->damage, OF_SAMPLES);
    json_list(&out, "shard_damage", &job->damage, OF_SHARDS);
    json_count(&out, "note_count", job->notes.total);
    json_list(&out, "notes", &job->notes, OF_SAMPLES | OF_SHARDS);
    json_end_object(&out);
}

static int report(verify_job *job)
{
    stk_error err = STK_ERROR_INIT;

    verify_sort(&job->damage);
    verify_sort(&job->notes);
    if (atomic_load(&job->failed))
        return fail(&job->failure, job->s->json);
    if (job->s->save != NULL && save_file(job->s->save, write_report, job, &err) < 0)
        return fail(&err, job->s->json);
    if (job->s->json) {
        write_report(stdout, job);
    } else {
        say_report(job);
    }
    return job->damage.total > 0 ? EXIT_DATA : EXIT_DONE;
}

static int verify(verify_job *job)
{
    unsigned threads = job->s->threads > 0 ? (unsigned)job->s->threads : crew_cores();
    stk_error err = STK_ERROR_INIT;
    int code;

    if (open_all(job, &err) < 0)
        return fail(&err, job->s->json);
    take_notes(job);
    stop_gently();
    check_indexes(job);
    job->samples = stk_dataset_count(job->dataset);
    job->stretch = job->samples / threads / 8;
    job->stretch = job->stretch < STRETCH_LEAST ? STRETCH_LEAST : job->stretch;
    job->stretch = job->stretch > STRETCH_MOST ? STRETCH_MOST : job->stretch;
    progress_start(&job->bar, "checking", "samples", job->samples, job->s->quiet);
    crew_run(threads, work, job, &job->bar);
    progress_end(&job->bar);
    if (stop_asked()) {
        tell("stoker verify: stopped; what was found so far:\n");
        verify_sort(&job->damage);
        say_list("damaged", &job->damage);
        code = EXIT_STOPPED;
    } else {
        code = report(job);
    }
    stk_dataset_unref(job->dataset);
    return code;
}

static int run(const command *self, int argc, char **argv)
{
    settings s = {0};
    words w;
    verify_job job = {.s = &s,
        .where = &w,
        .mutex = PTHREAD_MUTEX_INITIALIZER,
        .damage = {.most = DAMAGE_KEPT},
        .notes = {.most = NOTES_KEPT}};
    int code;

    if (!options_read(self, argc, argv, &s, &w))
        return EXIT_USAGE;
    if (w.count == 0)
        return usage_error(self, "which dataset? Give a shard, a folder or a pattern");
    code = verify(&job);
    verify_list_fini(&job.damage);
    verify_list_fini(&job.notes);
    pthread_mutex_destroy(&job.mutex);
    return code;
}

const command command_verify = {
    .name = "verify",
    .summary = "read and decode everything, list the damage",
    .usage = "WHERE... [--no-decode] [--threads N] [--save FILE] [--json] [--quiet]",
    .about =
        "Reads every byte of a dataset and decodes every field: pictures, .npy, JSON, text\n"
        "(UTF-8) and class numbers, told by extension and, for pictures and arrays, by their\n"
        "bytes. Each damage is one line: the reason, then shard, sample, field and byte. A\n"
        "shard that is damaged between its members is read up to there. The index that is kept\n"
        "of it is compared with its checksums. Notes are no damage: a missing end-of-archive\n"
        "marker, a wrong extension, a format this build lacks.\n"
        "\n"
        "Exit status 1 if anything is damaged.",
    .examples = "stoker verify \"train-*.tar\"\n"
                "stoker verify photos/ --save damage.json\n"
                "stoker verify \"train-*.tar\" --no-decode --json | jq .damage",
    .options = options,
    .option_count = COUNT_OF(options),
    .run = run,
};
