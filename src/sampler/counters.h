/*
 * The second counter word of each use of Philox that has to do with order, so that no two uses ever
 * share a block. Transforms have their index in the chain there, which is below 2^63.
 */
#ifndef STK__COUNTERS_H
#define STK__COUNTERS_H

#define STK__COUNTER_SUBSTITUTE (1ull << 63)
#define STK__COUNTER_PERMUTE    ((1ull << 63) + 1)
#define STK__COUNTER_WEIGHTED   ((1ull << 63) + 2)

#endif
