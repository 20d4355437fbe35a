/* path_list.h: the lines of standard input, for programs that take their files there. */
#ifndef STOKER_BENCH_PATH_LIST_H
#define STOKER_BENCH_PATH_LIST_H

#include <stdbool.h>
#include <stddef.h>

typedef struct path_list {
    char **paths;
    size_t count, capacity;
} path_list;

/* Append all lines of standard input. False without memory, and when there is none. */
bool path_list_read(path_list *list);

/* Free what was read. */
void path_list_fini(path_list *list);

#endif
