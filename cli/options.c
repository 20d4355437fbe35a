/* Options of a command: see options.h. */
#include "options.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "out_human.h"

enum { LONGEST_WORD = 32 }; /* of those that word_distance() compares */

int usage_error(const command *cmd, const char *format, ...)
{
    char line[512];
    va_list args;

    va_start(args, format);
    if (vsnprintf(line, sizeof line, format, args) < 0)
        line[0] = '\0';
    va_end(args);
    tell("stoker %s: ", cmd->name);
    tell_text(line);
    tell("\n  stoker help %s shows what there is.\n", cmd->name);
    return EXIT_USAGE;
}

size_t word_distance(const char *a, const char *b)
{
    size_t rows[2][LONGEST_WORD + 1];
    size_t height = strlen(a), width = strlen(b);

    if (height > LONGEST_WORD || width > LONGEST_WORD)
        return SIZE_MAX;
    for (size_t x = 0; x <= width; x++)
        rows[0][x] = x;
    for (size_t y = 1; y <= height; y++) {
        const size_t *above = rows[(y - 1) % 2];
        size_t *row = rows[y % 2];

        row[0] = y;
        for (size_t x = 1; x <= width; x++) {
            size_t best = above[x - 1] + (a[y - 1] != b[x - 1]);

            if (above[x] + 1 < best)
                best = above[x] + 1;
            if (row[x - 1] + 1 < best)
                best = row[x - 1] + 1;
            row[x] = best;
        }
    }
    return rows[height % 2][width];
}

bool number_parse(const char *text, uint64_t *number_out)
{
    uint64_t number = 0;

    if (text[0] == '\0')
        return false;
    for (const char *p = text; *p != '\0'; p++) {
        unsigned digit = (unsigned)(*p - '0');

        if (*p < '0' || *p > '9' || number > (UINT64_MAX - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    *number_out = number;
    return true;
}

/* "12.5" up to the first character that is no part of it; false if there is no digit. */
static bool decimal_parse(const char *text, double *number_out, const char **end_out)
{
    double number = 0, place = 1;
    bool point = false, digits = false;
    const char *p = text;

    for (;; p++) {
        if (*p == '.' && !point) {
            point = true;
        } else if (*p >= '0' && *p <= '9') {
            digits = true;
            number = number * 10 + (*p - '0');
            if (point)
                place *= 10;
        } else {
            break;
        }
    }
    *number_out = number / place;
    *end_out = p;
    return digits;
}

bool size_parse(const char *text, uint64_t *size_out)
{
    static const char units[] = "kMGT";
    const char *end, *unit;
    double number, base = 1000;

    if (!decimal_parse(text, &number, &end))
        return false;
    if (*end != '\0' && *end != 'B') {
        unit = strchr(units, *end == 'K' ? 'k' : *end);
        if (unit == NULL)
            return false;
        if (end[1] == 'i')
            base = 1024;
        number *= pow(base, (double)(unit - units + 1));
        end += base == 1024 ? 2 : 1;
    }
    if (*end == 'B')
        end++;
    if (*end != '\0' || number >= 0x1p63)
        return false;
    *size_out = (uint64_t)number;
    return true;
}

bool choice_parse(const char *choices, const char *text, unsigned *nth_out)
{
    size_t length = strlen(text);
    unsigned nth = 0;

    for (const char *p = choices;; nth++) {
        size_t here = strcspn(p, "|");

        if (here == length && memcmp(p, text, length) == 0) {
            *nth_out = nth;
            return true;
        }
        if (p[here] == '\0')
            return false;
        p += here + 1;
    }
}

static bool refuse_value(const command *cmd, const option *opt, const char *value)
{
    if (opt->kind == OPTION_CHOICE) {
        usage_error(cmd, "--%s is '%s'; it must be one of %s", opt->name, value, opt->value);
    } else if (opt->kind == OPTION_SIZE) {
        usage_error(cmd, "--%s is '%s'; it must be a size such as 500MB or 2GiB", opt->name, value);
    } else if (opt->kind == OPTION_REAL) {
        usage_error(cmd, "--%s is '%s'; it must be a number such as 0.5", opt->name, value);
    } else if (opt->most == UINT64_MAX) {
        usage_error(cmd, "--%s is '%s'; it must be a number of %llu or more", opt->name, value,
            (unsigned long long)opt->least);
    } else {
        usage_error(cmd, "--%s is '%s'; it must be a number from %llu to %llu", opt->name, value,
            (unsigned long long)opt->least, (unsigned long long)opt->most);
    }
    return false;
}

static bool number_in_range(const option *opt, const char *value, uint64_t *number)
{
    bool is_number =
        opt->kind == OPTION_SIZE ? size_parse(value, number) : number_parse(value, number);

    return is_number && *number >= opt->least && *number <= opt->most;
}

static bool store(const command *cmd, const option *opt, const char *value, void *settings)
{
    char *target = (char *)settings + opt->offset;
    uint64_t number;
    unsigned nth;
    double real;
    const char *end;

    switch (opt->kind) {
    case OPTION_FLAG:
        memcpy(target, &(bool){true}, sizeof(bool));
        return true;
    case OPTION_NUMBER:
    case OPTION_SIZE:
        if (!number_in_range(opt, value, &number))
            return refuse_value(cmd, opt, value);
        memcpy(target, &number, sizeof number);
        return true;
    case OPTION_REAL:
        if (!decimal_parse(value, &real, &end) || *end != '\0')
            return refuse_value(cmd, opt, value);
        memcpy(target, &real, sizeof real);
        return true;
    case OPTION_TEXT:
        memcpy(target, (const void *)&value, sizeof value);
        return true;
    case OPTION_CHOICE:
        if (!choice_parse(opt->value, value, &nth))
            return refuse_value(cmd, opt, value);
        memcpy(target, &nth, sizeof nth);
        return true;
    }
    return false;
}

static const option *find_long(const command *cmd, const char *name, size_t length)
{
    for (size_t i = 0; i < cmd->option_count; i++) {
        if (strlen(cmd->options[i].name) == length &&
            memcmp(cmd->options[i].name, name, length) == 0)
            return &cmd->options[i];
    }
    return NULL;
}

static const option *find_letter(const command *cmd, char letter)
{
    for (size_t i = 0; i < cmd->option_count; i++) {
        if (cmd->options[i].letter == letter)
            return &cmd->options[i];
    }
    return NULL;
}

static bool refuse_name(const command *cmd, const char *name)
{
    const option *nearest = NULL;
    size_t best = 3; /* farther apart is no typing error */

    for (size_t i = 0; i < cmd->option_count; i++) {
        size_t distance = word_distance(cmd->options[i].name, name);
        if (distance < best) {
            best = distance;
            nearest = &cmd->options[i];
        }
    }
    if (nearest != NULL) {
        usage_error(cmd, "no option --%s; did you mean --%s?", name, nearest->name);
    } else {
        usage_error(cmd, "no option --%s", name);
    }
    return false;
}

/* One command line being read. */
typedef struct reading {
    const command *cmd;
    char **argv;
    int argc, at; /* `at` is the argument in hand */
    void *settings;
} reading;

static bool take_value(reading *r, const option *opt, const char *attached)
{
    if (attached == NULL) {
        if (r->at + 1 >= r->argc) {
            usage_error(r->cmd, "--%s needs a value: %s", opt->name, opt->value);
            return false;
        }
        attached = r->argv[++r->at];
    }
    return store(r->cmd, opt, attached, r->settings);
}

static bool read_long(reading *r, const char *name)
{
    size_t length = strcspn(name, "=");
    const char *attached = name[length] == '=' ? name + length + 1 : NULL;
    const option *opt = find_long(r->cmd, name, length);

    if (opt == NULL)
        return refuse_name(r->cmd, name);
    if (opt->kind != OPTION_FLAG)
        return take_value(r, opt, attached);
    if (attached != NULL) {
        usage_error(r->cmd, "--%s takes no value", opt->name);
        return false;
    }
    return store(r->cmd, opt, NULL, r->settings);
}

static bool read_letters(reading *r, const char *letters)
{
    for (const char *p = letters; *p != '\0'; p++) {
        const option *opt = find_letter(r->cmd, *p);

        if (opt == NULL) {
            usage_error(r->cmd, "no option -%c", *p);
            return false;
        }
        if (opt->kind != OPTION_FLAG)
            return take_value(r, opt, p[1] != '\0' ? p + 1 : NULL);
        if (!store(r->cmd, opt, NULL, r->settings))
            return false;
    }
    return true;
}

bool options_read(const command *cmd, int argc, char **argv, void *settings, words *words_out)
{
    reading r = {.cmd = cmd, .argv = argv, .argc = argc, .settings = settings};
    size_t count = 0;
    bool ended = false;

    for (r.at = 1; r.at < argc; r.at++) {
        const char *arg = argv[r.at];

        if (ended || arg[0] != '-' || arg[1] == '\0') {
            argv[1 + count++] = argv[r.at]; /* never ahead of r.at */
        } else if (strcmp(arg, "--") == 0) {
            ended = true;
        } else if (!(arg[1] == '-' ? read_long(&r, arg + 2) : read_letters(&r, arg + 1))) {
            return false;
        }
    }
    if (words_out != NULL) {
        *words_out = (words){.words = argv + 1, .count = count};
    } else if (count > 0) {
        usage_error(cmd, "'%s' is one word too many", argv[1]);
        return false;
    }
    return true;
}
