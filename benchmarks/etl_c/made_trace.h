/* A synthetic trace in memory for the benchmarks: heap events of many processors, finely
   interleaved, in buffers as a 64-bit kernel writes them. */
#ifndef TH_BENCH_MADE_TRACE_H
#define TH_BENCH_MADE_TRACE_H

#include <stddef.h>
#include <stdint.h>

typedef struct made_trace {
  uint8_t *bytes;
  size_t size;
  uint64_t events; /* heap events */
} made_trace;

/* `bytes` about, of `cpus` processors, in buffers of `buffer` bytes; packed with XPRESS or not.
   Exits when there is no memory. */
made_trace make_trace(size_t bytes, unsigned cpus, uint32_t buffer, int packed);

#endif
