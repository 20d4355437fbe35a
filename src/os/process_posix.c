/* What this process is to the system: see process.h. */
#include <unistd.h>

#include "os/process.h"

uint64_t stk__process_id(void)
{
    return (uint64_t)getpid();
}
