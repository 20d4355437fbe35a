/* Ctrl-C and SIGTERM: see stop.h. */
#include "stop.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

/* Written by the main thread and the handler, read by any thread; lock-free, so a handler may. */
static atomic_bool gentle, asked, clears_line;

void stop_now(void)
{
    static const char clear[] = "\r\033[K";

    if (clears_line && write(STDERR_FILENO, clear, sizeof clear - 1) < 0)
        _exit(EXIT_STOPPED);
    _exit(EXIT_STOPPED);
}

static void on_signal(int number)
{
    (void)number;
    if (!gentle || asked)
        stop_now();
    asked = true;
}

void stop_start(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGINT, &action, NULL) != 0 || sigaction(SIGTERM, &action, NULL) != 0)
        return; /* then the default action ends the program, as it would have */
}

void stop_gently(void)
{
    gentle = true;
    if (signal(SIGXFSZ, SIG_IGN) ==
        SIG_ERR) /* a file limit is then a failed write, told like one */
        return;
}

void stop_at_once(void)
{
    gentle = false;
    if (asked)
        stop_now();
}

bool stop_asked(void)
{
    return asked;
}

void stop_clears_line(bool clears)
{
    clears_line = clears;
}
