/* stoker index: make, renew or check the index of datasets. */
#include <stdlib.h>
#include <string.h>

#include <stoker/dataset.h>

#include "cli.h"
#include "out_human.h"
#include "out_json.h"
#include "where.h"

typedef struct settings {
    bool force, check, json, quiet;
    uint64_t threads;
} settings;

static const option options[] = {
    {"force", 0, OPTION_FLAG, offsetof(settings, force), 0, 0, NULL,
        "Make it anew, even where it is up to date."},
    {"check", 0, OPTION_FLAG, offsetof(settings, check), 0, 0, NULL,
        "Make nothing; exit status 1 if an index is missing or stale."},
    {"threads", 't', OPTION_NUMBER, offsetof(settings, threads), 1, 1024, "N",
        "Threads; the cores this process may use by default."},
    {"json", 0, OPTION_FLAG, offsetof(settings, json), 0, 0, NULL, "One JSON document."},
    {"quiet", 'q', OPTION_FLAG, offsetof(settings, quiet), 0, 0, NULL, "No summary, no notes."},
};

static void say_notes(const stk_dataset *dataset)
{
    stk_dataset_note note;

    for (size_t nth = 0; stk_dataset_get_note(dataset, nth, &note); nth++) {
        say("note: ");
        say_text(note.text);
        say(" (");
        say_text(note.shard);
        if (note.offset > 0)
            say(", byte %s", count_text(note.offset).text);
        say(")\n");
    }
}

static void say_dataset(const char *where, const stk_dataset *dataset)
{
    uint64_t samples = stk_dataset_count(dataset);
    uint32_t shards = stk_dataset_shard_count(dataset);

    say_text(where);
    say(": %s sample%s in %s shard%s, index up to date\n", count_text(samples).text,
        plural(samples), count_text(shards).text, plural(shards));
    say_notes(dataset);
}

static void json_dataset(json *out, const char *where, const stk_dataset *dataset)
{
    uint64_t fingerprint[2];
    char hex[40];
    stk_dataset_note note;

    stk_dataset_fingerprint(dataset, fingerprint);
    if (snprintf(hex, sizeof hex, "%016llx%016llx", (unsigned long long)fingerprint[0],
            (unsigned long long)fingerprint[1]) < 0)
        hex[0] = '\0';
    json_object(out, NULL, false);
    json_text(out, "where", where);
    json_count(out, "samples", stk_dataset_count(dataset));
    json_count(out, "shards", stk_dataset_shard_count(dataset));
    json_text(out, "fingerprint", hex);
    json_array(out, "notes", false);
    for (size_t nth = 0; stk_dataset_get_note(dataset, nth, &note); nth++) {
        json_object(out, NULL, false);
        json_text(out, "shard", note.shard);
        json_count(out, "offset", note.offset);
        json_text(out, "text", note.text);
        json_end_object(out);
    }
    json_end_array(out);
    json_end_object(out);
}

static void json_refused(json *out, const char *where, const stk_error *err)
{
    json_object(out, NULL, false);
    json_text(out, "where", where);
    json_object(out, "error", false);
    json_error(out, err);
    json_end_object(out);
    json_end_object(out);
}

/* STK_INDEX_AUTO keeps an index where it can, and goes on where it cannot. Whoever asks for an
 * index wants to know: so it is opened again with nothing but the file. */
static stk_status make(
    const settings *s, const char *where, stk_dataset **dataset_out, stk_error *err)
{
    stk_dataset_options opening = STK_DATASET_OPTIONS_INIT;
    stk_status st;

    opening.threads = (int32_t)s->threads;
    opening.index = s->check ? STK_INDEX_REQUIRE : s->force ? STK_INDEX_REBUILD : STK_INDEX_AUTO;
    st = where_open_patiently(&where, 1, &opening, dataset_out, err);
    if (st >= 0 && s->check) {
        st = stk_dataset_check_index(*dataset_out, err);
        if (st < 0) {
            stk_dataset_unref(*dataset_out);
            *dataset_out = NULL;
        }
    }
    if (st < 0 || s->check || s->force)
        return st;
    stk_dataset_unref(*dataset_out);
    opening.index = STK_INDEX_REQUIRE;
    st = where_open_patiently(&where, 1, &opening, dataset_out, err);
    if (st == STK_EINDEX) {
        st = error_make(err, STK_ESOURCE, where, "the index could not be kept anywhere");
        err->stage = STK_STAGE_WRITE;
    }
    return st;
}

static int run(const command *self, int argc, char **argv)
{
    settings s = {0};
    stk_error err = STK_ERROR_INIT;
    stk_dataset *dataset;
    json out;
    int code = EXIT_DONE;
    words w;

    if (!options_read(self, argc, argv, &s, &w))
        return EXIT_USAGE;
    if (w.count == 0)
        return usage_error(self, "which dataset? Give a shard, a folder or a pattern");
    if (s.check && s.force)
        return usage_error(self, "--check makes nothing, --force makes it anew: one of them");
    json_start(&out, stdout);
    if (s.json) {
        json_object(&out, NULL, true);
        json_array(&out, "datasets", true);
    }
    for (size_t i = 0; i < w.count; i++) {
        if (make(&s, w.words[i], &dataset, &err) < 0) {
            int worse = fail(&err, false);
            code = worse > code ? worse : code;
            if (s.json)
                json_refused(&out, w.words[i], &err);
            continue;
        }
        if (s.json) {
            json_dataset(&out, w.words[i], dataset);
        } else if (!s.quiet) {
            say_dataset(w.words[i], dataset);
        }
        stk_dataset_unref(dataset);
    }
    if (s.json) {
        json_end_array(&out);
        json_bool(&out, "up_to_date", code == EXIT_DONE);
        json_end_object(&out);
    }
    return code;
}

const command command_index = {
    .name = "index",
    .summary = "make, renew or check the index of datasets",
    .usage = "WHERE... [--force | --check] [--threads N] [--json] [--quiet]",
    .about =
        "An index tells where each field of each sample lies, so that a dataset opens at once\n"
        "and any sample is found without reading. It is kept beside the data, or in the\n"
        "user's cache folder where that cannot be written. Other commands make it on first\n"
        "use; a stale one is made anew.",
    .examples = "stoker index \"train-*.tar\"\n"
                "stoker index photos/ --check",
    .options = options,
    .option_count = COUNT_OF(options),
    .run = run,
};
