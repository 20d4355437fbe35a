/* A folder of its own for each test, files in it, and what tests count about the process. A failure
 * of the system ends the test program: there is nothing to go on with. */
#ifndef STK_TEMP_TREE_H
#define STK_TEMP_TREE_H

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/test.h"

/* ThreadSanitizer does not follow threads over a fork; tests of both are skipped under it. */
#if defined(__SANITIZE_THREAD__)
#    define UNDER_TSAN 1
#elif defined(__has_feature)
#    if __has_feature(thread_sanitizer)
#        define UNDER_TSAN 1
#    endif
#endif
#if !defined(UNDER_TSAN)
#    define UNDER_TSAN 0
#endif

static inline void system_failed(const char *what, const char *path)
{
    fprintf(stderr, "the test could not %s %s\n", what, path);
    abort();
}

/* A new empty folder; to be freed by remove_tree(). */
static inline char *make_temp_folder(void)
{
    const char *base = getenv("TMPDIR");
    char *path = malloc(512);

    if (path == NULL)
        abort();
    snprintf(path, 512, "%s/stoker-test-XXXXXX", base != NULL ? base : "/tmp");
    if (mkdtemp(path) == NULL)
        system_failed("make the folder", path);
    return path;
}

static inline int remove_entry(
    const char *path, const struct stat *found, int kind, struct FTW *place)
{
    (void)found, (void)kind, (void)place;
    return remove(path);
}

/* Remove the folder with all that is in it, and free the path. */
static inline void remove_tree(char *path)
{
    if (nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) != 0)
        system_failed("remove", path);
    free(path);
}

/* "folder/name" in one of 64 static buffers: good for the next 63 calls. */
static inline const char *in_folder(const char *folder, const char *name)
{
    static char paths[64][1024];
    static unsigned turn;
    char *path = paths[turn++ % 64];

    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* Write a file, whatever stood there before. */
static inline void save_file(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");

    if (file == NULL || (size > 0 && fwrite(data, 1, size, file) != size) || fclose(file) != 0)
        system_failed("write", path);
}

static inline void save_text(const char *path, const char *text)
{
    save_file(path, text, strlen(text));
}

static inline void make_folder(const char *path)
{
    if (mkdir(path, 0777) != 0)
        system_failed("make the folder", path);
}

/* A whole file in memory; freed by the caller. */
static inline unsigned char *load_file(const char *path, size_t *size_out)
{
    struct stat found;
    FILE *file = fopen(path, "rb");
    unsigned char *data;

    if (file == NULL || fstat(fileno(file), &found) != 0)
        system_failed("read", path);
    data = malloc((size_t)found.st_size + 1);
    if (data == NULL || fread(data, 1, (size_t)found.st_size, file) != (size_t)found.st_size)
        system_failed("read", path);
    fclose(file);
    *size_out = (size_t)found.st_size;
    return data;
}

static inline int file_exists(const char *path)
{
    struct stat found;

    return lstat(path, &found) == 0;
}

/* Entries of a folder, "." and ".." not counted. */
static inline int count_entries(const char *path)
{
    DIR *folder = opendir(path);
    int count = -2;

    if (folder == NULL)
        system_failed("list", path);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

static inline void assert_holds(const char *path, const char *text)
{
    size_t size;
    unsigned char *data = load_file(path, &size);

    assert_int_equal(size, strlen(text));
    assert_memory_equal(data, text, size);
    free(data);
}

static inline int set_up_folder(void **state)
{
    *state = make_temp_folder();
    return 0;
}

static inline int tear_down_folder(void **state)
{
    remove_tree(*state);
    return 0;
}

/* A test whose state is the path of a folder of its own. */
#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up_folder, tear_down_folder)

/* Open descriptors of this process. */
static inline int fd_count(void)
{
    return count_entries("/proc/self/fd") - 1; /* less the one that lists them */
}

#endif
