/* Joins stacks to the heap events they belong to.

   A stack is an event of its own, some microseconds to tens of milliseconds behind the event it
   belongs to, and names that by its raw time, process and thread. It may come in two parts: the
   kernel's at once, the user's when the thread next leaves the kernel; the latter then completes
   every event of the thread that waits for it. */
#ifndef TH_ETL_STACK_JOIN_H
#define TH_ETL_STACK_JOIN_H

#include "etl/heap_queue.h"
#include "etl/stack_event.h"

/* An event with a kernel part that may get a user part. */
typedef struct th_stack_wait {
  uint64_t chunk; /* number of the chunk, counted from the start of the trace */
  size_t row;
  int64_t time; /* raw, of the event */
  uint32_t pid, tid;
} th_stack_wait;

typedef struct th_stack_join {
  th_heap_queue *queue;
  th_stack_table *stacks;
  int64_t limit;            /* raw time behind an event after which no stack is its own */
  unsigned system_pointers; /* bytes of a pointer of the recording system */
  TH_VEC(th_stack_wait) waits;
  uint64_t seen, joined, unmatched; /* parts of stacks */
} th_stack_join;

/* Takes a stack event (group 0x18). `hash`: of its frames, NULL when it is not known. *valid is
   false when its payload is too short. False: no memory. */
TH_NODISCARD bool th_stack_join_event(th_stack_join *join, const th_event *event,
                                      const uint64_t *hash, bool *valid);
void th_stack_join_free(th_stack_join *join);

#endif
