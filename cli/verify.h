/*
 * stoker verify: every byte is read, every field decoded, every damage listed.
 *
 * verify_check.c judges one field; verify_list.c keeps what was found, in the order of the dataset;
 * cmd_verify.c reads with several threads and reports.
 */
#ifndef VERIFY_H
#define VERIFY_H

#include <pthread.h>
#include <stdio.h>

#include <stoker/dataset.h>

enum { NOTE_BYTES = 256 };

/* Memory of one thread for what it decodes. */
typedef struct verify_scratch {
    void *pixels;
    size_t capacity;
} verify_scratch;

void verify_scratch_fini(verify_scratch *scratch);

/*
 * Decode one field. What it is its extension says, and its bytes where they say otherwise.
 *
 * @param note_out  NOTE_BYTES: what is worth telling though nothing is damaged; empty: nothing.
 * @return STK_OK; STK_ECORRUPT or STK_ELIMIT with an offset in `bytes`; STK_ENOMEM.
 */
stk_status verify_field(
    verify_scratch *scratch, stk_view field, stk_view bytes, char *note_out, stk_error *err);

/* One thing found, and where it belongs among others: by shard, sample, place in the sample. */
typedef struct verify_found {
    uint32_t shard;
    uint64_t sample; /* UINT64_MAX: of the shard as a whole */
    uint32_t nth;
    stk_status status;
    stk_stage stage;
    int os_errno;
    bool has_offset;
    uint64_t offset;
    char *texts; /* text, source, shard, key, field: NUL-terminated, one after the other */
} verify_found;

typedef struct verify_list {
    verify_found *found;
    size_t count, capacity;
    size_t most;    /* kept; the rest is counted */
    uint64_t total; /* all of them */
} verify_list;

/* Keep one. @return false: no memory. */
bool verify_keep(
    verify_list *list, uint32_t shard, uint64_t sample, uint32_t nth, const stk_error *err);

void verify_sort(verify_list *list);

/* The error as it was, but for texts that were longer than an error holds. */
void verify_get(const verify_list *list, size_t nth, stk_error *err_out);

void verify_list_fini(verify_list *list);

#endif
