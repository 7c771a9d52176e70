/* A run: the events of one buffer on their way into the merge. It goes from event to event in the
   buffer itself, one ahead of what it has given out, so that what it offers next is known before it
   is asked. When the events are not in order of their time it goes by a sorted list instead. */
#ifndef TH_ETL_RUN_H
#define TH_ETL_RUN_H

#include "etl/buffer.h"
#include "etl/walk.h"

typedef struct th_run {
  /* What it offers, and what comes after that (next_at NULL: nothing). */
  int64_t time, next_time;
  const uint8_t *at, *next_at;
  th_event_meta meta, next_meta;
  const uint8_t *rest, *end; /* behind the next event; empty when `listed` */
  th_walked_list list;       /* used when `listed` */
  size_t list_at;            /* the entry that follows the next event */
  int64_t latest;            /* `listed`: the time of the buffer's last event, in place */
  uint32_t entry;            /* of the index */
  uint32_t lane;
  bool listed, cut;
  th_buffer buffer;
  struct th_run *next; /* in whatever list it is */
} th_run;

/* Starts ahead of the buffer's first event, which is `next`; false when it has none. `latest` is the
   time that an event without a stamp takes. */
bool th_run_start(th_run *run, int64_t latest, th_stream_counts *counts);
/* Lists what it offers and all that follows, in order; *backwards is the number of events that were
   earlier than the one before them. False: no memory, nothing changed. */
TH_NODISCARD bool th_run_list(th_run *run, th_stream_counts *counts, uint64_t *backwards);
/* Looks for the event after the next one, in the slow ways: by the list, at the buffer's end. */
void th_run_look_slow(th_run *run, th_stream_counts *counts);

/* Moves on by one event; there is a next one. False when the one that was found behind it is
   earlier than it: the run must be listed before it is asked again. */
TH_INLINE bool th_run_advance(th_run *run, th_stream_counts *counts) {
  int64_t latest = run->time = run->next_time;
  const uint8_t *rest = run->rest;
  run->at = run->next_at;
  run->meta = run->next_meta;
  int64_t time;
  th_event_meta meta;
  if (TH_LIKELY(th_walk_step(rest, run->end, latest, &time, &meta, &run->rest))) {
    run->next_at = rest;
    run->next_time = time;
    run->next_meta = meta;
    counts->events_by_kind[th_event_meta_kind(meta)]++;
    return TH_LIKELY(time >= latest);
  }
  th_run_look_slow(run, counts);
  return true;
}

/* The time of the last event, once there is no next one; at any time of a listed run. */
TH_INLINE int64_t th_run_latest(const th_run *run) { return run->listed ? run->latest : run->time; }

/* What it holds of memory. */
size_t th_run_held(const th_run *run);
void th_run_free(th_run *run); /* NULL is fine */

#endif
