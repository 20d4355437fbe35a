/* path_list.c: see path_list.h. */
#include "path_list.h"

#include <stdio.h>
#include <stdlib.h>

/* Take over `path`, also when it cannot be appended. */
static bool append(path_list *list, char *path)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity > 0 ? list->capacity * 2 : 64;
        char **larger = (char **)realloc((void *)list->paths, capacity * sizeof *larger);

        if (larger == NULL) {
            free(path);
            return false;
        }
        list->paths = larger;
        list->capacity = capacity;
    }
    list->paths[list->count++] = path;
    return true;
}

bool path_list_read(path_list *list)
{
    for (;;) {
        char *line = NULL;
        size_t capacity = 0;
        ssize_t length = getline(&line, &capacity, stdin);

        if (length <= 0) {
            free(line);
            return list->count > 0;
        }
        if (line[length - 1] == '\n')
            line[length - 1] = '\0';
        if (!append(list, line))
            return false;
    }
}

void path_list_fini(path_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->paths[i]);
    free((void *)list->paths);
    *list = (path_list){NULL, 0, 0};
}
