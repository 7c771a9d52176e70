/* Rows from plain events (plain_event.h), straight from a trace's bytes, and the stacks that follow
   them. Whatever differs in anything stops it, and is for the slower way. */
#ifndef TH_ETL_HEAP_FILL_H
#define TH_ETL_HEAP_FILL_H

#include "etl/stack_join.h"
#include "etl/stream_inline.h"

/* References at hand. */
typedef struct th_heap_refs {
  const th_event_ref *refs;
  size_t at, count;     /* the next, and how many there are */
  const uint16_t *cpus; /* of their leaves */
} th_heap_refs;

/* What was taken. */
typedef struct th_heap_filled {
  size_t rows, allocs, stacks;
} th_heap_filled;

/* Both need an open chunk, which is to be closed by the caller if it is full then; `*filled` says
   what was taken. False: no memory. */

/* Takes the plain events that are next among the references, up to `count`. */
TH_NODISCARD bool th_heap_fill(th_stack_join *join, th_heap_refs *refs, size_t count,
                               th_heap_filled *filled);
/* Takes those of a span from its start on, which moves behind them: up to `count`, and of times
   before `limit`. When it meets one that is earlier than the one before it, it takes none and says
   so in the span. */
TH_NODISCARD bool th_heap_fill_span(th_stack_join *join, th_stream_span *span, size_t count,
                                    int64_t limit, th_heap_filled *filled);

#endif
