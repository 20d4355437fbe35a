/* A small file that is there whole or not at all: see save.h. */
#include "save.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "out_human.h"

static stk_status failed(const char *path, int os_errno, stk_error *err)
{
    error_os(err, os_errno, path, "file could not be written");
    err->stage = STK_STAGE_WRITE;
    return STK_ESOURCE;
}

static stk_status write_to(const char *path, const char *mode, void (*write)(FILE *, const void *),
    const void *ctx, stk_error *err)
{
    FILE *file = fopen(path, mode);
    int os_errno = 0;

    if (file == NULL)
        return failed(path, errno, err);
    write(file, ctx);
    if (fflush(file) != 0 || ferror(file))
        os_errno = errno != 0 ? errno : EIO;
    if (os_errno == 0 && fsync(fileno(file)) != 0 && errno != EINVAL && errno != EROFS)
        os_errno = errno;
    if (fclose(file) != 0 && os_errno == 0)
        os_errno = errno;
    return os_errno != 0 ? failed(path, os_errno, err) : STK_OK;
}

stk_status save_file(
    const char *path, void (*write)(FILE *file, const void *ctx), const void *ctx, stk_error *err)
{
    const char *slash = strrchr(path, '/');
    size_t folder = slash == NULL ? 0 : (size_t)(slash - path) + 1;
    size_t capacity = strlen(path) + 32;
    struct stat st;
    char *temporary;
    stk_status status;

    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return write_to(path, "we", write, ctx, err);
    temporary = malloc(capacity);
    if (temporary == NULL)
        return error_make(err, STK_ENOMEM, path, "no memory for a name");
    if (snprintf(temporary, capacity, "%.*s.%s.%ld.part", (int)folder, path, path + folder,
            (long)getpid()) < 0)
        temporary[0] = '\0';
    status = write_to(temporary, "wxe", write, ctx, err);
    if (status >= 0 && rename(temporary, path) != 0)
        status = failed(path, errno, err);
    if (status < 0 && unlink(temporary) != 0)
        err->stage = STK_STAGE_WRITE; /* nothing was left, or nothing can be done about it */
    free(temporary);
    return status;
}
