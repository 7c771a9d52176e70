/* Events of any kind as rows: header fields and payload bytes. */
#ifndef TH_ETL_EVENT_BATCH_H
#define TH_ETL_EVENT_BATCH_H

#include "etl/clock.h"
#include "etl/heap_event.h"
#include "etl/streams.h"
#include "table/table.h"

/* What an event is about, as bits of a filter: a bit per heap kind, then these. */
typedef enum th_event_class {
  TH_EVENT_STACK = TH_HEAP_KINDS,
  TH_EVENT_PROCESS,
  TH_EVENT_THREAD,
  TH_EVENT_IMAGE,
  TH_EVENT_IMAGE_ID,
  TH_EVENT_LOST,
  TH_EVENT_OTHER,
  TH_EVENT_CLASSES
} th_event_class;

/* The class's number: a th_heap_kind or a th_event_class. */
unsigned th_event_class_of(const th_event *event);
/* "heap.alloc" ..., "stack", "process" ...; NULL behind the last. Static text. */
const char *th_event_class_name(unsigned number);

enum {
  TH_TRACE_EVENT_TIME_NS,
  TH_TRACE_EVENT_CPU,
  TH_TRACE_EVENT_PID,
  TH_TRACE_EVENT_TID,
  TH_TRACE_EVENT_KIND,
  TH_TRACE_EVENT_HEADER,
  TH_TRACE_EVENT_PROVIDER,
  TH_TRACE_EVENT_HOOK,
  TH_TRACE_EVENT_ID,
  TH_TRACE_EVENT_OPCODE,
  TH_TRACE_EVENT_VERSION,
  TH_TRACE_EVENT_LEVEL,
  TH_TRACE_EVENT_POINTER_SIZE,
  TH_TRACE_EVENT_PAYLOAD
};
extern const th_schema th_trace_event_schema;

#define TH_EVENT_BATCH_ROWS 8192
#define TH_EVENT_BATCH_BYTES (4u << 20) /* of payloads; one event may go over it */

/* Reads up to `events` events and appends those whose class is in `filter` to `rows`, until that
   holds a batch (*full) or the trace ends (*more false). Events without a time of their own have
   the time of the one before. */
th_status th_event_batch_fill(th_streams *streams, const th_clock *clock, uint32_t filter,
                              size_t events, th_table *rows, bool *full, bool *more,
                              th_failure *failure);

#endif
