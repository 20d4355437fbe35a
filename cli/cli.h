/*
 * What all parts of the command share: commands, exit statuses, memory.
 *
 * The command uses the public headers of Stoker only. Its own names need no prefix but that of
 * their module: options_read(), progress_draw(), json_text().
 */
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/base.h>

#include "options.h"

/* How a command ends. The manual of it is `stoker help`. */
enum {
    EXIT_DONE = 0,
    EXIT_DATA = 1,      /* the data is at fault: damaged, missing, unreadable */
    EXIT_USAGE = 2,     /* the command line is at fault; nothing was touched */
    EXIT_MACHINE = 3,   /* neither: no memory, no room on the disk, too many open files */
    EXIT_STOPPED = 130, /* SIGINT or SIGTERM; temporary files are removed */
};

typedef struct command {
    const char *name;
    const char *summary;  /* one line, for the list of commands */
    const char *usage;    /* what follows "stoker NAME "; one line a form */
    const char *about;    /* paragraphs, wrapped by hand at 80 columns */
    const char *examples; /* one a line */
    const option *options;
    size_t option_count;
    int (*run)(const struct command *self, int argc, char **argv); /* argv[0] is the name */
} command;

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

extern const command command_pack, command_ls, command_cat, command_verify, command_index,
    command_bench, command_plan, command_doctor, command_version, command_help;

/* The nth built-in command in the order of the help; NULL past the end. */
const command *command_nth(size_t nth);

/* The built-in command of that name, or NULL. */
const command *command_find(const char *name);

/* Become `stoker-NAME` of PATH. Returns only if there is none: EXIT_USAGE, and has said so. */
int command_external(int argc, char **argv);

/* The manual of a command on standard output. */
void help_show(const command *cmd);

/* Memory for count things of `size` bytes, `old` grown or NULL. Ends the program with EXIT_MACHINE
 * when there is none: for use before any temporary file exists. */
void *memory_get(void *old, size_t count, size_t size);

/* Room for one more of `size` bytes in an array of `count` things; the capacity doubles. */
void *memory_more(void *array, size_t count, size_t *capacity, size_t size);

#endif
