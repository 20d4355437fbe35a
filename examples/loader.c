/*
 * loader: the C interface in one page. Reads one epoch of a dataset and prints what it gets.
 *
 *     loader "train-{000000..000007}.tar"
 *     loader folder-of-class-folders
 *
 * Meson builds it (build/examples/example_loader). It is C and C++ alike; the tests build it as
 * both.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <stoker/stoker.h>

enum { SIDE = 224, BATCH = 32, FIELDS = 2 };

/* One line for a person, and the exit status. */
static int fail(const stk_error *err)
{
    char line[1024];

    stk_error_format(err, line, sizeof line);
    (void)fprintf(stderr, "loader: %s\n", line);
    return 1;
}

static void print_shape(const stk_tensor *tensor)
{
    printf("%s %s (", tensor->name, stk_dtype_name(tensor->dtype));
    for (int32_t axis = 0; axis < tensor->ndim; axis++)
        printf(axis > 0 ? ", %" PRId64 : "%" PRId64, tensor->shape[axis]);
    printf(")");
}

/* Mean of all values of a uint8 tensor. */
static double mean_of(const stk_tensor *tensor)
{
    const unsigned char *values = (const unsigned char *)tensor->data;
    double sum = 0;
    int64_t count = 1;

    for (int32_t axis = 0; axis < tensor->ndim; axis++)
        count *= tensor->shape[axis];
    for (int64_t i = 0; i < count; i++)
        sum += values[i];
    return count > 0 ? sum / (double)count : 0;
}

static void describe_batch(const stk_batch *batch)
{
    printf("step %" PRIu64 ": ", stk_batch_step(batch));
    for (size_t i = 0; i < stk_batch_count(batch); i++) {
        if (i > 0)
            printf(", ");
        print_shape(stk_batch_tensor(batch, i));
    }
    printf(", mean %.2f\n", mean_of(stk_batch_tensor(batch, 0)));
}

static const stk_field_spec plain_field = STK_FIELD_SPEC_INIT;
static const stk_transform plain_transform = STK_TRANSFORM_INIT;

/* What a batch holds: pictures, cropped, resized and flipped at random, and their class numbers. */
static void declare_fields(stk_field_spec fields[FIELDS], stk_transform chain[2])
{
    chain[0] = plain_transform;
    chain[0].kind = STK_RANDOM_RESIZED_CROP;
    chain[0].height = chain[0].width = SIDE;
    chain[1] = plain_transform;
    chain[1].kind = STK_RANDOM_HORIZONTAL_FLIP;

    fields[0] = plain_field;
    fields[0].name = "image";
    fields[0].source = "jpg;jpeg;png;webp";
    fields[0].kind = STK_FIELD_IMAGE;
    fields[0].transforms = chain;
    fields[0].transform_count = 2;

    fields[1] = plain_field;
    fields[1].name = "label";
    fields[1].source = "cls";
    fields[1].kind = STK_FIELD_LABEL;
}

static int read_epoch(stk_loader *loader, stk_error *err)
{
    stk_batch *batch = NULL;
    size_t rows = 0;
    stk_status st;

    while ((st = stk_loader_next(loader, &batch, err)) == STK_OK) {
        describe_batch(batch);
        rows += stk_batch_rows(batch);
        stk_batch_unref(batch); /* its memory is used again for a later batch */
    }
    if (st != STK_END)
        return fail(err);
    printf("%zu samples in %" PRIu64 " steps\n", rows, stk_loader_steps(loader));
    return 0;
}

int main(int argc, char **argv)
{
    stk_field_spec fields[FIELDS];
    stk_transform chain[2];
    stk_loader_options options = STK_LOADER_OPTIONS_INIT;
    stk_error err = STK_ERROR_INIT;
    stk_loader *loader = NULL;
    int status;

    if (argc != 2) {
        (void)fprintf(stderr, "usage: loader DATASET\n");
        return 2;
    }
    declare_fields(fields, chain);
    options.fields = fields;
    options.field_count = FIELDS;
    options.batch_size = BATCH;
    options.shuffle = STK_SHUFFLE_FULL;
    options.seed = 7;
    if (stk_loader_open(argv[1], &options, &loader, &err) != STK_OK)
        return fail(&err);
    status = read_epoch(loader, &err);
    stk_loader_close(loader);
    return status;
}
