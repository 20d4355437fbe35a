/* Lines "name field=value ...: answer" of documents and golden files. */
#ifndef STK_VECTORS_H
#define STK_VECTORS_H

#include "support/test.h"

enum { VECTOR_BYTES = 1024 };

/* Where the value of a field begins: "seed" in "crop seed=7 epoch=0: ..." */
static inline const char *vector_value(const char *line, const char *field)
{
    char pattern[32];
    const char *found;

    snprintf(pattern, sizeof pattern, " %s=", field);
    found = strstr(line, pattern);
    if (found == NULL)
        fail_msg("no %s in: %s", field, line);
    return found + strlen(pattern);
}

static inline uint64_t vector_number(const char *line, const char *field)
{
    return strtoull(vector_value(line, field), NULL, 0);
}

/* Is the value of the field this word? */
static inline bool vector_is(const char *line, const char *field, const char *word)
{
    const char *value = vector_value(line, field);
    size_t length = strcspn(value, " :\n");

    return strlen(word) == length && memcmp(value, word, length) == 0;
}

static inline const char *vector_answer(const char *line)
{
    const char *colon = strstr(line, ": ");

    assert_non_null(colon);
    return colon + 2;
}

/* Does the line begin with this word? */
static inline bool vector_named(const char *line, const char *name)
{
    size_t length = strlen(name);

    return strncmp(line, name, length) == 0 && line[length] == ' ';
}

/* Calls `check` for each vector of a file, or of its ```vectors blocks if it has any; returns how
 * many there are. */
static inline size_t each_vector(const char *path, void (*check)(const char *line))
{
    FILE *file = fopen(path, "r");
    char line[VECTOR_BYTES];
    bool is_document = strstr(path, ".md") != NULL, inside = !is_document;
    size_t count = 0;

    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "```", 3) == 0) {
            inside = is_document && strncmp(line, "```vectors", 10) == 0;
        } else if (inside && line[0] != '#' && line[0] != '\n') {
            assert_non_null(strchr(line, '\n')); /* the line fits */
            check(line);
            count++;
        }
    }
    assert_int_equal(ferror(file), 0);
    fclose(file);
    return count;
}

#endif
