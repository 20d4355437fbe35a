/*
 * tar_scan: samples of tar shards through stk_scan_next(), one thread, bytes included.
 *
 *     tar_scan PASSES < list-of-shards
 *
 * The dataset is opened once (its index is kept beside the shards); each pass scans all samples and
 * sums the bytes of all fields as 64-bit words. One line of JSON a pass.
 */
#include <stoker/dataset.h>

#include "passes.h"

static bool scan_samples(stk_dataset *dataset, tally *t)
{
    stk_error err = STK_ERROR_INIT;
    const stk_sample_field *fields;
    const stk_view *data;
    stk_scan *scan = NULL;
    stk_sample sample;
    stk_status st = stk_scan_open(dataset, 0, stk_dataset_count(dataset), &scan, &err);

    while (st == STK_OK && (st = stk_scan_next(scan, &sample, &fields, &data, &err)) == STK_OK) {
        for (uint32_t i = 0; i < sample.field_count; i++)
            t->sum += sum_words(data[i]);
        t->members += sample.field_count;
        t->samples++;
    }
    stk_scan_close(scan);
    return st == STK_END || complain(&err);
}

static bool open_and_scan(char **paths, size_t count, tally *t)
{
    stk_error err = STK_ERROR_INIT;
    stk_dataset *dataset = NULL;
    stk_status st =
        stk_dataset_open((const char *const *)(void *)paths, count, NULL, &dataset, &err);
    bool fine = st == STK_OK ? scan_samples(dataset, t) : complain(&err);

    stk_dataset_unref(dataset);
    return fine;
}

int main(int argc, char **argv)
{
    return run_passes("tar_scan", argc, argv, open_and_scan);
}
