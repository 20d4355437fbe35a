/* The loader that bench and plan ask about: see feed.h. */
#include "feed.h"

#include <stdio.h>
#include <string.h>

#include "cli.h"

static bool has_field(const stk_dataset *dataset, const char *name)
{
    uint32_t count = stk_dataset_field_count(dataset);

    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(stk_dataset_field(dataset, i), name) == 0)
            return true;
    }
    return false;
}

/* The extensions of pictures that the dataset has, as "jpg;png". */
static void guess_image(const stk_dataset *dataset, char *names, size_t capacity)
{
    static const char *const known[] = {"jpg", "jpeg", "png", "webp"};
    size_t used = 0;

    names[0] = '\0';
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        int length;

        if (!has_field(dataset, known[i]))
            continue;
        length = snprintf(names + used, capacity - used, "%s%s", used > 0 ? ";" : "", known[i]);
        used += length > 0 ? (size_t)length : 0;
    }
}

static stk_transform *add(feed *f, stk_transform_kind kind, const feed_settings *s)
{
    stk_transform *t = &f->transforms[f->fields[0].transform_count++];

    *t = (stk_transform)STK_TRANSFORM_INIT; /* NOLINT(*EnumCastOutOfRange): 0 until the next line */
    t->kind = kind;
    t->height = t->width = (uint32_t)s->size;
    return t;
}

static void choose_transforms(feed *f, const feed_settings *s)
{
    /* of ImageNet, as torchvision's documentation has them */
    static const float mean[3] = {0.485f, 0.456f, 0.406f}, std[3] = {0.229f, 0.224f, 0.225f};

    if (s->transforms == FEED_RRC) {
        add(f, STK_RANDOM_RESIZED_CROP, s);
        add(f, STK_RANDOM_HORIZONTAL_FLIP, s);
    } else if (s->transforms == FEED_RESIZE) {
        add(f, STK_RESIZE, s)->width = 0; /* the short side */
        add(f, STK_CENTER_CROP, s);
    }
    if (s->normalize) {
        stk_transform *t = add(f, STK_NORMALIZE, s);
        memcpy(t->mean, mean, sizeof mean);
        memcpy(t->std, std, sizeof std);
    }
}

static void choose_image(feed *f, const feed_settings *s)
{
    static const stk_dtype dtypes[] = {STK_U8, STK_F16, STK_BF16, STK_F32};
    stk_field_spec *image = &f->fields[0];

    *image = (stk_field_spec)STK_FIELD_SPEC_INIT;
    image->name = "image";
    image->source = f->image_names;
    image->kind = STK_FIELD_IMAGE;
    image->layout = s->layout == 0 ? STK_NCHW : STK_NHWC;
    image->dtype = s->dtype < FEED_DTYPE_AUTO ? dtypes[s->dtype] : s->normalize ? STK_F32 : STK_U8;
    image->orient = s->orient;
    image->transforms = f->transforms;
    choose_transforms(f, s);
}

static void choose_label(feed *f, const char *source)
{
    stk_field_spec *label = &f->fields[f->has_image];

    *label = (stk_field_spec)STK_FIELD_SPEC_INIT;
    label->name = "label";
    label->source = source;
    label->kind = STK_FIELD_LABEL;
}

static bool is_none(const char *name)
{
    return name[0] == '\0' || strcmp(name, "none") == 0;
}

static void choose_fields(feed *f, const feed_settings *s, const stk_dataset *dataset)
{
    const char *label = s->label_field != NULL ? s->label_field : "cls";

    if (s->image_field == NULL) {
        guess_image(dataset, f->image_names, sizeof f->image_names);
    } else if (snprintf(f->image_names, sizeof f->image_names, "%s", s->image_field) < 0) {
        f->image_names[0] = '\0';
    }
    f->has_image = !is_none(f->image_names);
    if (f->has_image)
        choose_image(f, s);
    if (s->label_field != NULL) {
        f->has_label = !is_none(label);
    } else {
        f->has_label = has_field(dataset, "cls") || stk_dataset_class_count(dataset) > 0;
    }
    if (f->has_label)
        choose_label(f, label);
}

void feed_init(feed *f, const feed_settings *s, const stk_dataset *dataset)
{
    *f = (feed){.options = STK_LOADER_OPTIONS_INIT};
    choose_fields(f, s, dataset);
    f->options.fields = f->fields;
    f->options.field_count = (size_t)f->has_image + f->has_label;
    f->options.batch_size = (uint32_t)s->batch_size;
    f->options.shuffle = (stk_shuffle)s->shuffle;
    f->options.shuffle_window = (uint32_t)s->shuffle_window;
    f->options.seed = s->seed;
    f->options.rank = (uint32_t)s->rank;
    f->options.world_size = (uint32_t)s->world_size;
    f->options.tail = (stk_tail)s->tail;
    f->options.allow_empty = true; /* nobody waits in a collective here */
    f->options.threads = s->threads == FEED_THREADS_AUTO ? STK_THREADS_AUTO : (int32_t)s->threads;
    f->options.io_threads = (int32_t)s->io_threads;
    f->options.prefetch = (uint32_t)s->prefetch;
    f->options.memory_bytes = s->memory;
    f->options.on_error = (stk_on_error)s->on_error;
}

void feed_describe(const feed *f, const feed_settings *s, char *line, size_t capacity)
{
    static const char *const transforms[] = {"random resized crop and flip", "resize and crop", ""};
    const stk_field_spec *image = &f->fields[0];
    int length;

    if (!f->has_image) {
        length =
            snprintf(line, capacity, "%s", f->has_label ? "labels only" : "all fields as bytes");
    } else if (s->transforms == FEED_NONE) {
        length =
            snprintf(line, capacity, "pictures as stored, %s, %s%s", stk_dtype_name(image->dtype),
                image->layout == STK_NCHW ? "NCHW" : "NHWC", s->normalize ? ", normalized" : "");
    } else {
        length = snprintf(line, capacity, "%s to %llu x %llu, %s, %s%s", transforms[s->transforms],
            (unsigned long long)s->size, (unsigned long long)s->size, stk_dtype_name(image->dtype),
            image->layout == STK_NCHW ? "NCHW" : "NHWC", s->normalize ? ", normalized" : "");
    }
    if (length < 0)
        line[0] = '\0';
}
