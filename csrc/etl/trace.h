/* One pass over a trace: heap events in batches, and what is known of processes, threads, modules
   and stacks once it is over.

     while (more) {
       th_trace_step(trace, 65536, &more, failure);
       while (th_trace_take(trace, &batch, &taken, failure) == TH_OK && taken)
         ... use the batch, then th_heap_batch_free
     }
     ... the tables below are final */
#ifndef TH_ETL_TRACE_H
#define TH_ETL_TRACE_H

#include "etl/module_model.h"
#include "etl/process_model.h"
#include "etl/stack_join.h"
#include "etl/streams.h"

#define TH_HOOKS 65536

typedef struct th_trace_counts {
  uint64_t events_by_hook[TH_HOOKS]; /* SYSTEM, COMPACT and PERFINFO events */
  uint64_t heap_events[TH_HEAP_KINDS];
  uint64_t unattributed;  /* heap events without a pid */
  uint64_t bad_payloads;  /* too short for what they are; not in th_stream_counts.bad_events */
  uint64_t lost_events;   /* events by which a real-time session says that it lost some */
  uint64_t stack_parts, stacks_joined, stacks_unmatched;
  uint64_t unresolved_keys;    /* uses of stack keys whose frames never came */
  uint64_t with_stack;         /* alloc and realloc events */
  uint64_t forced_rows;        /* rows that could not wait for their stacks */
  int64_t last_time;           /* raw, the greatest */
} th_trace_counts;

typedef struct th_trace th_trace;

/* `count` files of one recording, 1 to TH_MAX_STREAMS. */
th_status th_trace_open(const th_source *sources, size_t count, const th_stream_options *options,
                        th_trace **trace, th_failure *failure);
/* Reads up to `events` events, fewer when a batch is ready. *more is false at the end. Every batch
   must be taken before the next step. */
th_status th_trace_step(th_trace *trace, size_t events, bool *more, th_failure *failure);
/* Takes out a batch that is ready; *taken says whether there was one. At the end of the trace, the
   call that finds none makes the tables final. */
th_status th_trace_take(th_trace *trace, th_heap_batch *batch, bool *taken, th_failure *failure);
/* Both in one: the next batch, or *more false at the end. */
th_status th_trace_next(th_trace *trace, th_heap_batch *batch, bool *more, th_failure *failure);

/* --- what was noted beside a trace ------------------------------------------------------------- */

/* Takes an event (TH_HEADER_LIVE) of a process, an image or an image's identity in its turn. Those
   of one trace come in the order of their time. TH_INVALID: too much. */
th_status th_trace_note(th_trace *trace, const th_event *event, th_failure *failure);
/* Makes the look-up of modules know all that came so far; at the end that is done anyway. */
th_status th_trace_settle_modules(th_trace *trace, th_failure *failure);

/* --- events that come one by one, from a live session ------------------------------------------ */

/* Without a file: there is no stream, and nothing for `step` to read. */
th_status th_trace_open_live(const th_logfile *logfile, th_trace **trace, th_failure *failure);
/* Takes an event (TH_HEADER_LIVE). Whatever is ready must have been taken before. */
th_status th_trace_push(th_trace *trace, const th_event *event, th_failure *failure);
/* Whether there is a batch to take. */
bool th_trace_ready(const th_trace *trace);
/* The rows so far make a batch as soon as their stacks have had time to come; `idle`: at once, as
   nothing has come for longer than that. */
void th_trace_cut(th_trace *trace, bool idle);
/* No more events will come. False: no memory. */
TH_NODISCARD bool th_trace_end(th_trace *trace);
/* Raw time of the latest event. */
int64_t th_trace_now(const th_trace *trace);

/* NULL for a live session. */
const th_streams *th_trace_streams(const th_trace *trace);
const th_clock *th_trace_clock(const th_trace *trace);
const th_trace_counts *th_trace_counters(const th_trace *trace);
const th_process_model *th_trace_processes(const th_trace *trace);
const th_module_model *th_trace_modules(const th_trace *trace);
const th_stack_table *th_trace_stacks(const th_trace *trace);
void th_trace_close(th_trace *trace); /* NULL is fine */

#endif
