/* What this process is to the system. */
#ifndef STK__PROCESS_H
#define STK__PROCESS_H

#include <stdint.h>

/* Its number: no other process of this machine has it now. Another one in a child of a fork. */
uint64_t stk__process_id(void);

/* Descriptors that it may have open at once; UINT64_MAX: no limit, or none that is known. */
uint64_t stk__process_max_files(void);

#endif
