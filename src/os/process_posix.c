/* What this process is to the system: see process.h. */
#include <unistd.h>

#include "os/process.h"

uint64_t stk__process_id(void)
{
    return (uint64_t)getpid();
}

uint64_t stk__process_max_files(void)
{
    long limit = sysconf(_SC_OPEN_MAX);

    return limit >= 0 ? (uint64_t)limit : UINT64_MAX;
}
