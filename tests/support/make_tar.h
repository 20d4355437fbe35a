/*
 * Tar archives made by hand, byte by byte, right and wrong ones. Out of memory ends the test.
 *
 *     made_tar t = {0};
 *     tar_text(&t, "a.jpg", "bytes");
 *     tar_end(&t);
 *     save_file(path, t.data, t.size);
 *     tar_free(&t);
 */
#ifndef STK_MAKE_TAR_H
#define STK_MAKE_TAR_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct made_tar {
    unsigned char *data;
    size_t size, capacity;
} made_tar;

/* One header block, for whoever wants to bend a part of it. */
typedef struct tar_head {
    const char *name; /* up to 100 bytes; a longer one is cut */
    unsigned long long size;
    const char *size_field; /* 12 bytes that stand there instead; NULL: `size` in octal */
    char type;              /* 0: '0' */
    const char *link;       /* NULL: "" */
    const char *prefix;     /* NULL: "" */
    const char *magic;      /* 8 bytes; NULL: POSIX ustar */
} tar_head;

static inline void tar_put(made_tar *t, const void *data, size_t size)
{
    if (t->capacity - t->size < size) {
        t->capacity = (t->size + size) * 2;
        t->data = realloc(t->data, t->capacity);
        if (t->data == NULL)
            abort();
    }
    if (size > 0)
        memcpy(t->data + t->size, data, size);
    t->size += size;
}

/* Zeros up to the next block. */
static inline void tar_pad(made_tar *t)
{
    static const char zeros[512];

    tar_put(t, zeros, (512 - t->size % 512) % 512);
}

static inline void tar_field(unsigned char *to, size_t room, const char *text)
{
    size_t length = strlen(text);

    memcpy(to, text, length < room ? length : room);
}

static inline void tar_put_head(made_tar *t, const tar_head *head)
{
    unsigned char block[512] = {0};
    char number[32];
    unsigned sum = 0;

    tar_field(block, 100, head->name);
    memcpy(block + 100, "0000644\0000000000\0000000000", 24);
    snprintf(number, sizeof number, "%011llo", head->size);
    memcpy(block + 124, head->size_field != NULL ? head->size_field : number, 12);
    memcpy(block + 136, "00000000000", 12);
    block[156] = (unsigned char)(head->type != 0 ? head->type : '0');
    tar_field(block + 157, 100, head->link != NULL ? head->link : "");
    memcpy(block + 257, head->magic != NULL ? head->magic : "ustar\00000", 8);
    tar_field(block + 345, 155, head->prefix != NULL ? head->prefix : "");
    memset(block + 148, ' ', 8);
    for (size_t i = 0; i < sizeof block; i++)
        sum += block[i];
    snprintf(number, sizeof number, "%06o", sum);
    memcpy(block + 148, number, 7);
    tar_put(t, block, sizeof block);
}

/* A regular member. */
static inline void tar_file(made_tar *t, const char *name, const void *data, size_t size)
{
    tar_put_head(t, &(tar_head){.name = name, .size = size});
    tar_put(t, data, size);
    tar_pad(t);
}

/* The same with a text, without its NUL. */
static inline void tar_text(made_tar *t, const char *name, const char *text)
{
    tar_file(t, name, text, strlen(text));
}

/* A hard link ('1') or a symbolic one ('2'). */
static inline void tar_link(made_tar *t, const char *name, char type, const char *target)
{
    tar_put_head(t, &(tar_head){.name = name, .type = type, .link = target});
}

/* One record of an extended header; its length counts itself. Returns the bytes written to `to`. */
static inline size_t tar_pax_record(
    char *to, size_t room, const char *key, const void *value, size_t size)
{
    size_t body = strlen(key) + size + 3, length = body + 1;
    int lead;

    while ((size_t)snprintf(NULL, 0, "%zu", length) + body != length)
        length++;
    if (length > room)
        abort();
    lead = snprintf(to, room, "%zu %s=", length, key);
    memcpy(to + lead, value, size);
    to[length - 1] = '\n';
    return length;
}

/* A member whose name is any bytes, by way of a pax header. */
static inline void tar_named(
    made_tar *t, const void *name, size_t name_size, const void *data, size_t size)
{
    size_t room = name_size + 64;
    char *records = malloc(room);
    size_t length;

    if (records == NULL)
        abort();
    length = tar_pax_record(records, room, "path", name, name_size);
    tar_put_head(t, &(tar_head){.name = "PaxHeaders/x", .size = length, .type = 'x'});
    tar_put(t, records, length);
    tar_pad(t);
    free(records);
    tar_file(t, "short", data, size);
}

/* The end-of-archive marker. */
static inline void tar_end(made_tar *t)
{
    static const char zeros[1024];

    tar_put(t, zeros, sizeof zeros);
}

static inline void tar_free(made_tar *t)
{
    free(t->data);
    *t = (made_tar){0};
}

#endif
