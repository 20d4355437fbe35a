/*
 * stoker: the command.
 *
 * Each subcommand is one cmd_NAME.c with a constant `command`: its words, options, manual and the
 * function that runs it. What is no built-in is looked up in PATH as `stoker-NAME`, as git does, so
 * that other packages can add commands.
 *
 * Reading order: cli.h, options.h, out_human.h, out_json.h, then the command you came for.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "out_human.h"
#include "stop.h"

static const command *const commands[] = {
    &command_pack,
    &command_ls,
    &command_cat,
    &command_verify,
    &command_index,
    &command_bench,
    &command_plan,
    &command_doctor,
    &command_version,
    &command_help,
};

const command *command_nth(size_t nth)
{
    return nth < COUNT_OF(commands) ? commands[nth] : NULL;
}

const command *command_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    }
    return NULL;
}

static void tell_nearest(const char *name)
{
    const command *nearest = NULL;
    size_t best = 3; /* farther apart is no typing error */

    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        size_t distance = word_distance(commands[i]->name, name);
        if (distance < best) {
            best = distance;
            nearest = commands[i];
        }
    }
    if (nearest != NULL) {
        tell("  Did you mean `stoker %s`?\n", nearest->name);
    } else {
        tell("  `stoker help` lists the commands.\n");
    }
}

int command_external(int argc, char **argv)
{
    size_t size = strlen(argv[0]) + sizeof "stoker-";
    char **args = (char **)memory_get(NULL, (size_t)argc + 1, sizeof *args);
    char *program = memory_get(NULL, size, 1);
    int os_errno;

    if (snprintf(program, size, "stoker-%s", argv[0]) < 0)
        return EXIT_MACHINE;
    for (int i = 0; i < argc; i++)
        args[i] = argv[i];
    args[0] = program;
    args[argc] = NULL;
    errno = ENOENT;
    if (strchr(argv[0], '/') == NULL) {
        /* to run what the user names is its purpose; NOLINTNEXTLINE(*GenericTaint) */
        execvp(program, args);
    }
    os_errno = errno;
    free((void *)args);
    if (os_errno == ENOENT) {
        tell("stoker: no command '");
        tell_text(argv[0]);
        tell("', and no program '");
        tell_text(program);
        tell("' in PATH\n");
        tell_nearest(argv[0]);
    } else {
        tell("stoker: '");
        tell_text(program);
        tell("' could not be run: %s\n", errno_text(os_errno));
    }
    free(program);
    return EXIT_USAGE;
}

/* Is --help or -h among the arguments, before a "--"? */
static bool asks_for_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    }
    return false;
}

static int run(int argc, char **argv)
{
    static char help[] = "help", version[] = "version";
    const command *cmd;

    if (argc < 1) {
        help_show(&command_help);
        return EXIT_USAGE;
    }
    if (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)
        argv[0] = help;
    if (strcmp(argv[0], "--version") == 0)
        argv[0] = version;
    cmd = command_find(argv[0]);
    if (cmd == NULL && argv[0][0] == '-') {
        tell("stoker: '");
        tell_text(argv[0]);
        tell("' is no command; options come after it\n  `stoker help` lists the commands.\n");
        return EXIT_USAGE;
    }
    if (cmd == NULL)
        return command_external(argc, argv);
    if (asks_for_help(argc, argv)) {
        help_show(cmd);
        return EXIT_DONE;
    }
    return cmd->run(cmd, argc, argv);
}

int main(int argc, char **argv)
{
    stop_start();
    return out_finish(run(argc - 1, argv + 1));
}
