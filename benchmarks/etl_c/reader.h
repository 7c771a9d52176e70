/* The product's reader, from bytes to the batches that Python gets. */
#ifndef TH_BENCH_READER_H
#define TH_BENCH_READER_H

#include "columns.h"
#include "made_trace.h"

/* `threads` unpack ahead. */
digest read_all(const made_trace *made, unsigned threads, int every);

#endif
