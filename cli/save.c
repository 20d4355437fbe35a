/* A small file that is there whole or not at all: see save.h. The engine does the writing; a report
 * of a million damages, the most that are kept, takes some 400 MB until it is written. */
#include "save.h"

#include <stdlib.h>

#include <stoker/os.h>

#include "cli.h"
#include "out_human.h"

char *save_in_memory(void (*write)(FILE *file, const void *ctx), const void *ctx, size_t *size_out)
{
    char *text = NULL;
    FILE *memory = open_memstream(&text, size_out);
    bool failed;

    if (memory == NULL)
        return NULL;
    write(memory, ctx);
    failed = ferror(memory) != 0;
    if (fclose(memory) == 0 && !failed)
        return text;
    free(text);
    return NULL;
}

stk_status save_file(
    const char *path, void (*write)(FILE *file, const void *ctx), const void *ctx, stk_error *err)
{
    size_t size = 0;
    char *text = save_in_memory(write, ctx, &size);
    stk_status st;

    if (text == NULL)
        return error_make(err, STK_ENOMEM, path, "no memory for the contents of the file");
    st = stk_file_save(path, (stk_view){text, size}, err);
    free(text);
    return st;
}
