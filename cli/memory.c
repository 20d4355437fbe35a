/* Memory that is there or ends the program: see cli.h. */
#include <stdlib.h>

#include "cli.h"
#include "out_human.h"

static void none_left(void)
{
    tell("stoker: no memory\n");
    exit(EXIT_MACHINE); /* NOLINT(concurrency-mt-unsafe): no other thread runs yet */
}

void *memory_get(void *old, size_t count, size_t size)
{
    void *memory;

    if (size != 0 && count > SIZE_MAX / size)
        none_left();
    memory = realloc(old, count * size > 0 ? count * size : 1);
    if (memory == NULL)
        none_left();
    return memory;
}

void *memory_more(void *array, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return array;
    *capacity = *capacity > 0 ? *capacity * 2 : 64;
    return memory_get(array, *capacity, size);
}
