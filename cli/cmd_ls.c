/* stoker ls: samples, members or fields of a dataset, from its index. */
#include <stdlib.h>
#include <string.h>

#include <stoker/dataset.h>

#include "cli.h"
#include "out_human.h"
#include "out_json.h"
#include "where.h"

typedef struct settings {
    bool detail, members, fields, json;
    uint64_t first;
} settings;

static const option options[] = {
    {"long", 'l', OPTION_FLAG, offsetof(settings, detail), 0, 0, NULL,
        "One line a field: sample, size, offset in the shard, shard, label."},
    {"members", 'm', OPTION_FLAG, offsetof(settings, members), 0, 0, NULL,
        "Names of members as they are stored, one a line."},
    {"fields", 'f', OPTION_FLAG, offsetof(settings, fields), 0, 0, NULL,
        "The fields of the dataset: how many samples have each, and their sizes."},
    {"first", 'n', OPTION_NUMBER, offsetof(settings, first), 1, UINT64_MAX, "N",
        "Stop after N samples; all by default."},
    {"json", 0, OPTION_FLAG, offsetof(settings, json), 0, 0, NULL,
        "One JSON document, one sample a line in it."},
};

/* A listing on its way. */
typedef struct listing {
    const settings *s;
    stk_dataset *dataset;
    uint64_t count; /* samples to list */
    json out;
    int key_width, field_width; /* columns, from the first samples */
} listing;

static void each_sample(
    listing *l, uint64_t count, void (*each)(listing *l, const stk_sample *sample))
{
    stk_sample sample;

    for (uint64_t i = 0; i < count; i++) {
        if (stk_dataset_sample(l->dataset, i, &sample, NULL) == STK_OK)
            each(l, &sample);
    }
}

static void widen(int *width, size_t need)
{
    if (need > (size_t)*width)
        *width = (int)(need < 60 ? need : 60);
}

static void measure(listing *l, const stk_sample *sample)
{
    stk_sample_field field;

    widen(&l->key_width, shown_width(sample->key));
    for (uint32_t nth = 0; nth < sample->field_count; nth++) {
        if (stk_dataset_sample_field(l->dataset, sample->index, nth, &field, NULL) == STK_OK)
            widen(&l->field_width, shown_width(field.field));
    }
}

static void say_column(stk_view text, int width)
{
    size_t taken = shown_width(text);

    say_view(text);
    say("%*s", taken < (size_t)width ? (int)((size_t)width - taken) : 0, "");
}

static void say_sample(listing *l, const stk_sample *sample)
{
    stk_sample_field field;
    bool has_cls = false;

    say_column(sample->key, l->key_width);
    say(" ");
    for (uint32_t nth = 0; nth < sample->field_count; nth++) {
        if (stk_dataset_sample_field(l->dataset, sample->index, nth, &field, NULL) != STK_OK)
            continue;
        has_cls |= field.field.size == 3 && memcmp(field.field.data, "cls", 3) == 0;
        say(" ");
        say_view(field.field);
    }
    if (!has_cls && sample->label >= 0)
        say(" cls"); /* given by the class folder */
    say("\n");
}

static void say_members(listing *l, const stk_sample *sample)
{
    stk_sample_field field;

    for (uint32_t nth = 0; nth < sample->field_count; nth++) {
        if (stk_dataset_sample_field(l->dataset, sample->index, nth, &field, NULL) != STK_OK)
            continue;
        if (l->s->detail)
            say("%14s %14s  ", count_text(field.size_bytes).text, count_text(field.offset).text);
        say_view(field.name);
        say("\n");
    }
}

static void say_long(listing *l, const stk_sample *sample)
{
    stk_sample_field field;
    int64_t label;
    bool labelled = where_label(l->dataset, sample, &label);

    for (uint32_t nth = 0; nth < sample->field_count; nth++) {
        if (stk_dataset_sample_field(l->dataset, sample->index, nth, &field, NULL) != STK_OK)
            continue;
        say("%9llu  ", (unsigned long long)sample->index);
        say_column(sample->key, l->key_width);
        say("  ");
        say_column(field.field, l->field_width);
        say(" %12s %14s  ", count_text(field.size_bytes).text, count_text(field.offset).text);
        if (labelled) {
            say("%6lld  ", (long long)label);
        } else {
            say("%6s  ", "-");
        }
        say_text(stk_dataset_shard_name(l->dataset, sample->shard));
        say("\n");
    }
}

static void list_samples(listing *l)
{
    l->key_width = l->field_width = 6;
    each_sample(l, l->count < 1000 ? l->count : 1000, measure);
    if (l->s->members) {
        each_sample(l, l->count, say_members);
    } else if (l->s->detail) {
        say("%9s  %-*s  %-*s %12s %14s  %6s  %s\n", "index", l->key_width, "sample", l->field_width,
            "field", "bytes", "offset", "label", "shard");
        each_sample(l, l->count, say_long);
    } else {
        each_sample(l, l->count, say_sample);
    }
}

static void json_path(json *out, const char *name, const stk_dataset *dataset, uint32_t source)
{
    size_t size = stk_dataset_source_path(dataset, source, NULL, 0) + 1;
    char *path = memory_get(NULL, size, 1);

    stk_dataset_source_path(dataset, source, path, size);
    json_text(out, name, path);
    free(path);
}

static void json_sample(listing *l, const stk_sample *sample)
{
    json *out = &l->out;
    stk_sample_field field;
    int64_t label;

    json_object(out, NULL, false);
    json_count(out, "index", sample->index);
    json_view(out, "key", sample->key);
    json_count(out, "shard", sample->shard);
    if (l->s->detail && where_label(l->dataset, sample, &label)) {
        json_integer(out, "label", label);
    } else if (!l->s->detail && sample->label >= 0) {
        json_integer(out, "label", sample->label);
    }
    json_array(out, "fields", false);
    for (uint32_t nth = 0; nth < sample->field_count; nth++) {
        if (stk_dataset_sample_field(l->dataset, sample->index, nth, &field, NULL) != STK_OK)
            continue;
        json_object(out, NULL, false);
        json_view(out, "field", field.field);
        json_view(out, "name", field.name);
        json_count(out, "bytes", field.size_bytes);
        if (l->s->detail) {
            json_count(out, "offset", field.offset);
            json_path(out, "source", l->dataset, field.source);
        }
        json_end_object(out);
    }
    json_end_array(out);
    json_end_object(out);
}

/* How often each field appears, and its bytes. */
typedef struct tally {
    uint64_t samples, bytes;
} tally;

static tally *count_fields(const listing *l, uint32_t fields)
{
    tally *tallies = memory_get(NULL, fields, sizeof *tallies);
    stk_sample sample;
    stk_sample_field field;

    memset(tallies, 0, fields * sizeof *tallies);
    for (uint64_t i = 0; i < l->count; i++) {
        if (stk_dataset_sample(l->dataset, i, &sample, NULL) != STK_OK)
            continue;
        for (uint32_t nth = 0; nth < sample.field_count; nth++) {
            if (stk_dataset_sample_field(l->dataset, i, nth, &field, NULL) == STK_OK &&
                field.field_id < fields) {
                tallies[field.field_id].samples++;
                tallies[field.field_id].bytes += field.size_bytes;
            }
        }
    }
    return tallies;
}

static void list_fields(listing *l)
{
    uint32_t fields = stk_dataset_field_count(l->dataset);
    tally *tallies = count_fields(l, fields);

    say("%-16s %14s %12s %12s %12s\n", "field", "samples", "bytes", "mean", "largest");
    for (uint32_t i = 0; i < fields; i++) {
        const char *name = stk_dataset_field(l->dataset, i);
        uint64_t n = tallies[i].samples;

        say_column((stk_view){name, strlen(name)}, 16);
        say(" %14s %12s %12s %12s\n", count_text(n).text, bytes_text(tallies[i].bytes).text,
            bytes_text(n > 0 ? tallies[i].bytes / n : 0).text,
            bytes_text(stk_dataset_field_max_bytes(l->dataset, i)).text);
    }
    free(tallies);
}

static void json_fields(listing *l)
{
    uint32_t fields = stk_dataset_field_count(l->dataset);
    tally *tallies = count_fields(l, fields);

    json_array(&l->out, "fields", true);
    for (uint32_t i = 0; i < fields; i++) {
        json_object(&l->out, NULL, false);
        json_text(&l->out, "field", stk_dataset_field(l->dataset, i));
        json_count(&l->out, "samples", tallies[i].samples);
        json_count(&l->out, "bytes", tallies[i].bytes);
        json_count(&l->out, "largest", stk_dataset_field_max_bytes(l->dataset, i));
        json_end_object(&l->out);
    }
    json_end_array(&l->out);
    free(tallies);
}

static void json_dataset(listing *l)
{
    json *out = &l->out;
    uint32_t shards = stk_dataset_shard_count(l->dataset);
    uint32_t classes = stk_dataset_class_count(l->dataset);

    json_count(out, "samples", stk_dataset_count(l->dataset));
    json_array(out, "shards", false);
    for (uint32_t i = 0; i < shards; i++) {
        json_object(out, NULL, false);
        json_text(out, "name", stk_dataset_shard_name(l->dataset, i));
        json_count(out, "first", stk_dataset_shard_start(l->dataset, i));
        json_end_object(out);
    }
    json_end_array(out);
    json_array(out, "classes", false);
    for (uint32_t i = 0; i < classes; i++) {
        json_object(out, NULL, false);
        json_text(out, "name", stk_dataset_class(l->dataset, i));
        json_end_object(out);
    }
    json_end_array(out);
}

static void list_as_json(listing *l)
{
    json_start(&l->out, stdout);
    json_object(&l->out, NULL, true);
    json_dataset(l);
    if (l->s->fields) {
        json_fields(l);
    } else {
        json_array(&l->out, "list", true);
        each_sample(l, l->count, json_sample);
        json_end_array(&l->out);
    }
    json_end_object(&l->out);
}

static int run(const command *self, int argc, char **argv)
{
    settings s = {.first = UINT64_MAX};
    listing l = {.s = &s};
    stk_dataset_options opening = STK_DATASET_OPTIONS_INIT;
    words w;
    int code;

    if (!options_read(self, argc, argv, &s, &w))
        return EXIT_USAGE;
    if (s.fields && (s.members || s.detail))
        return usage_error(self, "--fields goes with neither --members nor --long");
    code = where_open(self, &w, &opening, s.json, &l.dataset);
    if (code != EXIT_DONE)
        return code;
    l.count = stk_dataset_count(l.dataset);
    l.count = l.count < s.first ? l.count : s.first;
    if (s.json) {
        list_as_json(&l);
    } else if (s.fields) {
        list_fields(&l);
    } else {
        list_samples(&l);
    }
    stk_dataset_unref(l.dataset);
    return EXIT_DONE;
}

const command command_ls = {
    .name = "ls",
    .summary = "list samples, members or fields",
    .usage = "WHERE... [-l] [--members | --fields] [-n N] [--json]",
    .about = "Lists the samples of a dataset with their fields, from its index; the index is made\n"
             "if there is none. A class folder gives its samples the field cls.",
    .examples = "stoker ls \"train-{000000..000127}.tar\" -n 10\n"
                "stoker ls photos/ --fields\n"
                "stoker ls train-000000.tar -l --json",
    .options = options,
    .option_count = COUNT_OF(options),
    .run = run,
};
