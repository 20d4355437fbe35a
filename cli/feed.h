/*
 * The loader that bench and plan ask about: its options on the command line, and its fields, which
 * are guessed from the dataset where they are not given.
 */
#ifndef FEED_H
#define FEED_H

#include <stoker/loader.h>

#include "options.h"

enum { FEED_RRC, FEED_RESIZE, FEED_NONE }; /* --transforms */

enum { FEED_DTYPE_AUTO = 4 }; /* after the choices of --dtype */

typedef struct feed_settings {
    uint64_t batch_size, size, threads, io_threads, prefetch, memory, seed, shuffle_window;
    uint64_t world_size, rank;
    const char *image_field, *label_field;
    unsigned dtype, layout, shuffle, transforms, tail, on_error;
    bool normalize, orient;
} feed_settings;

#define FEED_THREADS_AUTO UINT64_MAX

#define FEED_SETTINGS_INIT                                                                         \
    {256, 224, FEED_THREADS_AUTO, 4, 2, 2ull << 30, 0, 8, 1, 0, NULL, NULL, FEED_DTYPE_AUTO, 0, 1, \
        FEED_RRC, 0, 0, false, false}

/* Rows for the table of options of a command whose settings `type` have a member `feed`. */
#define FEED_AT(type, name) offsetof(type, feed) + offsetof(feed_settings, name)
#define FEED_OPTIONS(type)                                                                        \
    {"batch-size", 'b', OPTION_NUMBER, FEED_AT(type, batch_size), 1, 1 << 20, "N",                \
        "Samples of a batch on one rank; 256."},                                                  \
        {"image-field", 0, OPTION_TEXT, FEED_AT(type, image_field), 0, 0, "EXT",                  \
            "Field with the picture, alternatives as \"jpg;png\", or none; what the dataset has " \
            "by "                                                                                 \
            "default."},                                                                          \
        {"label-field", 0, OPTION_TEXT, FEED_AT(type, label_field), 0, 0, "EXT",                  \
            "Field with the class number, or none; cls by default, if the dataset has it."},      \
        {"transforms", 0, OPTION_CHOICE, FEED_AT(type, transforms), 0, 0, "rrc|resize|none",      \
            "rrc: RandomResizedCrop and RandomHorizontalFlip; resize: Resize and CenterCrop; "    \
            "none: "                                                                              \
            "pictures must have one size. rrc."},                                                 \
        {"size", 's', OPTION_NUMBER, FEED_AT(type, size), 1, 65535, "N",                          \
            "Height and width of the pictures in the batch; 224."},                               \
        {"dtype", 0, OPTION_CHOICE, FEED_AT(type, dtype), 0, 0, "uint8|float16|bfloat16|float32", \
            "Of the pictures; uint8, with --normalize float32."},                                 \
        {"layout", 0, OPTION_CHOICE, FEED_AT(type, layout), 0, 0, "NCHW|NHWC",                    \
            "Of the pictures; NCHW."},                                                            \
        {"normalize", 0, OPTION_FLAG, FEED_AT(type, normalize), 0, 0, NULL,                       \
            "Subtract ImageNet's mean, divide by its standard deviation."},                       \
        {"orient", 0, OPTION_FLAG, FEED_AT(type, orient), 0, 0, NULL,                             \
            "Turn pictures as their EXIF orientation says."},                                     \
        {"threads", 't', OPTION_NUMBER, FEED_AT(type, threads), 0, 1024, "N",                     \
            "Threads that decode; 0: in the caller's; the cores this process may use by "         \
            "default."},                                                                          \
        {"io-threads", 0, OPTION_NUMBER, FEED_AT(type, io_threads), 1, 64, "N",                   \
            "Threads that wait for the disk; 4."},                                                \
        {"prefetch", 0, OPTION_NUMBER, FEED_AT(type, prefetch), 1, 64, "N",                       \
            "Batches made ahead; 2."},                                                            \
        {"memory", 0, OPTION_SIZE, FEED_AT(type, memory), 16 << 20, UINT64_MAX, "SIZE",           \
            "Ceiling for what the loader allocates; 2GiB."},                                      \
        {"world-size", 0, OPTION_NUMBER, FEED_AT(type, world_size), 1, 1 << 20, "N",              \
            "Ranks that share the epoch; 1."},                                                    \
        {"rank", 0, OPTION_NUMBER, FEED_AT(type, rank), 0, 1 << 20, "N", "The rank; 0."},         \
        {"tail", 0, OPTION_CHOICE, FEED_AT(type, tail), 0, 0, "short|drop|wrap",                  \
            "What the last step gets: the rest, nothing, or the rest filled up. short."},         \
        {"shuffle", 0, OPTION_CHOICE, FEED_AT(type, shuffle), 0, 0, "none|full|shards",           \
            "Order of the samples; full."},                                                       \
        {"shuffle-window", 0, OPTION_NUMBER, FEED_AT(type, shuffle_window), 1, 1 << 30, "N",      \
            "Shards mixed at a time with --shuffle shards; 8."},                                  \
        {"seed", 0, OPTION_NUMBER, FEED_AT(type, seed), 0, UINT64_MAX, "N",                       \
            "Of the order and the transforms; 0."},                                               \
        {"on-error", 0, OPTION_CHOICE, FEED_AT(type, on_error), 0, 0, "raise|skip|replace",       \
            "What a damaged sample does; raise."}

enum { FEED_NAMES = 256, FEED_TRANSFORMS = 4 };

/* Options of a loader and what they point to. Not to be copied. */
typedef struct feed {
    stk_loader_options options;
    stk_field_spec fields[2];
    stk_transform transforms[FEED_TRANSFORMS];
    char image_names[FEED_NAMES];
    bool has_image, has_label;
} feed;

/* Fill it for a dataset. Without a picture and without a label: every field, as bytes. */
void feed_init(feed *f, const feed_settings *s, const stk_dataset *dataset);

/* "rrc to 224 x 224, float32, NCHW" */
void feed_describe(const feed *f, const feed_settings *s, char *line, size_t capacity);

#endif
