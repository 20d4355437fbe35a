/* stoker help: the manual, made from the same tables that parse the command line. */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "out_human.h"

enum { HELP_COLUMN = 26, HELP_WIDTH = 80 };

/* Words of `text` from HELP_COLUMN on, broken at HELP_WIDTH. `at` is the column of the cursor. */
static void say_wrapped(const char *text, size_t at)
{
    if (at + 1 >= HELP_COLUMN) {
        say("\n");
        at = 0;
    }
    say("%*s", (int)(HELP_COLUMN - at), "");
    at = HELP_COLUMN;
    while (*text != '\0') {
        size_t word = strcspn(text, " ");

        if (at > HELP_COLUMN && at + 1 + word > HELP_WIDTH) {
            say("\n%*s", HELP_COLUMN, "");
            at = HELP_COLUMN;
        }
        if (at > HELP_COLUMN) {
            say(" ");
            at++;
        }
        say("%.*s", (int)word, text);
        at += word;
        text += word + strspn(text + word, " ");
    }
    say("\n");
}

static void say_option(const option *opt)
{
    char head[128];
    char letter[8] = "    ";
    int length;

    if (opt->letter != '\0' && snprintf(letter, sizeof letter, "-%c, ", opt->letter) < 0)
        letter[0] = '\0';
    length = snprintf(head, sizeof head, "  %s--%s%s%s", letter, opt->name,
        opt->kind == OPTION_FLAG ? "" : " ", opt->kind == OPTION_FLAG ? "" : opt->value);
    say("%s", head);
    say_wrapped(opt->help, length > 0 ? (size_t)length : 0);
}

static void say_indented(const char *lines, const char *indent)
{
    while (*lines != '\0') {
        size_t length = strcspn(lines, "\n");

        say("%s%.*s\n", length > 0 ? indent : "", (int)length, lines);
        lines += length + (lines[length] == '\n');
    }
}

static void say_usage(const command *cmd)
{
    const char *form = cmd->usage;

    do {
        size_t length = strcspn(form, "\n");

        say("%s stoker %s %.*s\n", form == cmd->usage ? "usage:" : "      ", cmd->name, (int)length,
            form);
        form += length + (form[length] == '\n');
    } while (*form != '\0');
}

static void say_commands(void)
{
    const command *cmd;

    say("Commands:\n");
    for (size_t i = 0; (cmd = command_nth(i)) != NULL; i++) {
        say("  %-*s", HELP_COLUMN - 16, cmd->name);
        say("%s\n", cmd->summary);
    }
}

void help_show(const command *cmd)
{
    if (cmd == &command_help) {
        say("usage: stoker COMMAND [words and options]\n\n"
            "Stoker keeps accelerators fed: datasets packed, listed, checked and read fast.\n\n");
        say_commands();
        say("\n%s", cmd->about);
        return;
    }
    say_usage(cmd);
    say("\n%s\n", cmd->about);
    if (cmd->option_count > 0) {
        say("\nOptions:\n");
        for (size_t i = 0; i < cmd->option_count; i++)
            say_option(&cmd->options[i]);
        say("  -h, --help");
        say_wrapped("This text.", 12);
    }
    if (cmd->examples != NULL) {
        say("\nExamples:\n");
        say_indented(cmd->examples, "  ");
    }
}

static int run(const command *self, int argc, char **argv)
{
    static char ask[] = "--help";
    words w;
    const command *cmd;

    if (!options_read(self, argc, argv, NULL, &w))
        return EXIT_USAGE;
    if (w.count == 0) {
        help_show(self);
        return EXIT_DONE;
    }
    if (w.count > 1)
        return usage_error(self, "one command at a time");
    cmd = command_find(w.words[0]);
    if (cmd == NULL) { /* a command of another package has its own manual */
        char *args[] = {w.words[0], ask, NULL};
        return command_external(2, args);
    }
    help_show(cmd);
    return EXIT_DONE;
}

const command command_help = {
    .name = "help",
    .summary = "this text, or the manual of one command",
    .usage = "[COMMAND]",
    .about =
        "`stoker help COMMAND` or `stoker COMMAND --help` shows the manual of one of them.\n"
        "`stoker NAME` runs the program `stoker-NAME` of PATH if it is none of these.\n"
        "\n"
        "Where a dataset is asked for (WHERE), give a tar shard, a folder tree, a pattern with\n"
        "braces or wildcards in quotes: \"train-{000000..000127}.tar\", \"data/*.tar\".\n"
        "\n"
        "Results go to standard output, all else to standard error. Control characters in\n"
        "names are shown as \\xNN. With --json the result is one JSON document; a name that is\n"
        "no UTF-8 then has U+FFFD for each bad byte, and the exact bytes beside it as\n"
        "NAME_base64.\n"
        "\n"
        "Exit status:\n"
        "  0    done\n"
        "  1    the data is at fault: damaged, missing, unreadable\n"
        "  2    the command line is at fault; nothing was touched\n"
        "  3    the machine is at fault: no memory, no room on the disk, too many open files\n"
        "  130  stopped by Ctrl-C or SIGTERM; temporary files are removed\n",
    .run = run,
};
