/* Columns of heap events, the same that a batch of the reader has: what the bare loops write. They
   are a ring of two halves: a row can still get its stack while the other half fills. */
#ifndef TH_BENCH_COLUMNS_H
#define TH_BENCH_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#define HALF 16384 /* rows; as many as a batch of the reader has */
#define RING (2 * HALF)
#define NO_STACK UINT32_MAX

typedef struct columns {
  int64_t time[RING]; /* nanoseconds */
  uint64_t heap[RING], address[RING], size[RING], old_address[RING], old_size[RING];
  uint32_t pid[RING], tid[RING], source[RING], stack[RING];
  uint16_t cpu[RING];
  uint8_t kind[RING];
} columns;

/* What is left of rows when they are thrown away: for comparing who made them. `every`: look at all
   values of all rows, whatever their order; else at a few, to be fast. */
typedef struct digest {
  uint64_t rows, sum, backwards, with_stack;
  int64_t last_time;
  int every;
} digest;

static inline uint64_t mix(uint64_t a, uint64_t b) {
  a = (a ^ b) * UINT64_C(0x9e3779b97f4a7c15);
  return a ^ a >> 29;
}

/* Values of one row, wherever they stand. A stack counts by its first frame, not by its number. */
#define DIGEST_ROW(d, c, i, first_frame)                                                           \
  do {                                                                                             \
    uint64_t h = mix((uint64_t)(c)->time[i], (c)->cpu[i]);                                         \
    h = mix(mix(mix(h, (c)->pid[i]), (c)->tid[i]), (c)->kind[i]);                                  \
    h = mix(mix(mix(h, (c)->heap[i]), (c)->address[i]), (c)->size[i]);                             \
    (d)->sum += mix(mix(h, (c)->source[i]), (first_frame));                                        \
    (d)->backwards += (c)->time[i] < (d)->last_time;                                               \
    (d)->last_time = (c)->time[i];                                                                 \
    (d)->with_stack += (c)->stack[i] != NO_STACK;                                                  \
  } while (0)

#endif
