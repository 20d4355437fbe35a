/*
 * From the name of a file in a folder to a key and a field.
 *
 * A tar's names were given by whoever made it for training. Those of a folder come from cameras,
 * dates, versions and exporters (2020.01.01.jpg, cat.0.jpg, street.rf.0a1b2c.jpg), and
 * torchvision's ImageFolder takes each of such files as a picture. So here the last dot ends the
 * key, unless what stands before it is a word that tells fields of one sample apart.
 */
#include <string.h>

#include <stoker/archive.h>

#include "base/compiler.h"

/* What a field is, in front of its format: a.seg.png beside a.jpg. */
static const char *const roles[] = {"alpha", "annotation", "bbox", "caption", "cls", "depth",
    "edge", "flow", "gt", "input", "instance", "keypoints", "label", "mask", "meta", "normal",
    "output", "panoptic", "seg", "semantic", "target"};

/* A format in front of another: a.jpg.json beside a.jpg, a.json.gz. */
static const char *const pictures[] = {
    "bmp", "gif", "jpeg", "jpg", "pgm", "png", "ppm", "tif", "tiff", "webp"};
static const char *const others[] = {
    "bin", "csv", "json", "nii", "npy", "npz", "pkl", "pt", "pth", "tar", "txt", "xml"};

/* Letters of ASCII in either case, whatever the locale. */
static bool is_word(stk_view word, const char *lower)
{
    const char *p = word.data;

    if (strlen(lower) != word.size)
        return false;
    for (size_t i = 0; i < word.size; i++)
        if ((p[i] >= 'A' && p[i] <= 'Z' ? p[i] - 'A' + 'a' : p[i]) != lower[i])
            return false;
    return true;
}

static bool is_one_of(stk_view word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_word(word, words[i]))
            return true;
    return false;
}

/* May this word stand in front of the last one of a field? */
static bool is_of_field(stk_view word, bool last_is_picture)
{
    if (is_one_of(word, roles, STK__COUNT_OF(roles)))
        return true;
    return !last_is_picture && (is_one_of(word, pictures, STK__COUNT_OF(pictures)) ||
                                   is_one_of(word, others, STK__COUNT_OF(others)));
}

bool stk_file_name_split(stk_view name, stk_view *key_out, stk_view *field_out)
{
    const char *p = name.data, *slash, *base, *dot, *end = p + name.size;
    stk_view last;
    bool picture;

    if (name.size == 0)
        return false;
    slash = memrchr(p, '/', name.size);
    base = slash == NULL ? p : slash + 1;
    if (!stk_name_split((stk_view){base, (size_t)(end - base)}, key_out, field_out))
        return false;
    dot = memrchr(base, '.', (size_t)(end - base)); /* there is one, and not in front */
    last = (stk_view){dot + 1, (size_t)(end - dot - 1)};
    picture = is_one_of(last, pictures, STK__COUNT_OF(pictures));
    for (;;) {
        const char *before = memrchr(base, '.', (size_t)(dot - base));

        if (before == NULL || before == base ||
            !is_of_field((stk_view){before + 1, (size_t)(dot - before - 1)}, picture))
            break;
        dot = before;
    }
    *key_out = (stk_view){p, (size_t)(dot - p)};
    *field_out = (stk_view){dot + 1, (size_t)(end - dot - 1)};
    return true;
}
