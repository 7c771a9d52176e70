/* A run: the events of one buffer on their way into the merge. A stretch of them is walked over at
   a time, so that what comes next is known, and whether it is in order. When it is not, all that is
   left of the buffer is walked over and sorted. */
#ifndef TH_ETL_RUN_H
#define TH_ETL_RUN_H

#include "etl/buffer.h"
#include "etl/walk.h"

/* The longest stretch. */
#define TH_RUN_STRETCH 256

typedef struct th_run {
  th_walked_list events; /* walked over; those before `at` are given out */
  size_t at;
  size_t rest, end; /* not walked over: from and to, of the buffer */
  int64_t latest;            /* time of the last event walked over, in place */
  int64_t before;            /* time of the event before those that wait, once `begun` */
  uint32_t entry;            /* of the index */
  uint32_t lane;
  bool cut;
  bool begun;    /* events were given out */
  bool done;     /* nothing is left to walk over */
  bool sorted;   /* its events wait in another order than they stand in */
  bool careful;  /* it is known to run backwards further on */
  bool backward; /* an event is earlier than the one before it: the run must be sorted */
  th_buffer buffer;
  struct th_run *next; /* in whatever list it is */
} th_run;

/* Starts at the buffer's first event. `latest` is the time that an event without a stamp takes.
   False: no memory. */
TH_NODISCARD bool th_run_start(th_run *run, int64_t latest);
/* Walks on until `stretch` events (TH_RUN_STRETCH at most) wait, or the buffer ends, or an event is
   earlier than the one before it. */
void th_run_walk(th_run *run, size_t stretch, th_stream_counts *counts);
/* Walks over all that is left and sorts what waits; *backwards is the number of events that were
   earlier than the one before them. False: no memory, nothing changed. */
TH_NODISCARD bool th_run_sort(th_run *run, th_stream_counts *counts, uint64_t *backwards);

/* Passes over `count` events of a run that is not sorted, the last of them at `time`; `rest` is
   what lies behind them. They are counted already: what the walk counted of them is taken back. */
void th_run_pass(th_run *run, size_t rest, int64_t time, size_t count, th_stream_counts *counts);

TH_INLINE size_t th_run_waiting(const th_run *run) { return run->events.count - run->at; }

/* Time of the last event that was given out; there was one. */
TH_INLINE int64_t th_run_given(const th_run *run) {
  return run->at ? run->events.items[run->at - 1].time : run->before;
}

/* What it holds of memory. */
size_t th_run_held(const th_run *run);
void th_run_free(th_run *run); /* NULL is fine */

#endif
