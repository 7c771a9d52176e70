/* Events of a second live session that wait until the first has come as far as they: the two are
   delivered on threads of their own, each in order of time. */
#ifndef TH_SESSION_SIDE_QUEUE_H
#define TH_SESSION_SIDE_QUEUE_H

#include "base/vec.h"
#include "etl/event.h"

/* More than this does not wait: it goes ahead of its turn. */
#define TH_SIDE_QUEUE_BYTES ((size_t)8 << 20)

typedef struct th_side_event {
  th_event event; /* its pointers lead into `bytes` */
  uint8_t *bytes;
} th_side_event;

typedef struct th_side_queue {
  TH_VEC(th_side_event) events;
  size_t first; /* those before are gone */
  size_t bytes;
} th_side_queue;

/* Keeps a copy. False: no memory, or too much waits. */
TH_NODISCARD bool th_side_queue_add(th_side_queue *queue, const th_event *event);
/* The oldest when it is not later than `time`; NULL: none. Valid until `drop`. */
const th_event *th_side_queue_next(const th_side_queue *queue, int64_t time);
void th_side_queue_drop(th_side_queue *queue);
void th_side_queue_free(th_side_queue *queue);

#endif
