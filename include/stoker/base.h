/**
 * stoker/base.h: what every other header of Stoker leans on.
 *
 * Words. A *status* says how a call ended; an *error* says where and why. A *view* is bytes that
 * somebody else owns and that are only read; a *span* is memory of the caller that is written.
 *
 * Unless a declaration says otherwise, in all headers of Stoker:
 *   - a handle is used by one thread at a time, different handles by any threads at once;
 *   - a call does not block on anything but memory;
 *   - outputs are set on success only, and nothing is left half-made after a failure;
 *   - `err` may be NULL; it is written on failure only;
 *   - sizes and counts are size_t, offsets and positions uint64_t, pixels uint32_t;
 *   - strings are UTF-8 or, where they name files or members, the bytes as they are stored.
 *
 * The library never prints, never exits, and aborts on nothing that a file or a user can cause.
 */
#ifndef STOKER_BASE_H
#define STOKER_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#    define STK_API        __attribute__((visibility("default")))
#    define STK_MUST_CHECK __attribute__((warn_unused_result))
#else
#    define STK_API
#    define STK_MUST_CHECK
#endif

/** Alignment in bytes of every tensor row block and slot that Stoker hands out. */
#define STK_ALIGN_BYTES 64u

/**
 * All statuses: number, name, sentence. Numbers never change meaning. 0 is success, positive
 * numbers are news that is no failure, negative ones are failures.
 */
#define STK_STATUS_LIST(X)                                                          \
    X(0, OK, "done")                                                                \
    X(1, END, "nothing is left")                                                    \
    X(2, AGAIN, "not ready within the time given")                                  \
    X(-1, EINVAL, "an argument is outside its range")                               \
    X(-2, ENOMEM, "the system or the memory ceiling refused memory")                \
    X(-3, ESOURCE, "a file or another source could not be opened, read or written") \
    X(-4, ECORRUPT, "data is damaged")                                              \
    X(-5, ENOTSUP, "this build or this version cannot do it")                       \
    X(-6, ELIMIT, "a limit against hostile input was passed")                       \
    X(-7, ESHAPE, "a shape does not fit")                                           \
    X(-8, EFIELD, "a sample lacks a field")                                         \
    X(-9, ESTATE, "a saved state belongs to something else")                        \
    X(-10, EINDEX, "an index does not match its data")                              \
    X(-11, EBUDGET, "more samples are damaged than the budget allows")              \
    X(-12, EBUSY, "every batch slot is held and the ceiling allows no other")       \
    X(-13, EFORK, "the handle was made before fork and belongs to the parent")      \
    X(-14, ECLOSED, "the handle is closed")                                         \
    X(-15, ERANGE, "an index is past the end")                                      \
    X(-16, EEXIST, "the output exists already")                                     \
    X(-17, ESTOPPED, "it was told to stop")

typedef enum stk_status {

#define STK_STATUS_ENUM(number, name, text) STK_##name = number,
    STK_STATUS_LIST(STK_STATUS_ENUM)
#undef STK_STATUS_ENUM
} stk_status;

/** "STK_ECORRUPT"; "STK_?" for a number that is no status. Static storage, never NULL. */
STK_API const char *stk_status_name(stk_status status);

/** The sentence of the list above. Static storage, never NULL. */
STK_API const char *stk_status_text(stk_status status);

/** Where in the life of a batch something happened; also the rows of the stage table. */
#define STK_STAGE_LIST(X)     \
    X(NONE, "")               \
    X(OPEN, "open")           \
    X(PLAN, "plan")           \
    X(READ, "read")           \
    X(MEMBER, "member")       \
    X(DECODE, "decode")       \
    X(TRANSFORM, "transform") \
    X(COLLATE, "collate")     \
    X(DEVICE, "device")       \
    X(DELIVER, "deliver")     \
    X(WRITE, "write")

typedef enum stk_stage {

#define STK_STAGE_ENUM(name, text) STK_STAGE_##name,
    STK_STAGE_LIST(STK_STAGE_ENUM)
#undef STK_STAGE_ENUM
        STK_STAGE_COUNT
} stk_stage;

/** "decode"; "" for STK_STAGE_NONE and for numbers that are no stage. Static storage. */
STK_API const char *stk_stage_name(stk_stage stage);

/**
 * Details of a failure, owned by the caller, usually on the stack. Every text is NUL-terminated and
 * empty where it is not known. Longer texts are cut; names of files and members keep their tail.
 */
typedef struct stk_error {
    stk_status status;
    int os_errno;    /* errno of the system call at fault, else 0 */
    stk_stage stage; /* STK_STAGE_NONE if not known */
    bool has_offset;
    uint64_t offset;  /* byte in `source` (or in the bytes given, where there is no source) */
    uint64_t sample;  /* index of the sample in the dataset; UINT64_MAX if not known */
    char source[512]; /* path or URL, without user and query */
    char shard[160];  /* its short name: what a person calls it */
    char key[256];    /* key of the sample */
    char field[64];   /* field of the sample */
    char text[256];   /* one line, past tense, nothing that the fields above say */
} stk_error;

#define STK_ERROR_INIT {STK_OK, 0, STK_STAGE_NONE, false, 0, UINT64_MAX, {0}, {0}, {0}, {0}, {0}}

/**
 * Write an error as one line: text, then the place in parentheses: "JPEG data ended in row 212 of
 * 375 (train-000012.tar, sample n0144, field jpg, byte 8,241,664, stage decode)".
 *
 * @return bytes that the whole line needs without its NUL; it was cut if that is >= capacity.
 */
STK_API size_t stk_error_format(const stk_error *err, char *line, size_t capacity);

/** What to do about it, one sentence for each status; "" if there is nothing to advise. */
STK_API const char *stk_status_cure(stk_status status);

/** The same by all that an error knows: its stage, errno and place. Static storage, never NULL. */
STK_API const char *stk_error_cure(const stk_error *err);

/** Bytes to be read: borrowed, never owned. `data` may be NULL only if size is 0. */
typedef struct stk_view {
    const void *data;
    size_t size;
} stk_view;

/** Memory of the caller to be written: borrowed, never owned. */
typedef struct stk_span {
    void *data;
    size_t size;
} stk_span;

/** Element types: number, name, DLPack code (0 int, 1 uint, 2 float, 4 bfloat, 6 bool), bits. */
#define STK_DTYPE_LIST(X)          \
    X(1, U8, "uint8", 1, 8)        \
    X(2, I8, "int8", 0, 8)         \
    X(3, U16, "uint16", 1, 16)     \
    X(4, I16, "int16", 0, 16)      \
    X(5, U32, "uint32", 1, 32)     \
    X(6, I32, "int32", 0, 32)      \
    X(7, U64, "uint64", 1, 64)     \
    X(8, I64, "int64", 0, 64)      \
    X(9, F16, "float16", 2, 16)    \
    X(10, BF16, "bfloat16", 4, 16) \
    X(11, F32, "float32", 2, 32)   \
    X(12, F64, "float64", 2, 64)   \
    X(13, BOOL, "bool", 6, 8)

typedef enum stk_dtype {
    STK_DTYPE_NONE = 0,

#define STK_DTYPE_ENUM(number, name, text, code, bits) STK_##name = number,
    STK_DTYPE_LIST(STK_DTYPE_ENUM)
#undef STK_DTYPE_ENUM
} stk_dtype;

/** Bytes of one element; 0 for what is no dtype. */
STK_API size_t stk_dtype_bytes(stk_dtype dtype);

/** "float32"; "?" for what is no dtype. Static storage. */
STK_API const char *stk_dtype_name(stk_dtype dtype);

/** The dtype of that name, or STK_DTYPE_NONE. */
STK_API stk_dtype stk_dtype_of(const char *name);

/** How the axes of a picture lie in memory. */
typedef enum stk_layout {
    STK_NHWC = 0, /* channels last */
    STK_NCHW = 1, /* channels first */
} stk_layout;

/** A part of a picture, in pixels. */
typedef struct stk_rect {
    uint32_t left, top, width, height;
} stk_rect;

/** Rows of 8-bit pixels in memory of the caller. */
typedef struct stk_image {
    void *data;             /* first pixel of the first row */
    size_t pitch_bytes;     /* from a row to the next; at least width * channels */
    uint32_t width, height; /* pixels */
} stk_image;

/**
 * Limits against hostile or broken input. Each is named in the error (STK_ELIMIT) that hits it.
 */
typedef struct stk_limits {
    uint64_t max_pixels;       /* of one picture, from its header; 2^28 (268 million) */
    uint32_t max_scans;        /* of one progressive JPEG; 500 */
    uint32_t max_depth;        /* nesting of JSON; 512 */
    uint64_t max_member_bytes; /* of one field that a loader reads; 2^31 */
    uint64_t max_header_bytes; /* of one extended tar header, of one npy header; 2^20 */
} stk_limits;

#define STK_LIMITS_INIT {1ull << 28, 500, 512, 1ull << 31, 1ull << 20}

/** Version of the library, "0.1.0". Static storage. */
STK_API const char *stk_version(void);

#ifdef __cplusplus
}
#endif

#endif
