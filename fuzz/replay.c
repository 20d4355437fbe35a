/*
 * A main for fuzz targets without libFuzzer: runs the target on each file of the folders named, in
 * the order of their names. Every input that ever broke a target lies in its corpus, so this is an
 * ordinary test.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* false: the file cannot be read. */
static bool replay_file(const char *folder, const char *name)
{
    char path[4096];
    uint8_t *data = NULL;
    size_t size = 0, capacity = 0, got = 1;
    FILE *file;

    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return false;
    file = fopen(path, "rb");
    if (file == NULL)
        return false;
    while (got > 0) {
        if (size == capacity) {
            uint8_t *larger = realloc(data, capacity = capacity * 2 + 65536);

            if (larger == NULL)
                break;
            data = larger;
        }
        got = fread(data + size, 1, capacity - size, file);
        size += got;
    }
    if (got == 0 && fclose(file) == 0) {
        LLVMFuzzerTestOneInput(data, size);
        free(data);
        return true;
    }
    free(data);
    return false;
}

static int replay_folder(const char *folder)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, is_visible, alphasort), failed = 0;

    if (count < 0) {
        (void)fprintf(stderr, "%s: %s\n", folder, strerror(errno));
        return 1;
    }
    for (int i = 0; i < count; i++) {
        if (!replay_file(folder, entries[i]->d_name)) {
            (void)fprintf(stderr, "%s/%s: cannot be read\n", folder, entries[i]->d_name);
            failed++;
        }
        free(entries[i]);
    }
    free(entries);
    printf("%s: %d inputs\n", folder, count);
    return failed + (count == 0);
}

int main(int argc, char **argv)
{
    int failed = 0;

    if (argc < 2) {
        (void)fprintf(stderr, "usage: %s FOLDER...\n", argv[0]);
        return 2;
    }
    for (int i = 1; i < argc; i++)
        failed += replay_folder(argv[i]);
    return failed > 0 ? 1 : 0;
}
