/* A call that may never come back, made on a thread of its own and waited for until a deadline. */
#ifndef TH_SNAPSHOT_DEADLINE_H
#define TH_SNAPSHOT_DEADLINE_H

#include "base/status.h"

typedef struct th_deadline th_deadline;

typedef struct th_deadline_job {
  /* Runs on the other thread and touches nothing but `state`. Between calls that take long it asks
     th_deadline_over() and gives up when that is true. */
  th_status (*run)(void *state, th_deadline *deadline, th_failure *failure);
  void (*drop)(void *state); /* frees the state with whatever was put into it */
  const char *function;      /* what a time-out is said to be of */
} th_deadline_job;

/* Runs job->run on *state. When it ends in time, its status is the answer and the state stays the
   caller's. When it does not, the answer is TH_TIMEOUT and *state becomes NULL: the thread is left
   to itself, and drops the state when the call comes back. */
th_status th_deadline_run(const th_deadline_job *job, void **state, uint32_t pid,
                          uint64_t timeout_ns, th_failure *failure);

/* Whether nobody waits for the job any more. */
bool th_deadline_over(th_deadline *deadline);

#endif
