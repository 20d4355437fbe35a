/* The clock: monotonic time of the machine, in nanoseconds. Any thread. */
#ifndef STK__CLOCK_H
#define STK__CLOCK_H

#include <stdint.h>

/* Monotonic, unaffected by changes of the date. */
uint64_t stk__clock_ns(void);

/* The date: since 1970, UTC. May be set, and differ from the clock of a file server. */
int64_t stk__clock_date_ns(void);

/* Let the calling thread sleep at least this long. */
void stk__clock_sleep(uint64_t wait_ns);

#endif
