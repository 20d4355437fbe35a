/*
 * jpeg_whole: libjpeg-turbo decoding whole pictures, and nothing else.
 *
 *     jpeg_whole THREADS PASSES < list-of-files
 *
 * Threads take files one by one, read them, and decode every row to RGB with the library's default
 * settings (exact DCT, fancy upsampling) into a buffer that is used again; the rows are summed as
 * 64-bit words. One line of JSON a pass. The mark that a loader has to reach on the same cores with
 * the resize and all the rest included.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* clang-format off: after stdio.h, which it needs and does not include */
#include <jpeglib.h>
/* clang-format on */

#include "path_list.h"

enum { MAX_THREADS = 64 };

/* The files of a pass; `next` is the first one that nobody has taken. */
typedef struct work {
    path_list files;
    atomic_size_t next;
} work;

/* One thread: its buffers grow to the largest file and picture and stay. */
typedef struct worker {
    work *work;
    uint8_t *file, *pixels;
    size_t file_capacity, pixels_capacity;
    uint64_t sum;
    size_t decoded, failed;
} worker;

typedef struct failure {
    struct jpeg_error_mgr base;
    jmp_buf back;
} failure;

static void jump_back(j_common_ptr info)
{
    failure *f = (failure *)info->err; /* the base is its first member */
    longjmp(f->back, 1);
}

static void stay_silent(j_common_ptr info, int level)
{
    (void)info;
    (void)level;
}

static bool grow(uint8_t **buffer, size_t *capacity, size_t size)
{
    uint8_t *larger;

    if (size <= *capacity)
        return true;
    larger = realloc(*buffer, size);
    if (larger == NULL)
        return false;
    *buffer = larger;
    *capacity = size;
    return true;
}

/* The whole file into w->file. Returns its size, 0 after a failure. */
static size_t read_file(worker *w, const char *path)
{
    struct stat status;
    size_t size = 0, done = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return 0;
    if (fstat(fd, &status) == 0 && status.st_size > 0 &&
        grow(&w->file, &w->file_capacity, (size_t)status.st_size)) {
        size = (size_t)status.st_size;
    }
    while (done < size) {
        ssize_t got = read(fd, w->file + done, size - done);
        if (got <= 0) {
            size = 0;
            break;
        }
        done += (size_t)got;
    }
    close(fd);
    return size;
}

static uint64_t sum_words(const uint8_t *data, size_t size)
{
    uint64_t sum = 0, word = 0;
    size_t at = 0;

    for (; at + sizeof word <= size; at += sizeof word) {
        memcpy(&word, data + at, sizeof word);
        sum += word;
    }
    word = 0;
    memcpy(&word, data + at, size - at);
    return sum + word;
}

static bool decode(worker *w, size_t size)
{
    struct jpeg_decompress_struct jpeg;
    failure f;
    size_t pitch;

    jpeg.err = jpeg_std_error(&f.base);
    f.base.error_exit = jump_back;
    f.base.emit_message = stay_silent;
    jpeg_create_decompress(&jpeg);
    if (setjmp(f.back) != 0) {
        jpeg_destroy_decompress(&jpeg);
        return false;
    }
    jpeg_mem_src(&jpeg, w->file, (unsigned long)size);
    jpeg_read_header(&jpeg, TRUE);
    jpeg.out_color_space = JCS_RGB;
    jpeg_start_decompress(&jpeg);
    pitch = (size_t)jpeg.output_width * 3;
    if (!grow(&w->pixels, &w->pixels_capacity, pitch * jpeg.output_height))
        longjmp(f.back, 1);
    while (jpeg.output_scanline < jpeg.output_height) {
        JSAMPROW row = w->pixels + pitch * jpeg.output_scanline;
        jpeg_read_scanlines(&jpeg, &row, 1);
    }
    w->sum += sum_words(w->pixels, pitch * jpeg.output_height);
    jpeg_finish_decompress(&jpeg);
    jpeg_destroy_decompress(&jpeg);
    return true;
}

static void *work_off(void *argument)
{
    worker *w = argument;
    size_t nth;

    while ((nth = atomic_fetch_add(&w->work->next, 1)) < w->work->files.count) {
        size_t size = read_file(w, w->work->files.paths[nth]);
        bool fine = size > 0 && decode(w, size);
        w->decoded += fine;
        w->failed += !fine;
    }
    return NULL;
}

static double clock_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double cpu_seconds(long *peak_kib_out)
{
    struct rusage used;

    getrusage(RUSAGE_SELF, &used);
    *peak_kib_out = used.ru_maxrss;
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}

/* One pass over all files, and its line. */
static bool run_pass(work *shared, worker *workers, size_t threads)
{
    pthread_t ids[MAX_THREADS];
    uint64_t sum = 0;
    size_t decoded = 0, failed = 0;
    long peak_kib;
    double begun = clock_seconds(), cpu = cpu_seconds(&peak_kib);

    atomic_store(&shared->next, 0);
    for (size_t i = 0; i < threads; i++) {
        workers[i].sum = 0;
        workers[i].decoded = workers[i].failed = 0;
        if (pthread_create(&ids[i], NULL, work_off, &workers[i]) != 0)
            return false;
    }
    for (size_t i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        sum += workers[i].sum;
        decoded += workers[i].decoded;
        failed += workers[i].failed;
    }
    cpu = cpu_seconds(&peak_kib) - cpu;
    printf("{\"samples\": %zu, \"seconds\": %.6f, \"cpu_seconds\": %.6f, \"sum\": %" PRIu64
           ", \"failed\": %zu, \"peak_rss_bytes\": %ld}\n",
        decoded, clock_seconds() - begun, cpu, sum, failed, peak_kib * 1024);
    return failed == 0;
}

int main(int argc, char **argv)
{
    worker workers[MAX_THREADS] = {{0}};
    work shared = {{NULL, 0, 0}, 0};
    size_t threads = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
    size_t passes = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    bool fine;

    if (threads < 1 || threads > MAX_THREADS || passes < 1) {
        (void)fprintf(stderr, "usage: jpeg_whole THREADS PASSES < list-of-files\n");
        return 2;
    }
    fine = path_list_read(&shared.files);
    for (size_t i = 0; i < threads; i++)
        workers[i].work = &shared;
    for (size_t pass = 0; fine && pass < passes; pass++)
        fine = run_pass(&shared, workers, threads);
    for (size_t i = 0; i < threads; i++) {
        free(workers[i].file);
        free(workers[i].pixels);
    }
    path_list_fini(&shared.files);
    return fine ? 0 : 1;
}
