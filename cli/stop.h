/*
 * Ctrl-C and SIGTERM.
 *
 * At first a signal ends the program at once with EXIT_STOPPED: there is nothing to clean up. After
 * stop_gently() it only sets a flag; the work sees it between two files, removes what is half
 * written and returns EXIT_STOPPED. A second signal then ends it at once; what it leaves behind the
 * next run removes.
 */
#ifndef STOP_H
#define STOP_H

#include <stdbool.h>

void stop_start(void);
void stop_gently(void);
void stop_at_once(void); /* takes stop_gently() back; what was asked meanwhile ends it now */
bool stop_asked(void);

/* End the program as a signal would have. */
void stop_now(void) __attribute__((noreturn));

/* Is a progress bar on the line of the cursor? Then a sudden end takes it away first. */
void stop_clears_line(bool clears);

#endif
