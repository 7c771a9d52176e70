/* Heap events in order, in columns, a bounded number at a time; with the process starts and ends
   that fall between them. What decoding hands to the ledger and to Python. */
#ifndef TH_ETL_HEAP_BATCH_H
#define TH_ETL_HEAP_BATCH_H

#include "etl/heap_event.h"
#include "table/table.h"

/* Columns of the HeapEvent schema (contract 4), by their place. */
enum {
  TH_HEAP_EVENT_TIME_NS,
  TH_HEAP_EVENT_CPU,
  TH_HEAP_EVENT_PID,
  TH_HEAP_EVENT_TID,
  TH_HEAP_EVENT_KIND,
  TH_HEAP_EVENT_HEAP,
  TH_HEAP_EVENT_ADDRESS,
  TH_HEAP_EVENT_SIZE,
  TH_HEAP_EVENT_OLD_ADDRESS,
  TH_HEAP_EVENT_OLD_SIZE,
  TH_HEAP_EVENT_SOURCE,
  TH_HEAP_EVENT_STACK_ID
};
extern const th_schema th_heap_event_schema;

typedef enum th_process_mark_kind {
  TH_PROCESS_STARTS, /* a new process took this pid */
  TH_PROCESS_ENDS
} th_process_mark_kind;

typedef struct th_process_mark {
  size_t row; /* it happened before this row of the batch (== rows: after the last) */
  int64_t time_ns;
  uint32_t pid;
  th_process_mark_kind kind;
} th_process_mark;

typedef struct th_heap_batch {
  th_table *rows; /* owned by whoever has the batch */
  TH_VEC(th_process_mark) marks;
} th_heap_batch;

/* Gives up what the batch holds. */
void th_heap_batch_free(th_heap_batch *batch);

#endif
