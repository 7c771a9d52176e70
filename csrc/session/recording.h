/* One recording: the heap session, what runs beside it, the program that was launched for it, and
   the consumer of live events; started as one, given up as one. */
#ifndef TH_SESSION_RECORDING_H
#define TH_SESSION_RECORDING_H

#include "session/child.h"
#include "session/live.h"
#include "session/session.h"
#include "session/targets.h"

typedef struct th_recording_plan {
  th_session_plan heap;
  const th_session_plan *companion; /* process and image events; NULL: none */
  size_t live_batches; /* consume the sessions live, with so many batches in the queue; 0: not */
} th_recording_plan;

typedef struct th_recording th_recording;

/* Copies the plan; nothing is started. */
th_status th_recording_new(const th_recording_plan *plan, th_recording **recording,
                           th_failure *failure);
/* Starts everything, once; when it fails nothing of it is left. With `launch`, that program is
   created suspended first and resumed last. */
th_status th_recording_start(th_recording *recording, const th_sys_launch *launch,
                             th_failure *failure);
th_status th_recording_update(th_recording *recording, const uint32_t *pids, size_t pid_count,
                              const uint16_t *hooks, size_t hook_count, th_failure *failure);
th_status th_recording_flush(th_recording *recording, th_failure *failure);
th_status th_recording_query(th_recording *recording, th_session_figures *heap,
                             th_session_figures *companion, bool *has_companion,
                             th_failure *failure);
/* Both sessions, also when the first refuses. A session that keeps its buffers in memory writes
   them to its file before. Again: nothing. */
th_status th_recording_stop(th_recording *recording, th_failure *failure);
th_session_state th_recording_state(th_recording *recording);
/* Whether every traced process has ended. */
bool th_recording_targets_gone(th_recording *recording);

/* The launched program; 0 when there is none. */
uint32_t th_recording_child_pid(th_recording *recording);
th_status th_recording_child_wait(th_recording *recording, uint32_t milliseconds, bool *ended,
                                  uint32_t *exit_code, th_failure *failure);
th_status th_recording_child_terminate(th_recording *recording, uint32_t exit_code,
                                       th_failure *failure);
/* The consumer, once a live recording is started; NULL. It stays until the recording is freed. */
th_live *th_recording_live(th_recording *recording);
/* Stops what runs. NULL is fine. */
void th_recording_free(th_recording *recording);

#endif
