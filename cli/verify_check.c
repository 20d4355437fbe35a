/*
 * Is one field what its name says, and can it be decoded?
 *
 * Extensions are those that WebDataset's own decoders know. A picture is told by its bytes,
 * whatever its extension; a wrong extension is worth a note, for other readers may believe it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <stoker/codec.h>

#include "cli.h"
#include "out_human.h"
#include "verify.h"

enum { KEPT_PIXELS = 64 << 20 }; /* bytes of scratch that stay between two pictures */

typedef enum content {
    CONTENT_UNKNOWN,
    CONTENT_IMAGE,
    CONTENT_NPY,
    CONTENT_JSON,
    CONTENT_TEXT,
    CONTENT_INTEGER,
} content;

typedef struct extension {
    const char *name;
    content content;
    const char *format; /* of stk_image_info, or NULL: this build has no decoder of that name */
} extension;

static const extension extensions[] = {
    {"jpg", CONTENT_IMAGE, "jpeg"},
    {"jpeg", CONTENT_IMAGE, "jpeg"},
    {"jpe", CONTENT_IMAGE, "jpeg"},
    {"jfif", CONTENT_IMAGE, "jpeg"},
    {"png", CONTENT_IMAGE, "png"},
    {"webp", CONTENT_IMAGE, "webp"},
    {"npy", CONTENT_NPY, NULL},
    {"json", CONTENT_JSON, NULL},
    {"jsn", CONTENT_JSON, NULL},
    {"txt", CONTENT_TEXT, NULL},
    {"text", CONTENT_TEXT, NULL},
    {"transcript", CONTENT_TEXT, NULL},
    {"caption", CONTENT_TEXT, NULL},
    {"cls", CONTENT_INTEGER, NULL},
    {"cls2", CONTENT_INTEGER, NULL},
    {"class", CONTENT_INTEGER, NULL},
    {"count", CONTENT_INTEGER, NULL},
    {"index", CONTENT_INTEGER, NULL},
    {"inx", CONTENT_INTEGER, NULL},
    {"id", CONTENT_INTEGER, NULL},
};

static const extension unknown = {"", CONTENT_UNKNOWN, NULL};

static const extension *extension_of(stk_view field)
{
    const char *dot = memrchr(field.data, '.', field.size);
    const char *end = (const char *)field.data + field.size;
    const char *name = dot == NULL ? field.data : dot + 1;
    size_t size = (size_t)(end - name);

    for (size_t i = 0; i < COUNT_OF(extensions); i++) {
        if (strlen(extensions[i].name) == size && strncasecmp(extensions[i].name, name, size) == 0)
            return &extensions[i];
    }
    return &unknown;
}

void verify_scratch_fini(verify_scratch *scratch)
{
    free(scratch->pixels);
    *scratch = (verify_scratch){NULL, 0};
}

static stk_status room_for(verify_scratch *scratch, uint64_t need, stk_error *err)
{
    if (scratch->capacity > KEPT_PIXELS && need <= KEPT_PIXELS)
        verify_scratch_fini(scratch);
    if (need <= scratch->capacity)
        return STK_OK;
    verify_scratch_fini(scratch);
    scratch->pixels = need < SIZE_MAX ? malloc((size_t)need) : NULL;
    if (scratch->pixels == NULL) {
        return error_make(
            err, STK_ENOMEM, "", "no memory for a picture of %s", bytes_text(need).text);
    }
    scratch->capacity = (size_t)need;
    return STK_OK;
}

static stk_status decode_image(
    verify_scratch *scratch, stk_view bytes, const stk_image_info *info, stk_error *err)
{
    uint64_t pitch = (uint64_t)info->width * 3;
    stk_image image;
    stk_status st = room_for(scratch, pitch * info->height, err);

    if (st < 0)
        return st;
    image = (stk_image){scratch->pixels, (size_t)pitch, info->width, info->height};
    return stk_image_decode(bytes, NULL, NULL, &image, err);
}

/* What this build cannot read is no damage, and is not called checked either. */
static stk_status not_read(stk_status st, char *note_out, const stk_error *err)
{
    if (st != STK_ENOTSUP)
        return st;
    if (snprintf(note_out, NOTE_BYTES, "not decoded: %s", err->text) < 0)
        note_out[0] = '\0';
    return STK_OK;
}

static stk_status check_image(verify_scratch *scratch, const extension *ext, stk_view bytes,
    const stk_image_info *info, char *note_out, stk_error *err)
{
    stk_status st = not_read(decode_image(scratch, bytes, info, err), note_out, err);

    if (st >= 0 && note_out[0] == '\0' && ext->content != CONTENT_UNKNOWN &&
        (ext->format == NULL || strcmp(ext->format, info->format) != 0) &&
        snprintf(note_out, NOTE_BYTES, "field %s holds a %s picture", ext->name, info->format) < 0)
        note_out[0] = '\0';
    return st;
}

static stk_status check_named(content kind, stk_view bytes, char *note_out, stk_error *err)
{
    stk_npy_info npy;
    int64_t number;

    switch (kind) {
    case CONTENT_NPY: /* the header and the size: reading it is then a copy */
        return not_read(stk_npy_probe(bytes, NULL, &npy, err), note_out, err);
    case CONTENT_JSON:
        return stk_json_check(bytes, NULL, err);
    case CONTENT_TEXT:
        return stk_text_utf8(bytes, err);
    case CONTENT_INTEGER:
        return stk_text_integer(bytes, &number, err);
    default:
        return STK_OK;
    }
}

stk_status verify_field(
    verify_scratch *scratch, stk_view field, stk_view bytes, char *note_out, stk_error *err)
{
    static const char npy_magic[] = "\x93NUMPY";
    const extension *ext = extension_of(field);
    stk_image_info info;
    stk_status st;

    note_out[0] = '\0';
    if (ext->content == CONTENT_UNKNOWN && bytes.size >= 6 && memcmp(bytes.data, npy_magic, 6) == 0)
        return check_named(CONTENT_NPY, bytes, note_out, err);
    st = stk_image_probe(bytes, NULL, &info, err);
    if (st == STK_OK)
        return check_image(scratch, ext, bytes, &info, note_out, err);
    if (ext->content == CONTENT_IMAGE || (ext->content == CONTENT_UNKNOWN && st == STK_ENOTSUP))
        return not_read(st, note_out, err);
    return check_named(ext->content, bytes, note_out, err);
}
