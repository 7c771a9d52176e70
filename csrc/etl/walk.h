/* One buffer's events, one after the other: where each begins, how long it is, when it was. */
#ifndef TH_ETL_WALK_H
#define TH_ETL_WALK_H

#include "base/vec.h"
#include "etl/stream.h"

/* One event of a buffer; its header lies whole within `size` bytes at `at`. */
typedef struct th_walked {
  int64_t time;
  uint32_t at; /* from the buffer's start */
  uint16_t size;
  uint8_t kind;
} th_walked;

typedef TH_VEC(th_walked) th_walked_list;

typedef struct th_walk {
  const uint8_t *bytes; /* the buffer, from its head on */
  uint32_t end;         /* of the valid bytes */
  bool cut;             /* the file ends within the buffer */
  bool first;           /* no event of the lane was before: the first one cannot be late */
} th_walk;

/* Appends the buffer's events to `events`, counts what is met. `*time` is the stamp that an event
   without one takes; it is left at the last. *backwards grows by the events that are earlier than
   the one before them in the buffer. False: no memory. */
TH_NODISCARD bool th_walk_buffer(const th_walk *walk, int64_t *time, th_walked_list *events,
                                 th_stream_counts *counts, uint64_t *backwards);

#endif
