/*
 * passes.h: what the C benchmarks share: the list on standard input, passes, clocks, one line of
 * JSON a pass. The first pass warms, whoever reads the lines leaves it out.
 */
#ifndef STOKER_BENCH_PASSES_H
#define STOKER_BENCH_PASSES_H

#include <stoker/base.h>

/* What a pass counted. */
typedef struct tally {
    uint64_t sum; /* of all bytes as 64-bit words, modulo 2^64 */
    uint64_t members, samples;
} tally;

/* One pass over all files of the list; false after a failure that was told. */
typedef bool pass_fn(char **paths, size_t count, tally *t);

/* Read the list, run `pass` argv[1] times, print a line for each. The program's exit status. */
int run_passes(const char *program, int argc, char **argv, pass_fn *pass);

/* Bytes as 64-bit words, the last one filled up with zeros. */
uint64_t sum_words(stk_view bytes);

/* Tell an error on standard error. Always false. */
bool complain(const stk_error *err);

#endif
