/*
 * A main for fuzz targets without libFuzzer: runs the target on each file of the folders named, in
 * the order of their names. Every input that ever broke a target lies in its corpus, so this is an
 * ordinary test.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz_target.h"

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* The whole file in a block of its own; NULL if it cannot be read. */
static uint8_t *read_all(FILE *file, size_t *size_out)
{
    size_t size = 0, capacity = 1u << 16;
    uint8_t *data = malloc(capacity);

    while (data != NULL) {
        uint8_t *larger;

        size += fread(data + size, 1, capacity - size, file);
        if (size < capacity)
            break;
        larger = realloc(data, capacity *= 2);
        if (larger == NULL)
            free(data);
        data = larger;
    }
    *size_out = size;
    return data;
}

/* false: the file cannot be read. */
static bool replay_file(const char *folder, const char *name)
{
    char path[4096];
    uint8_t *data;
    size_t size;
    FILE *file;

    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return false;
    file = fopen(path, "rb");
    if (file == NULL)
        return false;
    data = read_all(file, &size);
    if (fclose(file) == 0 && data != NULL)
        LLVMFuzzerTestOneInput(data, size);
    free(data);
    return data != NULL;
}

static int replay_folder(const char *folder)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, is_visible, alphasort), failed = 0;

    if (count < 0) {
        perror(folder);
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
