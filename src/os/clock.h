/* The clock: monotonic time of the machine, in nanoseconds. Any thread. */
#ifndef STK__CLOCK_H
#define STK__CLOCK_H

#include <stdint.h>

/* Monotonic, unaffected by changes of the date. */
uint64_t stk__clock_ns(void);

/* Let the calling thread sleep at least this long. */
void stk__clock_sleep(uint64_t wait_ns);

#endif
