/*
 * Which samples the files make: files of one key are one sample, keys are unique, labels become
 * numbers.
 *
 * Files keep the order in which they were collected: a sample stands where its first file stood,
 * and its files are in the order of their fields. Two samples of one key cannot both be written, so
 * that is an error that names both files.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <stoker/codec.h>

#include "out_human.h"
#include "out_json.h"
#include "pack.h"

stk_view pack_key(const pack_job *job, const pack_sample *sample)
{
    const pack_file *file = &job->files[sample->first];

    return (stk_view){file->name, file->key_size};
}

static const char *field_of(const pack_file *file)
{
    return file->name + file->key_size + 1;
}

static int compare_keys(const pack_file *a, const pack_file *b)
{
    uint32_t shorter = a->key_size < b->key_size ? a->key_size : b->key_size;
    int order = memcmp(a->name, b->name, shorter);

    return order != 0 ? order : (a->key_size > b->key_size) - (a->key_size < b->key_size);
}

static int by_key(const void *a, const void *b)
{
    const pack_file *x = a, *y = b;
    int order = compare_keys(x, y);

    if (order == 0)
        order = strcmp(field_of(x), field_of(y));
    return order != 0 ? order : (x->order > y->order) - (x->order < y->order);
}

static bool same_sample(const pack_file *a, const pack_file *b)
{
    return compare_keys(a, b) == 0;
}

static int tell_both(const pack_job *job, const char *what, const pack_file *a, const pack_file *b)
{
    stk_error err;

    tell("stoker pack: %s ", what);
    tell_view((stk_view){a->name, a->key_size});
    tell(": ");
    tell_text(a->path);
    tell(" and ");
    tell_text(b->path);
    tell(
        "\n  Keys are unique in a dataset. Give the sources other names, or one of them in another "
        "run.\n");
    error_make(&err, STK_EINVAL, a->path, "%s, also %s", what, b->path);
    if (job->s.json)
        json_failure(&err);
    return EXIT_DATA;
}

/* Files of one key: of one source, and each field once, whatever its case. */
static int check_sample(const pack_job *job, size_t first, size_t end)
{
    const pack_file *files = job->files;

    for (size_t i = first + 1; i < end; i++) {
        if (files[i].source != files[first].source)
            return tell_both(job, "two sources have a sample", &files[first], &files[i]);
        for (size_t k = first; k < i; k++) {
            if (strcasecmp(field_of(&files[k]), field_of(&files[i])) == 0) {
                return tell_both(
                    job, "two files are the same field of sample", &files[k], &files[i]);
            }
        }
        if (files[i].label != NULL && files[first].label != NULL &&
            strcmp(files[i].label, files[first].label) != 0)
            return tell_both(job, "two labels for sample", &files[first], &files[i]);
    }
    return EXIT_DONE;
}

/* Is a field one of --ext? "jpg" means the whole field or its last part. */
static bool wanted(const pack_job *job, const char *field)
{
    const char *ext = job->s.ext;
    const char *dot = strrchr(field, '.');
    size_t size;

    if (ext == NULL)
        return true;
    for (;; ext += size + 1) {
        size = strcspn(ext, ",;");
        if ((strlen(field) == size && strncasecmp(field, ext, size) == 0) ||
            (dot != NULL && strlen(dot + 1) == size && strncasecmp(dot + 1, ext, size) == 0))
            return true;
        if (ext[size] == '\0')
            return false;
    }
}

/* A sample and the place of its first file, for sorting. */
typedef struct placed {
    pack_sample sample;
    uint64_t order;
} placed;

static int by_order(const void *a, const void *b)
{
    const placed *x = a, *y = b;

    return (x->order > y->order) - (x->order < y->order);
}

static bool take_sample(pack_job *job, size_t first, size_t end, placed *out)
{
    bool kept = false, has_label = false, has_cls = false;

    *out =
        (placed){.sample = {.first = first, .count = (uint32_t)(end - first)}, .order = UINT64_MAX};
    for (size_t i = first; i < end; i++) {
        const pack_file *file = &job->files[i];

        kept |= wanted(job, field_of(file));
        has_label |= file->label != NULL;
        has_cls |= strcasecmp(field_of(file), "cls") == 0;
        out->order = file->order < out->order ? file->order : out->order;
    }
    out->sample.adds_label = has_label && !has_cls;
    if (!kept)
        job->left_out += end - first;
    return kept;
}

static int make_samples(pack_job *job)
{
    placed *all = memory_get(NULL, job->file_count, sizeof *all);
    size_t count = 0;
    int code = EXIT_DONE;

    if (job->file_count > 0)
        qsort(job->files, job->file_count, sizeof *job->files, by_key);
    for (size_t first = 0, end; first < job->file_count && code == EXIT_DONE; first = end) {
        for (end = first + 1; end < job->file_count; end++) {
            if (!same_sample(&job->files[first], &job->files[end]))
                break;
        }
        code = check_sample(job, first, end);
        count += take_sample(job, first, end, &all[count]);
    }
    if (code == EXIT_DONE) {
        if (count > 0)
            qsort(all, count, sizeof *all, by_order);
        job->samples = memory_get(NULL, count, sizeof *job->samples);
        for (size_t i = 0; i < count; i++)
            job->samples[i] = all[i].sample;
        job->sample_count = count;
    }
    free(all);
    return code;
}

/* The label of a sample, and the file that brought it. */
static const pack_file *label_of(const pack_job *job, const pack_sample *sample)
{
    for (uint32_t i = 0; i < sample->count; i++) {
        if (job->files[sample->first + i].label != NULL)
            return &job->files[sample->first + i];
    }
    return NULL;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void pack_add_class(pack_job *job, const char *name)
{
    job->classes = (const char **)memory_more(
        (void *)job->classes, job->class_count, &job->class_capacity, sizeof *job->classes);
    job->classes[job->class_count++] = name;
}

static int read_classes(pack_job *job)
{
    stk_error err = STK_ERROR_INIT;
    stk_view text;
    const char *line, *end;

    if (pack_read_text(job, job->s.classes, &text, &err) < 0)
        return fail_plainly(&err, job->s.json);
    line = text.data;
    end = line + text.size;
    job->class_count = 0;
    while (line < end) {
        size_t size = strcspn(line, "\n");

        if (size > 0)
            pack_add_class(job, pack_keep(job, (stk_view){line, size}));
        line += size + 1;
    }
    return EXIT_DONE;
}

/* The class folders and all names met, sorted by bytes, each once. */
static void gather_classes(pack_job *job)
{
    size_t kept = 0;

    for (size_t i = 0; i < job->sample_count; i++) {
        const pack_file *file = label_of(job, &job->samples[i]);

        /* in a tree neighbours share a class: do not keep millions of names */
        if (file != NULL &&
            (job->class_count == 0 || strcmp(job->classes[job->class_count - 1], file->label) != 0))
            pack_add_class(job, file->label);
    }
    if (job->class_count > 0)
        qsort((void *)job->classes, job->class_count, sizeof *job->classes, by_text);
    for (size_t i = 0; i < job->class_count; i++) {
        if (kept == 0 || strcmp(job->classes[kept - 1], job->classes[i]) != 0)
            job->classes[kept++] = job->classes[i];
    }
    job->class_count = kept;
}

/* A class by name, in a copy of the classes sorted by name. */
typedef struct named_class {
    const char *name;
    int64_t number;
} named_class;

static int by_class_name(const void *a, const void *b)
{
    return strcmp(((const named_class *)a)->name, ((const named_class *)b)->name);
}

static int number_names(pack_job *job)
{
    named_class *table;
    int code = EXIT_DONE;

    if (job->s.classes != NULL) {
        code = read_classes(job); /* instead of the folders' own */
    } else {
        gather_classes(job);
    }
    table = memory_get(NULL, job->class_count, sizeof *table);
    for (size_t i = 0; i < job->class_count; i++)
        table[i] = (named_class){job->classes[i], (int64_t)i};
    if (job->class_count > 0)
        qsort(table, job->class_count, sizeof *table, by_class_name);
    for (size_t i = 0; i < job->sample_count && code == EXIT_DONE; i++) {
        const pack_file *file = label_of(job, &job->samples[i]);
        const named_class *found;

        if (file == NULL)
            continue;
        found = bsearch(
            &(named_class){file->label, 0}, table, job->class_count, sizeof *table, by_class_name);
        if (found == NULL) {
            stk_error err;
            error_make(&err, STK_ECORRUPT, file->path, "class '%s' is not in %s", file->label,
                job->s.classes);
            code = fail_plainly(&err, job->s.json);
        } else {
            job->samples[i].label = found->number;
        }
    }
    free(table);
    return code;
}

static int read_numbers(pack_job *job)
{
    job->class_count = 0; /* folders are numbers, and have no names */
    for (size_t i = 0; i < job->sample_count; i++) {
        const pack_file *file = label_of(job, &job->samples[i]);
        stk_error err;

        if (file == NULL)
            continue;
        if (stk_text_integer(
                (stk_view){file->label, strlen(file->label)}, &job->samples[i].label, NULL) < 0) {
            error_make(&err, STK_ECORRUPT, file->path,
                "label '%s' is no number; if labels are names: --labels name", file->label);
            return fail_plainly(&err, job->s.json);
        }
    }
    return EXIT_DONE;
}

/* --labels auto: numbers if the first one of a CSV is a number; class folders are names. */
static bool labels_are_numbers(const pack_job *job)
{
    if (job->s.labels != LABELS_AUTO)
        return job->s.labels == LABELS_NUMBER;
    if (job->s.classes != NULL || !job->labels_of_csv)
        return false;
    for (size_t i = 0; i < job->sample_count; i++) {
        const pack_file *file = label_of(job, &job->samples[i]);
        int64_t number;

        if (file != NULL) {
            return stk_text_integer((stk_view){file->label, strlen(file->label)}, &number, NULL) ==
                   STK_OK;
        }
    }
    return false;
}

int pack_group(pack_job *job)
{
    int code = make_samples(job);
    stk_error err;

    if (code != EXIT_DONE)
        return code;
    if (job->sample_count == 0) {
        error_make(&err, STK_ESOURCE, "", "the sources hold no file that is part of a sample%s%s",
            job->s.ext != NULL ? " with an extension of --ext " : "",
            job->s.ext != NULL ? job->s.ext : "");
        return fail_plainly(&err, job->s.json);
    }
    if (job->s.labels == LABELS_NONE)
        return EXIT_DONE;
    return labels_are_numbers(job) ? read_numbers(job) : number_names(job);
}
