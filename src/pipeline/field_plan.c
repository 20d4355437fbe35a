/*
 * Fields resolved against the dataset: see field_plan.h.
 *
 * Nothing here runs per batch. The first readable sample is looked at only where a shape is open: a
 * picture without a transform that fixes its size, or an array.
 */
#include "pipeline/field_plan.h"

#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "codec/codec.h"
#include "dataset/dataset.h"
#include "pipeline/worker.h"

/* Samples looked at for a shape before giving up: damage at the front must not hide the rest. */
#define PROBE_SAMPLES 64

/* Ragged fields: samples looked at for the mean, and bounds of the first room of a batch. */
#define RAGGED_FRONT       256u
#define RAGGED_CHEAP_BYTES ((uint64_t)4 << 20)
#define RAGGED_START_BYTES ((uint64_t)64 << 20)

static stk_status copy_text(stk__heap *heap, const char *text, char **copy_out, stk_error *err)
{
    *copy_out = stk__heap_text(heap, text, strlen(text));
    return *copy_out != NULL ? STK_OK : STK_FAIL(err, STK_ENOMEM, "no memory for a field");
}

/* Number of the field called by text[0, length) in the dataset; UINT32_MAX if nothing has it. */
static uint32_t find_id(const stk_dataset *dataset, const char *text, size_t length)
{
    uint32_t count = stk_dataset_field_count(dataset);

    for (uint32_t i = 0; i < count; i++) {
        const char *name = stk_dataset_field(dataset, i);
        if (strlen(name) == length && memcmp(name, text, length) == 0)
            return i;
    }
    return UINT32_MAX;
}

/* The alternatives of a field that anything in the dataset has, in the order declared. */
static stk_status resolve(
    stk__field *field, const stk_dataset *dataset, const char *source, stk_error *err)
{
    const char *at = source;

    while (*at != '\0') {
        size_t length = strcspn(at, "; ");
        uint32_t id = length > 0 ? find_id(dataset, at, length) : UINT32_MAX;

        if (id != UINT32_MAX) {
            uint64_t bytes = stk_dataset_field_max_bytes(dataset, id);
            if (field->id_count == STK__FIELD_MAX_SOURCES)
                return STK_FAIL(err, STK_EINVAL, "field %s has more than %d alternatives",
                    field->name, STK__FIELD_MAX_SOURCES);
            field->ids[field->id_count++] = id;
            if (bytes > field->max_bytes)
                field->max_bytes = bytes;
        }
        at += length;
        at += strspn(at, "; ");
    }
    return STK_OK;
}

/* A list of what the dataset has, for errors. */
static void list_fields(const stk_dataset *dataset, char *text, size_t capacity)
{
    uint32_t count = stk_dataset_field_count(dataset);
    size_t used = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < count && i < 12; i++) {
        const char *name = stk_dataset_field(dataset, i);
        size_t length = strlen(name);
        if (used + length + 3 > capacity)
            break;
        if (i > 0) {
            memcpy(text + used, ", ", 2);
            used += 2;
        }
        memcpy(text + used, name, length + 1);
        used += length;
    }
}

static stk_status nothing_has_it(
    const stk_dataset *dataset, const stk__field *field, stk_error *err)
{
    char have[128];

    list_fields(dataset, have, sizeof have);
    return STK_FAIL(err, STK_EFIELD, "no sample has %s, which field %s asks for; there is: %s",
        field->source, field->name, have[0] != '\0' ? have : "nothing");
}

static stk_status check_spec(
    const stk_field_spec *spec, size_t nth, const stk_field_spec *all, stk_error *err)
{
    if (spec->struct_bytes != sizeof *spec)
        return STK_FAIL(err, STK_EINVAL, "field %zu: start from STK_FIELD_SPEC_INIT", nth);
    if (spec->name == NULL || spec->name[0] == '\0')
        return STK_FAIL(err, STK_EINVAL, "field %zu has no name", nth);
    for (size_t i = 0; i < nth; i++) {
        if (strcmp(all[i].name, spec->name) == 0)
            return STK_FAIL(err, STK_EINVAL, "two fields are called %s", spec->name);
    }
    if (spec->kind > STK_FIELD_KEY)
        return STK_FAIL(err, STK_EINVAL, "field %s: kind is %d", spec->name, (int)spec->kind);
    if (spec->kind != STK_FIELD_KEY && (spec->source == NULL || spec->source[0] == '\0'))
        return STK_FAIL(err, STK_EINVAL, "field %s names no extension to read", spec->name);
    if (spec->kind != STK_FIELD_IMAGE && (spec->transform_count > 0 || spec->orient))
        return STK_FAIL(
            err, STK_EINVAL, "field %s is no image; it takes no transforms", spec->name);
    if (spec->kind == STK_FIELD_IMAGE && spec->dtype != STK_U8 && spec->dtype != STK_F32 &&
        spec->dtype != STK_F16 && spec->dtype != STK_BF16)
        return STK_FAIL(err, STK_EINVAL,
            "field %s: dtype is %s; an image is uint8, float16, bfloat16 or float32", spec->name,
            stk_dtype_name(spec->dtype));
    if (spec->kind == STK_FIELD_IMAGE && spec->layout != STK_NHWC && spec->layout != STK_NCHW)
        return STK_FAIL(err, STK_EINVAL, "field %s: layout is %d", spec->name, (int)spec->layout);
    if (spec->optional && (spec->kind == STK_FIELD_IMAGE || spec->kind == STK_FIELD_ARRAY ||
                              spec->kind == STK_FIELD_KEY))
        return STK_FAIL(err, STK_EINVAL,
            "field %s: optional is for labels and for bytes, text and JSON", spec->name);
    return STK_OK;
}

static stk_status add_field(stk__field_plan *plan, const stk_field_spec *spec, stk_error *err)
{
    stk__field *field = &plan->fields[plan->count++]; /* zeroed: a half-made one can be freed */
    const char *source = spec->kind == STK_FIELD_KEY ? "" : spec->source;

    STK_TRY(copy_text(plan->heap, spec->name, &field->name, err));
    STK_TRY(copy_text(plan->heap, source, &field->source, err));
    field->kind = spec->kind;
    field->optional = spec->optional;
    field->orient = spec->orient;
    field->layout = spec->layout;
    field->dtype = spec->kind == STK_FIELD_IMAGE   ? spec->dtype
                   : spec->kind == STK_FIELD_LABEL ? STK_I64
                                                   : STK_U8;
    STK_TRY(resolve(field, plan->dataset, source, err));
    field->from_folder =
        spec->kind == STK_FIELD_LABEL && stk_dataset_class_count(plan->dataset) > 0;
    if (field->id_count == 0 && spec->kind != STK_FIELD_KEY && !field->from_folder &&
        !spec->optional)
        return nothing_has_it(plan->dataset, field, err);
    if (field->max_bytes > plan->limits.max_member_bytes)
        return STK_FAIL(err, STK_ELIMIT,
            "the largest member of field %s has %llu bytes; max_member_bytes is %llu", field->name,
            (unsigned long long)field->max_bytes,
            (unsigned long long)plan->limits.max_member_bytes);
    if (!stk__u64_add(plan->max_sample_bytes, field->max_bytes, &plan->max_sample_bytes))
        return STK_FAIL(err, STK_ELIMIT, "the members of one sample are larger than any memory");
    if (spec->kind == STK_FIELD_IMAGE) {
        field->chain_count = spec->transform_count;
        return stk__image_chain_new(plan->heap, spec->transforms, spec->transform_count,
            spec->layout, spec->dtype, &field->chain, err);
    }
    return STK_OK;
}

/* All fields of sample 0, as bytes. */
static stk_status add_default_fields(stk__field_plan *plan, stk_error *err)
{
    stk_sample sample;

    STK_TRY(stk_dataset_sample(plan->dataset, 0, &sample, err));
    plan->fields = stk__heap_zalloc(plan->heap, sample.field_count, sizeof *plan->fields);
    plan->allocated = sample.field_count;
    if (plan->fields == NULL)
        return STK_FAIL(err, STK_ENOMEM, "no memory for the fields of a loader");
    for (uint32_t i = 0; i < sample.field_count; i++) {
        stk_field_spec spec = STK_FIELD_SPEC_INIT;
        stk_sample_field found;

        STK_TRY(stk_dataset_sample_field(plan->dataset, 0, i, &found, err));
        spec.name = stk_dataset_field(plan->dataset, found.field_id);
        spec.source = spec.name;
        STK_TRY(add_field(plan, &spec, err));
    }
    return STK_OK;
}

/* Read a member into a buffer of its own. */
static stk_status read_member(stk__field_plan *plan, const stk__field *field,
    const stk_sample_field *member, stk_span *bytes_out, stk_error *err)
{
    stk_span bytes = {.size = (size_t)member->size_bytes}; /* within max_member_bytes */
    stk_status st;

    bytes.data = stk__heap_alloc(plan->heap, bytes.size, 1);
    if (bytes.data == NULL)
        return STK_FAIL(err, STK_ENOMEM, "no memory for the first sample of field %s", field->name);
    st = stk_dataset_read(plan->dataset, member->source, member->offset, bytes, err);
    if (st < 0) {
        stk__heap_free(plan->heap, bytes.data, bytes.size, 1);
        return st;
    }
    *bytes_out = bytes;
    return STK_OK;
}

static stk_status look_at_image(
    stk__field_plan *plan, stk__field *field, stk_view encoded, stk_error *err)
{
    stk_image_info info;
    uint32_t width, height;

    STK_TRY(stk_image_probe(encoded, &plan->limits, &info, err));
    width = field->orient && info.orientation >= 5 ? info.height : info.width;
    height = field->orient && info.orientation >= 5 ? info.width : info.height;
    plan->probe_width = width;
    plan->probe_height = height;
    return stk__image_chain_shape(field->chain, width, height, &field->width, &field->height, err);
}

static stk_status look_at_array(
    stk__field_plan *plan, stk__field *field, stk_view encoded, stk_error *err)
{
    STK_TRY(stk_npy_probe(encoded, &plan->limits, &field->npy, err));
    if (field->npy.ndim >= STK_TENSOR_MAX_DIMS)
        return STK_FAIL(err, STK_ENOTSUP, "an array of %u axes; a batch has room for %d",
            field->npy.ndim, STK_TENSOR_MAX_DIMS - 1);
    field->dtype = field->npy.dtype;
    return STK_OK;
}

/* Look at one sample; a failure names its place. */
static stk_status look_at(stk__field_plan *plan, stk__field *field, uint64_t sample, stk_error *err)
{
    size_t nth = (size_t)(field - plan->fields);
    stk_sample_field member = {.source = UINT32_MAX};
    stk_span bytes;
    stk_status st =
        stk__dataset_locate(plan->dataset, sample, field->ids, field->id_count, &member, err);

    if (st >= 0)
        st = read_member(plan, field, &member, &bytes, err);
    if (st >= 0) {
        stk_view encoded = {bytes.data, bytes.size};

        st = field->kind == STK_FIELD_IMAGE ? look_at_image(plan, field, encoded, err)
                                            : look_at_array(plan, field, encoded, err);
        stk__heap_free(plan->heap, bytes.data, bytes.size, 1);
    }
    return stk__name_place(
        plan, sample, nth, STK_STAGE_OPEN, member.source, member.offset, st, err);
}

/* Learn an open shape from the first sample that can be read. */
static stk_status learn_shape(stk__field_plan *plan, stk__field *field, stk_error *err)
{
    uint64_t count = stk_dataset_count(plan->dataset);
    stk_status st = STK_EFIELD;

    for (uint64_t i = 0; i < count && i < PROBE_SAMPLES; i++) {
        st = look_at(plan, field, i, err);
        if (st != STK_ECORRUPT && st != STK_EFIELD && st != STK_ESOURCE && st != STK_ELIMIT)
            break; /* it is known, or looking at another sample would not help */
    }
    return st;
}

/*
 * Shapes of pictures: told by the chain where it fixes them; in any case the first picture is
 * looked at, since a chain that does not fit it would fail at the first sample, and the plan of
 * memory needs a size. A damaged first picture is no reason to refuse a chain that fixes its
 * output.
 */
static stk_status shape_of_image(stk__field_plan *plan, stk__field *field, stk_error *err)
{
    bool fixed = stk__image_chain_fixed(field->chain, &field->width, &field->height);
    stk_status st;

    if (!fixed)
        return learn_shape(plan, field, err);
    st = learn_shape(plan, field, err);
    if (st == STK_ESHAPE || st == STK_ENOMEM)
        return st;
    STK_IGNORE(!stk__image_chain_fixed(field->chain, &field->width, &field->height)); /* it is */
    return STK_OK;
}

stk_status stk__field_plan_init(stk__field_plan *plan, stk__heap *heap, stk_dataset *dataset,
    const stk_loader_options *options, stk_error *err)
{
    stk_status st = STK_OK;

    *plan = (stk__field_plan){.heap = heap,
        .dataset = dataset,
        .limits = STK_LIMITS_INIT,
        .probe_width = 512,
        .probe_height = 512};
    if (options->limits != NULL)
        plan->limits = *options->limits;
    if (options->field_count == 0) {
        st = add_default_fields(plan, err);
    } else {
        plan->fields = stk__heap_zalloc(heap, options->field_count, sizeof *plan->fields);
        plan->allocated = options->field_count;
        if (plan->fields == NULL)
            st = STK_FAIL(err, STK_ENOMEM, "no memory for the fields of a loader");
        for (size_t i = 0; st >= 0 && i < options->field_count; i++) {
            st = check_spec(&options->fields[i], i, options->fields, err);
            if (st >= 0)
                st = add_field(plan, &options->fields[i], err);
        }
    }
    for (size_t i = 0; st >= 0 && i < plan->count; i++) {
        if (plan->fields[i].kind == STK_FIELD_IMAGE)
            st = shape_of_image(plan, &plan->fields[i], err);
        else if (plan->fields[i].kind == STK_FIELD_ARRAY)
            st = learn_shape(plan, &plan->fields[i], err);
    }
    return st;
}

void stk__field_plan_fini(stk__field_plan *plan)
{
    for (size_t i = 0; plan->fields != NULL && i < plan->count; i++) {
        stk__field *field = &plan->fields[i];
        if (field->name != NULL)
            stk__heap_free(plan->heap, field->name, strlen(field->name) + 1, 1);
        if (field->source != NULL)
            stk__heap_free(plan->heap, field->source, strlen(field->source) + 1, 1);
        stk__image_chain_free(field->chain);
    }
    stk__heap_free(plan->heap, plan->fields, plan->allocated, sizeof *plan->fields);
    plan->fields = NULL;
}

static void image_shape(const stk__field *field, int64_t *shape)
{
    if (field->layout == STK_NCHW) {
        shape[0] = 3;
        shape[1] = field->height;
        shape[2] = field->width;
    } else {
        shape[0] = field->height;
        shape[1] = field->width;
        shape[2] = 3;
    }
}

/* Bytes of one row of a ragged field at the front of the dataset; 0 where it has none. */
static uint64_t front_bytes(const stk__field_plan *plan, const stk__field *field, uint64_t sample)
{
    stk_sample_field found;
    stk_sample key;

    if (field->kind == STK_FIELD_KEY)
        return stk_dataset_sample(plan->dataset, sample, &key, NULL) >= 0 ? key.key.size : 0;
    if (field->id_count > 0 &&
        stk__dataset_locate(plan->dataset, sample, field->ids, field->id_count, &found, NULL) >= 0)
        return found.size_bytes;
    return 0;
}

/*
 * Room that the ragged rows of a batch get to begin with: for the largest rows there are where that
 * costs little, so that no batch ever needs more; else half again as much as rows have on average.
 */
static size_t ragged_bytes(const stk__field_plan *plan, const stk__field *field, size_t rows)
{
    uint64_t count = stk__u64_min(stk_dataset_count(plan->dataset), RAGGED_FRONT);
    uint64_t sum = 0, mean, most;

    for (uint64_t i = 0; i < count; i++)
        sum += front_bytes(plan, field, i);
    mean = (count > 0 ? sum / count : 0) + 16;
    if (field->kind != STK_FIELD_KEY && stk__u64_mul(field->max_bytes, rows, &most) &&
        most <= RAGGED_CHEAP_BYTES)
        return (size_t)most;
    return (size_t)stk__u64_min(mean * rows * 3 / 2, RAGGED_START_BYTES);
}

void stk__field_plan_columns(const stk__field_plan *plan, size_t rows, stk__column_spec *specs)
{
    for (size_t i = 0; i < plan->count; i++) {
        const stk__field *field = &plan->fields[i];
        stk__column_spec *spec = &specs[i];

        *spec = (stk__column_spec){.name = field->name, .dtype = field->dtype};
        switch (field->kind) {
        case STK_FIELD_IMAGE:
            spec->ndim = 3;
            image_shape(field, spec->shape);
            break;
        case STK_FIELD_ARRAY:
            spec->ndim = (int32_t)field->npy.ndim;
            for (uint32_t k = 0; k < field->npy.ndim; k++)
                spec->shape[k] = (int64_t)field->npy.shape[k];
            break;
        case STK_FIELD_LABEL:
            break;
        case STK_FIELD_BYTES:
        case STK_FIELD_TEXT:
        case STK_FIELD_JSON:
        case STK_FIELD_KEY:
            spec->ragged = true;
            spec->text = field->kind == STK_FIELD_TEXT;
            spec->start_bytes = ragged_bytes(plan, field, rows);
            break;
        }
    }
}
