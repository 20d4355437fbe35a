/* Clocks by POSIX: see clock.h. */
#include <errno.h>
#include <time.h>

#include "os/clock.h"

uint64_t stk__clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for this clock */
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int64_t stk__clock_date_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now); /* cannot fail for this clock */
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void stk__clock_sleep(uint64_t wait_ns)
{
    struct timespec left = {
        .tv_sec = (time_t)(wait_ns / 1000000000u),
        .tv_nsec = (long)(wait_ns % 1000000000u),
    };

    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}
