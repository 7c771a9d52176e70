/* The bare loops: what a reader would be that trusts its input. They look at nothing twice, check
   no length and no kind, and know what the made trace holds: heap events with and without a stack
   behind them, of 64-bit processes. */
#ifndef TH_BENCH_BARE_H
#define TH_BENCH_BARE_H

#include "columns.h"
#include "made_trace.h"

typedef struct bare bare;

bare *bare_new(void);
/* From buffer to buffer as they are in the file, into columns; stacks to small numbers. */
digest bare_in_file_order(bare *loop, const made_trace *made, int every);
/* The same in order of time: the earliest of the processors' next events, each time. */
digest bare_in_time_order(bare *loop, const made_trace *made, int every);
void bare_free(bare *loop);

#endif
