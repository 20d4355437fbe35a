/*
 * Statuses, stages and errors: see error.h and <stoker/base.h>.
 *
 * Texts are cut at the size of their array. Names of files keep their tail, since that is what
 * tells two of them apart; user and password of a URL and its query are left out.
 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define STK__CURE_OF_SHARD                                                                     \
    "To use what stands before the damage: stoker.open(..., skip_damaged_shards=True), whose " \
    "result a Loader takes. To list it all: stoker verify."

/* Of one that is none from its first byte on. */
#define STK__CURE_OF_NO_SHARD                                                                \
    "To go on without this one: stoker.open(..., skip_damaged_shards=True), whose result a " \
    "Loader takes. To list it all: stoker verify."

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
        return "Name what each sample has, as in Image(\"jpg;png\"); stoker ls -l shows it. To go "
               "on "
               "without such samples: on_error=\"skip\".";
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

/* A pattern that nothing matches looks like a missing file, but for its name. */
static const char *cure_of_source(const stk_error *err)
{
    switch (err->os_errno) {
    case 0: /* the system found nothing wrong: the text says all */
        return "";
    case EACCES:
    case EPERM:
        return err->stage == STK_STAGE_WRITE
                   ? "Choose a place that this user may write to, or change its mode (chmod u+w)."
               : err->stage == STK_STAGE_MEMBER /* of a folder tree */
                   ? "Let this user read it (chmod a+r; folders a+rx), or leave it out: "
                     "stoker.open(..., skip_damaged_shards=True), whose result a Loader takes."
                   : "Let this user read it (chmod a+r; folders a+rx), or run as its owner.";
    case ENOENT:
        if (strpbrk(err->source, "*?[") != NULL)
            return "Look at what is there with ls; relative patterns begin in the working folder.";
        break;
    case ENOSPC:
    case EDQUOT:
        return "Make room on that disk, or choose another.";
    case EMFILE:
    case ENFILE:
        return "Raise the number of open files (ulimit -n).";
    default:
        break;
    }
    return stk_status_cure(err->status);
}

const char *stk_error_cure(const stk_error *err)
{
    switch (err->status) {
    case STK_ESOURCE:
        return cure_of_source(err);
    case STK_ECORRUPT:
        if (err->stage == STK_STAGE_OPEN || err->stage == STK_STAGE_MEMBER) /* of no sample yet */
            return err->has_offset && err->offset == 0 ? STK__CURE_OF_NO_SHARD : STK__CURE_OF_SHARD;
        break;
    case STK_ENOTSUP:
        if (err->stage == STK_STAGE_MEMBER)
            return STK__CURE_OF_SHARD;
        if (err->stage == STK_STAGE_OPEN && err->source[0] != '\0' && err->key[0] == '\0' &&
            err->field[0] == '\0') /* a compressed shard: the text says how to unpack it */
            return "";
        break;
    case STK_EFIELD:
        if (err->stage == STK_STAGE_OPEN && err->source[0] != '\0') /* twice in one sample */
            return STK__CURE_OF_SHARD;
        if (err->stage == STK_STAGE_NONE && err->field[0] == '\0' && err->key[0] != '\0')
            return "stoker ls lists the keys.";
        break;
    case STK_ELIMIT:
        if (!err->has_offset && strchr(err->source, '{') != NULL) /* of a pattern */
            return "Give several smaller patterns, or * in place of the numbers.";
        break;
    default:
        break;
    }
    return stk_status_cure(err->status);
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
    stk_error made = STK_ERROR_INIT;

    if (err == NULL)
        return;
    made.status = st;
    if (offset != NULL) {
        made.has_offset = true;
        made.offset = *offset;
    }
    STK_IGNORE(vsnprintf(made.text, sizeof made.text, format, args) < 0); /* cut when too long */
    *err = made; /* last: a text of the former error may be among the arguments */
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

/* Is this byte of UTF-8 one that no character begins with? */
static bool continues(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

/* Keep the head, and no part of a character that is cut through. */
static void fill_head(char *dst, size_t capacity, stk_view text)
{
    const char *from = text.data;
    size_t length = text.size;

    if (dst[0] != '\0' || length == 0)
        return;
    if (length > capacity - 1) {
        length = capacity - 1;
        for (int i = 0; i < 3 && continues(from[length]); i++)
            length--;
    }
    memcpy(dst, from, length);
    dst[length] = '\0';
}

/* Keep the tail: "...very/long/path/train-000012.tar". */
static void fill_tail(char *dst, size_t capacity, const char *text, size_t length)
{
    const char *from = text;

    if (dst[0] != '\0')
        return;
    if (length > capacity - 1) {
        from += length - (capacity - 4);
        for (int i = 0; i < 3 && continues(*from); i++)
            from++;
        memcpy(dst, "...", 3);
        dst += 3;
    }
    memcpy(dst, from, (size_t)(text + length - from));
    dst[text + length - from] = '\0';
}

/* Where the host of a URL begins; 0 for a path. */
static size_t host_of(const char *source)
{
    size_t scheme =
        strspn(source, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");

    return scheme > 0 && strncmp(source + scheme, "://", 3) == 0 ? scheme + 3 : 0;
}

/* A path as it is; of a URL neither user and password nor the query, which may hold credentials. */
static void fill_source(char *dst, size_t capacity, const char *source)
{
    size_t host = host_of(source), path, end;

    if (host == 0) {
        fill_tail(dst, capacity, source, strlen(source));
        return;
    }
    path = host + strcspn(source + host, "/?#");
    end = path + strcspn(source + path, "?#");
    while (path > host && source[path - 1] != '@')
        path--; /* now behind the user, or where the host begins */
    if (dst[0] == '\0' && host + (end - path) < capacity) {
        memcpy(dst, source, host);
        memcpy(dst + host, source + path, end - path);
        dst[host + (end - path)] = '\0';
    } else {
        fill_tail(dst, capacity, source + path, end - path);
    }
}

stk_status stk__error_in(stk_status st, const stk__place *place, stk_error *err)
{
    if (st >= 0 || err == NULL)
        return st;
    if (err->stage == STK_STAGE_NONE)
        err->stage = place->stage;
    if (place->source != NULL && err->source[0] == '\0') {
        fill_source(err->source, sizeof err->source, place->source);
        if (err->has_offset)
            err->offset += place->base;
    }
    if (place->shard != NULL)
        fill_tail(err->shard, sizeof err->shard, place->shard, strlen(place->shard));
    fill_head(err->key, sizeof err->key, place->key);
    fill_head(err->field, sizeof err->field, place->field);
    if (err->sample == UINT64_MAX && place->sample != 0)
        err->sample = place->sample - 1;
    return st;
}

/* Add a text that came from a file: what would break the line or steer a terminal becomes '?'. */
static void put_plain(stk__text *out, const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        stk__text_put(out, "%c", c < 0x20 || c == 0x7f ? '?' : c);
    }
}

/* One more part of the place: " (" before the first of them, ", " before the others. */
static void put_part(stk__text *out, const char **gap, const char *name, const char *text)
{
    if (text[0] == '\0')
        return;
    stk__text_put(out, "%s%s", *gap, name);
    put_plain(out, text);
    *gap = ", ";
}

size_t stk_error_format(const stk_error *err, char *line, size_t capacity)
{
    stk__text out = {.data = line, .capacity = capacity};
    const char *gap = " (";
    char offset[32] = "";

    if (err->has_offset)
        stk__text_grouped(err->offset, offset, sizeof offset);
    put_plain(&out, err->text[0] != '\0' ? err->text : stk_status_text(err->status));
    put_part(&out, &gap, "", err->shard[0] != '\0' ? err->shard : err->source);
    put_part(&out, &gap, "sample ", err->key);
    put_part(&out, &gap, "field ", err->field);
    put_part(&out, &gap, "byte ", offset);
    put_part(&out, &gap, "stage ", stk_stage_name(err->stage));
    if (gap[0] == ',')
        stk__text_put(&out, ")");
    return out.needed;
}
