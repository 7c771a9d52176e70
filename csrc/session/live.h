/* The consumer of live sessions: threads that wait for events, decode them as a file's would be,
   and hand them on in batches through a bounded queue.

   When nobody takes the batches, the queue fills, the thread waits, ETW's buffers fill behind it,
   and ETW loses events and counts them: memory stays bounded, and losses show in the session's
   figures. */
#ifndef TH_SESSION_LIVE_H
#define TH_SESSION_LIVE_H

#include "etl/trace.h"
#include "sys/etw.h"

#define TH_LIVE_FEEDS 2 /* the heap session, and its companion */

typedef struct th_live th_live;

/* Takes every batch as well, on whatever thread brings it, one at a time. */
typedef struct th_live_sink {
  void *context;
  th_status (*add)(void *context, const th_heap_batch *batch, th_failure *failure);
} th_live_sink;

typedef enum th_live_answer {
  TH_LIVE_BATCH,
  TH_LIVE_NOTHING, /* in the time given */
  TH_LIVE_END
} th_live_answer;

typedef struct th_live_counts {
  uint64_t records;   /* events delivered by ETW */
  uint64_t rows;      /* heap events that left in batches */
  uint64_t discarded; /* heap events that nobody took before the end */
  uint64_t waits;     /* how often the queue was full when a batch came */
} th_live_counts;

/* `batches`: room in the queue, at least 1. `clock`: of the sessions. */
th_status th_live_new(uint32_t clock, size_t batches, th_live **live, th_failure *failure);
/* Opens a session that runs, by its zero-terminated name, and starts its thread. The first is the
   heap session. */
th_status th_live_open(th_live *live, const uint16_t *name, th_failure *failure);
/* The next batch, waiting for up to `timeout_ns`. After the last one: the end, or why there will be
   no more. */
th_status th_live_next(th_live *live, uint64_t timeout_ns, th_heap_batch *batch,
                       th_live_answer *answer, th_failure *failure);
/* From the first event on: gives the sink what waits in the queue, which then is for th_live_next
   alone. Fails (TH_INVALID) when a batch was taken before. */
th_status th_live_attach(th_live *live, const th_live_sink *sink, th_failure *failure);
/* Hands on what has had its time. Then the trace and what the sink made of it may be looked at,
   until `th_live_release`. */
th_trace *th_live_hold(th_live *live);
void th_live_release(th_live *live);
/* Whether the trace has got its last event; while it is held. */
bool th_live_ended(const th_live *live);
void th_live_counters(th_live *live, th_live_counts *counts);
/* Waits until the sessions, which have been stopped, have delivered everything; not when the queue
   is full and nobody takes from it. False: not in this time. */
bool th_live_wait_end(th_live *live, uint64_t timeout_ns);
/* No more is wanted: ends the threads, drops what waits in the queue. */
void th_live_close(th_live *live);
/* Closes. NULL is fine. */
void th_live_free(th_live *live);

#endif
