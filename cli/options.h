/*
 * Options of a command: one constant table describes, parses and documents them.
 *
 * --name VALUE, --name=VALUE, -n VALUE, -nVALUE, flags together (-lq), options and words in any
 * order, "--" ends the options, "-" is a word. Names are written in full.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum option_kind {
    OPTION_FLAG,   /* bool */
    OPTION_NUMBER, /* uint64_t within least and most */
    OPTION_SIZE,   /* the same with a unit: 500MB, 2GiB, 1.5k */
    OPTION_REAL,   /* double, 0 and more */
    OPTION_TEXT,   /* const char *, borrowed from the command line */
    OPTION_CHOICE, /* unsigned: place of the word in `value` */
} option_kind;

typedef struct option {
    const char *name;
    char letter; /* 0: none */
    option_kind kind;
    size_t offset; /* of the target in the settings of the command */
    uint64_t least, most;
    const char *value; /* as the help calls it; OPTION_CHOICE: "raise|skip" */
    const char *help;  /* one sentence, with the default */
} option;

/* What is no option, in order. */
typedef struct words {
    char **words;
    size_t count;
} words;

struct command;

/*
 * Read a command line into settings, which hold the defaults.
 *
 * @param words_out  Points into argv, which is put in order. NULL: the command takes no words.
 * @return false after having said what is wrong: the caller returns EXIT_USAGE.
 */
bool options_read(
    const struct command *cmd, int argc, char **argv, void *settings, words *words_out);

/* Say what is wrong with the command line, in one line; returns EXIT_USAGE. */
int usage_error(const struct command *cmd, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "500MB" as a number of bytes. k M G T are powers of 1000, Ki Mi Gi Ti of 1024, B may follow. */
bool size_parse(const char *text, uint64_t *size_out);

/* Decimal digits only. */
bool number_parse(const char *text, uint64_t *number_out);

/* Which of the words of "a|b|c" is meant? false: none. */
bool choice_parse(const char *choices, const char *text, unsigned *nth_out);

/* How far two words are apart: letters to change, add or leave out. For "did you mean". */
size_t word_distance(const char *a, const char *b);

#endif
