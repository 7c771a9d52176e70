/* Events that wait until the trace has come as far as they: those of a second live session, and what
   was noted beside a trace. */
#ifndef TH_ETL_SIDE_QUEUE_H
#define TH_ETL_SIDE_QUEUE_H

#include "base/vec.h"
#include "etl/event.h"

typedef struct th_side_event {
  th_event event; /* its pointers lead into `bytes` */
  uint8_t *bytes;
} th_side_event;

typedef struct th_side_queue {
  TH_VEC(th_side_event) events;
  size_t first; /* those before are gone */
  size_t bytes, limit; /* what waits, and how much may */
} th_side_queue;

/* Keeps a copy. False: no memory, or too much waits. */
TH_NODISCARD bool th_side_queue_add(th_side_queue *queue, const th_event *event);
/* The oldest when it is not later than `time`; NULL: none. Valid until `drop`. */
const th_event *th_side_queue_next(const th_side_queue *queue, int64_t time);
void th_side_queue_drop(th_side_queue *queue);
void th_side_queue_free(th_side_queue *queue);

#endif
