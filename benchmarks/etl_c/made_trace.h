/* A synthetic trace in memory for the benchmarks: heap events of some processors, interleaved, in
   buffers as a 64-bit kernel writes them. */
#ifndef TH_BENCH_MADE_TRACE_H
#define TH_BENCH_MADE_TRACE_H

#include <stddef.h>
#include <stdint.h>

#define MADE_FRAMES 32 /* more than any stack has; half of it at least */

typedef struct made_shape {
  size_t bytes; /* about */
  unsigned cpus;
  unsigned burst;  /* events in a row of one processor, in the middle; 1: as they come */
  uint32_t buffer; /* bytes */
  uint32_t stacks; /* different ones, behind every allocation; 0: none */
  int packed;      /* with XPRESS */
  unsigned rate;   /* heap events a second, thousands; 0: 250 */
} made_shape;

typedef struct made_trace {
  uint8_t *bytes;
  size_t size;
  unsigned cpus;
  uint32_t stacks;
  uint64_t events, with_stack; /* heap events */
} made_trace;

/* Exits when there is no memory. */
made_trace make_trace(made_shape shape);

#endif
