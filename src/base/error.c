/*
 * Statuses, stages and errors: see error.h and <stoker/base.h>.
 *
 * Texts are cut at the size of their array. Names of files keep their tail, since that is what
 * tells two of them apart; user and password of a URL and its query are left out.
 */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

const char *stk_status_name(stk_status status)
{
    switch (status) {
#define NAME(number, name, text) \
    case STK_##name:             \
        return "STK_" #name;
        STK_STATUS_LIST(NAME)
#undef NAME
    }
    return "STK_?";
}

const char *stk_status_text(stk_status status)
{
    switch (status) {
#define TEXT(number, name, text) \
    case STK_##name:             \
        return text;
        STK_STATUS_LIST(TEXT)
#undef TEXT
    }
    return "unknown status";
}

const char *stk_status_cure(stk_status status)
{
    switch (status) {
    case STK_ECORRUPT:
        return "To go on without such samples: on_error=\"skip\". To list them all: stoker verify.";
    case STK_ESOURCE:
        return "Check that the path exists, may be read, and that its disk has room.";
    case STK_ENOTSUP:
        return "stoker doctor lists what this build can read.";
    case STK_ELIMIT:
        return "If the data is to be trusted, raise that limit.";
    case STK_ESHAPE:
        return "Give the field a transform that makes every sample the same size, such as Resize "
               "and CenterCrop.";
    case STK_EFIELD:
        return "stoker ls -l shows the fields of each sample.";
    case STK_ESTATE:
        return "Open the loader with the dataset and options that the state was saved with.";
    case STK_EINDEX:
        return "Make it anew: stoker index --force.";
    case STK_EBUDGET:
        return "loader.damage lists every loss; stoker verify finds them all.";
    case STK_EBUSY:
        return "Let go of batches that are kept, copy what you need of them, or raise memory.";
    case STK_ENOMEM:
        return "Raise memory, or lower batch_size or prefetch.";
    case STK_EFORK:
        return "Open the loader in the process that uses it.";
    case STK_EEXIST:
        return "Choose another name, or remove it first.";
    default:
        return "";
    }
}

const char *stk_stage_name(stk_stage stage)
{
    switch (stage) {
#define NAME(name, text)   \
    case STK_STAGE_##name: \
        return text;
        STK_STAGE_LIST(NAME)
#undef NAME
    case STK_STAGE_COUNT:
        break;
    }
    return "";
}

const char *stk_version(void)
{
    return STK__VERSION;
}

STK__PRINTF(4, 0)

static void record(
    stk_error *err, stk_status st, const uint64_t *offset, const char *format, va_list args)
{
    if (err == NULL)
        return;
    *err = (stk_error)STK_ERROR_INIT;
    err->status = st;
    if (offset != NULL) {
        err->has_offset = true;
        err->offset = *offset;
    }
    STK_IGNORE(vsnprintf(err->text, sizeof err->text, format, args)); /* cut when too long */
}

void stk__error_set(stk_error *err, stk_status st, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    record(err, st, NULL, format, args);
    va_end(args);
}

void stk__error_set_at(stk_error *err, stk_status st, uint64_t offset, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    record(err, st, &offset, format, args);
    va_end(args);
}

void stk__error_set_os(stk_error *err, stk_status st, int os_errno, const char *format, ...)
{
    char why[96];
    size_t used;
    va_list args;

    va_start(args, format);
    record(err, st, NULL, format, args);
    va_end(args);
    if (err == NULL)
        return;
    err->os_errno = os_errno;
    stk__text_errno(os_errno, why, sizeof why);
    used = strlen(err->text);
    STK_IGNORE(snprintf(err->text + used, sizeof err->text - used, ": %s", why) < 0); /* cut */
}

/* Keep the tail: "...very/long/path/train-000012.tar". */
static void fill_tail(char *dst, size_t capacity, const char *text)
{
    size_t length = strlen(text);

    if (dst[0] != '\0')
        return;
    if (length < capacity) {
        memcpy(dst, text, length + 1);
    } else {
        memcpy(dst, "...", 3);
        memcpy(dst + 3, text + (length - (capacity - 4)), capacity - 3);
    }
}

static void fill_view(char *dst, size_t capacity, stk_view text)
{
    size_t length = text.size < capacity - 1 ? text.size : capacity - 1;

    if (dst[0] != '\0' || length == 0)
        return;
    memcpy(dst, text.data, length);
    dst[length] = '\0';
}

stk_status stk__error_in(stk_status st, const stk__place *place, stk_error *err)
{
    if (st >= 0 || err == NULL)
        return st;
    if (err->stage == STK_STAGE_NONE)
        err->stage = place->stage;
    if (place->source != NULL && err->source[0] == '\0') {
        fill_tail(err->source, sizeof err->source, place->source);
        if (err->has_offset)
            err->offset += place->base;
    }
    if (place->shard != NULL)
        fill_tail(err->shard, sizeof err->shard, place->shard);
    fill_view(err->key, sizeof err->key, place->key);
    fill_view(err->field, sizeof err->field, place->field);
    if (err->sample == UINT64_MAX && place->sample != 0)
        err->sample = place->sample - 1;
    return st;
}

size_t stk_error_format(const stk_error *err, char *line, size_t capacity)
{
    stk__text out = {.data = line, .capacity = capacity};
    const char *place = err->shard[0] != '\0' ? err->shard : err->source;
    const char *gap = " (";

    stk__text_put(&out, "%s", err->text[0] != '\0' ? err->text : stk_status_text(err->status));
    if (place[0] != '\0') {
        stk__text_put(&out, "%s%s", gap, place);
        gap = ", ";
    }
    if (err->key[0] != '\0') {
        stk__text_put(&out, "%ssample %s", gap, err->key);
        gap = ", ";
    }
    if (err->field[0] != '\0') {
        stk__text_put(&out, "%sfield %s", gap, err->field);
        gap = ", ";
    }
    if (err->has_offset) {
        char number[32];
        stk__text_grouped(err->offset, number, sizeof number);
        stk__text_put(&out, "%sbyte %s", gap, number);
        gap = ", ";
    }
    if (err->stage != STK_STAGE_NONE) {
        stk__text_put(&out, "%sstage %s", gap, stk_stage_name(err->stage));
        gap = ", ";
    }
    if (gap[0] == ',')
        stk__text_put(&out, ")");
    return out.needed;
}
