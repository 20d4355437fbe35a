/* stoker pack: folders, lists and tables of files become WebDataset tar shards with their indexes.
 */
#include <stdlib.h>
#include <string.h>

#include "out_human.h"
#include "out_json.h"
#include "pack.h"
#include "stop.h"

enum { SKIPS_SHOWN = 10 };

#define SET(name) offsetof(pack_settings, name)

static const option options[] = {
    {"output", 'o', OPTION_TEXT, SET(output), 0, 0, "NAME",
        "Names of the shards, with a number unless there is one only: out/train-%06d.tar. Missing "
        "folders are made."},
    {"shard-size", 0, OPTION_SIZE, SET(shard_size), 1024, UINT64_MAX, "SIZE",
        "Bytes of a shard at most, as 500MB or 2GiB; a larger sample has a shard of its own. "
        "500MB, unless one of the next two is given."},
    {"shard-samples", 0, OPTION_NUMBER, SET(shard_samples), 1, UINT64_MAX, "N",
        "Samples of a shard."},
    {"shard-count", 0, OPTION_NUMBER, SET(shard_count), 1, 1000000, "N",
        "Shards; samples are dealt out evenly."},
    {"ext", 0, OPTION_TEXT, SET(ext), 0, 0, "LIST",
        "Only samples that have a file with one of these extensions, as jpg,png; other files of "
        "the "
        "same key go with them."},
    {"labels", 0, OPTION_CHOICE, SET(labels), 0, 0, "auto|name|number|none",
        "What labels are: names of classes, which are sorted and numbered, or numbers. auto: class "
        "folders are names; a table's are numbers if the first of them is one."},
    {"classes", 0, OPTION_TEXT, SET(classes), 0, 0, "FILE",
        "Take the classes and their numbers from a file with one name a line, such as the "
        "classes.txt of an earlier pack."},
    {"split", 0, OPTION_CHOICE, SET(split), 0, 0, "auto|first|last",
        "Which dot of a file's name ends the key; earlier ones become _. first: as WebDataset has "
        "it; last; auto: the last, but known words such as seg or mask stay with the field, so "
        "that a.seg.png is field seg.png of sample a. auto."},
    {"root", 0, OPTION_TEXT, SET(root), 0, 0, "FOLDER",
        "Where relative paths of lists and tables begin; the folder of the list by default."},
    {"shuffle", 0, OPTION_FLAG, SET(shuffle), 0, 0, NULL,
        "Deal the samples out in random order, fixed by --seed."},
    {"seed", 0, OPTION_NUMBER, SET(seed), 0, UINT64_MAX, "N", "Of --shuffle; 0."},
    {"continue", 0, OPTION_FLAG, SET(go_on), 0, 0, NULL,
        "Go on after a run that was stopped: shards that are there and hold what they should are "
        "kept, judged by names and sizes."},
    {"force", 0, OPTION_FLAG, SET(force), 0, 0, NULL,
        "Remove the shards that are there, also those beyond the new ones, and make all anew."},
    {"on-error", 0, OPTION_CHOICE, SET(on_error), 0, 0, "raise|skip",
        "A file that vanished or cannot be read ends the run, or its sample is left out and "
        "counted. raise."},
    {"no-index", 0, OPTION_FLAG, SET(no_index), 0, 0, NULL,
        "No index beside each shard; it would be made on first use."},
    {"threads", 't', OPTION_NUMBER, SET(threads), 1, 1024, "N",
        "Shards written at once; the cores this process may use by default. The shards do not "
        "depend on it."},
    {"json", 0, OPTION_FLAG, SET(json), 0, 0, NULL, "One JSON document instead of the summary."},
    {"quiet", 'q', OPTION_FLAG, SET(quiet), 0, 0, NULL, "No summary, no progress."},
};

void pack_fini(pack_job *job)
{
    for (size_t i = 0; i < job->texts.count; i++)
        free(job->texts.blocks[i]);
    for (size_t i = 0; i < job->shard_count; i++)
        free(job->shards[i].path);
    free((void *)job->texts.blocks);
    free(job->files);
    free(job->samples);
    free((void *)job->classes);
    free(job->shards);
    free(job->out.folder);
    free(job->out.prefix);
    free(job->out.suffix);
    free(job->skips);
    pthread_mutex_destroy(&job->mutex);
}

static int check_settings(const pack_job *job, const words *w)
{
    const pack_settings *s = &job->s;

    if (w->count == 0)
        return usage_error(job->cmd, "which folder, list or table?");
    if (s->output == NULL) {
        return usage_error(
            job->cmd, "-o is missing: the names of the shards, as out/train-%%06d.tar");
    }
    if ((s->shard_count > 0) + (s->shard_samples > 0) + (s->shard_size > 0) > 1)
        return usage_error(job->cmd, "give one of --shard-count, --shard-samples and --shard-size");
    if (s->go_on && s->force)
        return usage_error(job->cmd, "--continue keeps shards, --force removes them: one of them");
    if (s->classes != NULL && (s->labels == LABELS_NUMBER || s->labels == LABELS_NONE))
        return usage_error(job->cmd, "--classes goes with labels that are names");
    return EXIT_DONE;
}

/* A shard none of whose samples could be read is not made. */
static bool is_made(const pack_shard *shard)
{
    return shard->left_out < shard->count;
}

/* Shards that are there now, the first and the last of them. */
static size_t count_made(const pack_job *job, size_t *first_out, size_t *last_out)
{
    size_t made = 0;

    *first_out = *last_out = 0;
    for (size_t i = 0; i < job->shard_count; i++) {
        if (!is_made(&job->shards[i]))
            continue;
        *first_out = made++ == 0 ? i : *first_out;
        *last_out = i;
    }
    return made;
}

static size_t count_kept(const pack_job *job)
{
    size_t kept = 0;

    for (size_t i = 0; i < job->shard_count; i++)
        kept += job->shards[i].kept;
    return kept;
}

static void say_summary(const pack_job *job)
{
    size_t first, last;
    uint64_t kept = count_kept(job), made = count_made(job, &first, &last);

    say("packed %s sample%s in %s file%s into %s shard%s of %s: ",
        count_text(job->samples_out).text, plural(job->samples_out),
        count_text(job->files_out).text, plural(job->files_out), count_text(made).text,
        plural(made), bytes_text(job->bytes_out).text);
    say_text(job->shards[first].path);
    if (made > 1) {
        say(" to ");
        say_text(job->shards[last].path);
    }
    say("\n");
    if (kept > 0)
        say("kept %s shard%s that stood there already\n", count_text(kept).text, plural(kept));
    if (job->class_count > 0) {
        say("%s class%s, named in classes.txt beside the shards\n",
            count_text(job->class_count).text, job->class_count == 1 ? "" : "es");
    }
    if (job->left_out > 0) {
        say("left out %s file%s: hidden, without extension, outside the classes or not of --ext\n",
            count_text(job->left_out).text, plural(job->left_out));
    }
}

static void tell_skips(const pack_job *job)
{
    char line[1536];
    uint64_t listed = job->skip_count < SKIPS_SHOWN ? job->skip_count : SKIPS_SHOWN;

    for (uint64_t i = 0; i < listed; i++) {
        stk_error_format(&job->skips[i], line, sizeof line);
        tell("stoker pack: skipped: ");
        tell_text(line);
        tell("\n");
    }
    if (job->skip_count > listed)
        tell("stoker pack: skipped: %s more\n", count_text(job->skip_count - listed).text);
}

static void json_summary(const pack_job *job)
{
    json out;

    json_start(&out, stdout);
    json_object(&out, NULL, true);
    json_count(&out, "samples", job->samples_out);
    json_count(&out, "files", job->files_out);
    json_count(&out, "bytes", job->bytes_out);
    json_count(&out, "kept", count_kept(job));
    json_count(&out, "left_out", job->left_out);
    json_count(&out, "skip_count", job->skip_count);
    json_array(&out, "skipped", true);
    for (uint64_t i = 0; i < job->skip_count && i < SKIPS_KEPT && job->skips != NULL; i++) {
        json_object(&out, NULL, false);
        json_error(&out, &job->skips[i]);
        json_end_object(&out);
    }
    json_end_array(&out);
    json_array(&out, "classes", true);
    for (size_t i = 0; i < job->class_count; i++) {
        json_object(&out, NULL, false);
        json_text(&out, "name", job->classes[i]);
        json_end_object(&out);
    }
    json_end_array(&out);
    json_array(&out, "shards", true);
    for (size_t i = 0; i < job->shard_count; i++) {
        const pack_shard *shard = &job->shards[i];

        if (!is_made(shard))
            continue;
        json_object(&out, NULL, false);
        json_text(&out, "path", shard->path);
        json_count(&out, "samples", shard->count - shard->left_out);
        json_count(&out, "bytes", shard->bytes);
        json_bool(&out, "kept", shard->kept);
        json_end_object(&out);
    }
    json_end_array(&out);
    json_end_object(&out);
}

/* What stays of a run that ended early can be gone on from. */
static void tell_how_to_go_on(const pack_job *job, int code)
{
    if (code == EXIT_STOPPED)
        tell("stoker pack: stopped\n");
    if (job->samples_out > 0 && job->skip_count == 0) {
        tell("  Shards with %s of %s samples are complete; --continue goes on from there.\n",
            count_text(job->samples_out).text, count_text(job->sample_count).text);
    }
}

static int pack(pack_job *job, const words *w)
{
    int code = check_settings(job, w);

    if (code == EXIT_DONE)
        code = pack_output_parse(job);
    if (code == EXIT_DONE)
        code = pack_collect(job, w);
    if (code == EXIT_DONE)
        code = pack_group(job);
    if (code == EXIT_DONE)
        code = pack_plan(job);
    if (code != EXIT_DONE)
        return code;
    stop_gently(); /* from here on there may be temporary files */
    code = pack_write(job);
    if (code != EXIT_DONE) {
        tell_how_to_go_on(job, code);
    } else if (job->s.json) {
        json_summary(job);
    } else if (!job->s.quiet) {
        say_summary(job);
    }
    tell_skips(job);
    return code;
}

static int run(const command *self, int argc, char **argv)
{
    pack_job job = {.cmd = self, .mutex = PTHREAD_MUTEX_INITIALIZER};
    int code = EXIT_USAGE;
    words w;

    if (options_read(self, argc, argv, &job.s, &w))
        code = pack(&job, &w);
    pack_fini(&job);
    return code;
}

const command command_pack = {
    .name = "pack",
    .summary = "folders, lists or tables of files into tar shards",
    .usage = "SRC... -o NAME [options]",
    .about =
        "Packs files into WebDataset tar shards, each with its index. Every SRC is\n"
        "  - a folder: all files below it; if it has sub-folders with files, each of those is a\n"
        "    class, and samples get a member cls with its number;\n"
        "  - a table, *.csv: columns path and, if you like, label and key, named in the first\n"
        "    row; cells may be quoted (RFC 4180);\n"
        "  - a list, *.txt, *.lst, *.list, a name without extension, or -: one path a line;\n"
        "  - another file: itself.\n"
        "Files of one key (a.jpg, a.json) are one sample. The names of the classes are written\n"
        "to classes.txt beside the shards, one a line, in the order of their numbers.\n"
        "\n"
        "The same input gives the same shards, bit for bit. A shard gets its name when it is\n"
        "complete and on the disk: a run that is killed leaves nothing half, and --continue\n"
        "goes on where it was.",
    .examples = "stoker pack photos/ -o shards/train-%06d.tar --shuffle --seed 7\n"
                "stoker pack train.csv -o train-%06d.tar --shard-samples 10000\n"
                "find . -name '*.jpg' | sort | stoker pack - -o all.tar --shard-count 1\n"
                "stoker pack val/ -o shards/val-%06d.tar --classes shards/classes.txt",
    .options = options,
    .option_count = COUNT_OF(options),
    .run = run,
};
