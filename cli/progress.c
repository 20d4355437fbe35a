/* A bar on standard error: see progress.h. */
#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "out_human.h"
#include "stop.h"

enum { NARROWEST = 40, USUAL_WIDTH = 80, BAR_MOST = 40 };

uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for this clock */
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool on_terminal(void)
{
    const char *term = getenv("TERM"); /* NOLINT(concurrency-mt-unsafe): one thread so far */

    return isatty(STDERR_FILENO) && term != NULL && strcmp(term, "dumb") != 0;
}

void progress_start(progress *p, const char *doing, const char *unit, uint64_t total, bool quiet)
{
    *p = (progress){.doing = doing, .unit = unit, .total = total, .start_ns = clock_ns()};
    p->wanted = !quiet && on_terminal();
    if (p->wanted) {
        stop_clears_line(true);
        progress_draw(p);
    }
}

void progress_add(progress *p, uint64_t units, uint64_t bytes)
{
    /* relaxed: nothing else is published with these numbers */
    atomic_fetch_add_explicit(&p->units, units, memory_order_relaxed);
    atomic_fetch_add_explicit(&p->bytes, bytes, memory_order_relaxed);
}

static size_t terminal_width(void)
{
    struct winsize size;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return USUAL_WIDTH;
    return size.ws_col < NARROWEST ? NARROWEST : size.ws_col;
}

/* "  43%  12,345 of 28,000 samples  210 MB/s  12.0 s left" */
static void describe(const progress *p, char *line, size_t capacity)
{
    uint64_t units = atomic_load_explicit(&p->units, memory_order_relaxed);
    uint64_t bytes = atomic_load_explicit(&p->bytes, memory_order_relaxed);
    double seconds = (double)(clock_ns() - p->start_ns) * 1e-9;
    double share = p->total > 0 ? (double)units / (double)p->total : 0;
    int used;

    used = snprintf(line, capacity, " %3.0f%%  %s of %s %s", share * 100, count_text(units).text,
        count_text(p->total).text, p->unit);
    if (used > 0 && (size_t)used < capacity && bytes > 0 && seconds > 0.2) {
        uint64_t rate = (uint64_t)((double)bytes / seconds);
        int more = snprintf(line + used, capacity - (size_t)used, "  %s/s", bytes_text(rate).text);
        used += more > 0 ? more : 0;
    }
    if (used > 0 && (size_t)used < capacity && units > 0 && seconds > 1 && units < p->total) {
        double left = seconds * (double)(p->total - units) / (double)units;
        if (snprintf(line + used, capacity - (size_t)used, "  %s left", seconds_text(left).text) <
            0)
            line[used] = '\0';
    }
}

void progress_draw(progress *p)
{
    char text[160];
    uint64_t units = atomic_load_explicit(&p->units, memory_order_relaxed);
    size_t width = terminal_width(), taken, bar, full;

    if (!p->wanted)
        return;
    describe(p, text, sizeof text);
    taken = strlen(p->doing) + strlen(text) + 5;
    tell("\r\033[K%s ", p->doing);
    if (taken + 8 < width) {
        bar = width - taken < BAR_MOST ? width - taken : BAR_MOST;
        full = p->total > 0 ? (size_t)((double)bar * (double)units / (double)p->total) : 0;
        tell("[");
        for (size_t i = 0; i < bar; i++)
            tell("%c", i < full ? '#' : '-');
        tell("]");
    }
    tell("%.*s", (int)(width - strlen(p->doing) - 2), text);
    if (fflush(stderr) != 0)
        p->wanted = false;
}

void progress_end(progress *p)
{
    if (!p->wanted)
        return;
    p->wanted = false;
    tell("\r\033[K");
    stop_clears_line(false);
}
