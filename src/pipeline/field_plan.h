/*
 * What a loader makes of each sample: its fields resolved against the dataset, once, at opening.
 *
 * A plan never changes after it was made; any number of threads may read it.
 */
#ifndef STK__FIELD_PLAN_H
#define STK__FIELD_PLAN_H

#include <stoker/codec.h>
#include <stoker/dataset.h>
#include <stoker/pipeline.h>

#include "batch/arena.h"
#include "transform/image_chain.h"

/* Alternatives of one field ("jpg;jpeg;png;webp;..."), at most. */
#define STK__FIELD_MAX_SOURCES 32

/* One field of the batch; the column has the same number. */
typedef struct stk__field {
    char *name;   /* owned */
    char *source; /* owned: as declared, for errors */
    stk_field_kind kind;
    bool optional, orient;
    bool from_folder;                     /* label: where no member has it, the class folder */
    uint32_t ids[STK__FIELD_MAX_SOURCES]; /* of field names in the dataset */
    size_t id_count;                      /* 0: no member is read */
    uint64_t max_bytes;                   /* of its members in the dataset */
    stk__image_chain *chain;              /* images; owned */
    uint32_t width, height;               /* images: of the output */
    stk_npy_info npy;                     /* arrays: dtype and shape that all must have */
    stk_dtype dtype;
    stk_layout layout;
    size_t chain_count;
} stk__field;

typedef struct stk__field_plan {
    stk__heap *heap;
    stk_dataset *dataset; /* borrowed from the loader */
    stk_limits limits;
    stk__field *fields;
    size_t count;                       /* made so far */
    size_t allocated;                   /* room in fields */
    uint64_t max_sample_bytes;          /* of the members of one sample that are read, at most */
    uint32_t probe_width, probe_height; /* of the first picture that could be read */
} stk__field_plan;

/*
 * Resolve and check the declared fields; the shapes of pictures and arrays whose size the
 * declaration leaves open are those of the first sample that can be read.
 *
 * STK_EINVAL, STK_EFIELD (no sample has it), STK_ESHAPE, STK_ENOTSUP, STK_ENOMEM. May block.
 */
STK_MUST_CHECK stk_status stk__field_plan_init(stk__field_plan *plan, stk__heap *heap,
    stk_dataset *dataset, const stk_loader_options *options, stk_error *err);
void stk__field_plan_fini(stk__field_plan *plan);

/* The columns of a batch: plan->count of them into specs. */
void stk__field_plan_columns(const stk__field_plan *plan, size_t rows, stk__column_spec *specs);

#endif
