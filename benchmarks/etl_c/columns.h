/* Columns of heap events, filled a batch at a time and used again: what both readers write. */
#ifndef TH_BENCH_COLUMNS_H
#define TH_BENCH_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#define ROWS 65536

typedef struct columns {
  size_t rows;
  int64_t time[ROWS];
  uint64_t heap[ROWS], address[ROWS], size[ROWS];
  uint32_t pid[ROWS], tid[ROWS], source[ROWS];
  uint16_t cpu[ROWS];
  uint8_t kind[ROWS];
} columns;

/* What is left of a batch when its rows are thrown away: for comparing the readers. */
typedef struct digest {
  uint64_t rows, sum;
} digest;

static inline void empty(columns *c, digest *d) {
  for (size_t i = 0; i < c->rows; i += 64)
    d->sum += c->address[i];
  d->rows += c->rows;
  c->rows = 0;
}

#endif
