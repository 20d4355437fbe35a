/* A dataset given on the command line. */
#ifndef WHERE_H
#define WHERE_H

#include <stoker/dataset.h>

#include "options.h"

/*
 * Open the dataset that the words name. Without words, says so.
 *
 * @return EXIT_DONE, or the exit status after having said what is wrong.
 */
int where_open(const struct command *cmd, const words *w, const stk_dataset_options *options,
    bool as_json, stk_dataset **dataset_out);

/*
 * stk_dataset_open() that can be interrupted: making an index may take minutes. After a signal it
 * does not return: the program ends, and no index that is half written has a name. Not after
 * stop_gently().
 */
stk_status where_open_patiently(const char *const *where, size_t count,
    const stk_dataset_options *options, stk_dataset **dataset_out, stk_error *err);

/* Where indexes go that cannot stand beside their data; "" if there is none. */
void where_cache_folder(char *path, size_t capacity);

/* Bytes of one field of a sample in memory of its own: free() them. One NUL follows the bytes. */
stk_status where_read(
    const stk_dataset *dataset, const stk_sample_field *field, void **data_out, stk_error *err);

/* The label of a sample: its class folder, or what its field "cls" says. false: it has none. */
bool where_label(const stk_dataset *dataset, const stk_sample *sample, int64_t *label_out);

/* A field of a sample by name. @return false: it has no such field. */
bool where_field(const stk_dataset *dataset, const stk_sample *sample, const char *name,
    stk_sample_field *field_out);

#endif
