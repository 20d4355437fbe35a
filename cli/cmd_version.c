/* stoker version */
#include "cli.h"
#include "out_human.h"
#include "out_json.h"

typedef struct settings {
    bool json;
} settings;

static const option options[] = {
    {"json", 0, OPTION_FLAG, offsetof(settings, json), 0, 0, NULL, "One JSON document."},
};

static int run(const command *self, int argc, char **argv)
{
    settings s = {0};
    json out;

    if (!options_read(self, argc, argv, &s, NULL))
        return EXIT_USAGE;
    if (!s.json) {
        say("stoker %s\n", stk_version());
        return EXIT_DONE;
    }
    json_start(&out, stdout);
    json_object(&out, NULL, false);
    json_text(&out, "version", stk_version());
    json_end_object(&out);
    return EXIT_DONE;
}

const command command_version = {
    .name = "version",
    .summary = "the version of the engine",
    .usage = "[--json]",
    .about = "Prints the version of the engine that is built into this command.",
    .options = options,
    .option_count = COUNT_OF(options),
    .run = run,
};
