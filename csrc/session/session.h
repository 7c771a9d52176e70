/* One trace session from start to stop. Its functions may be called from any thread; each is one
   step at a time. */
#ifndef TH_SESSION_SESSION_H
#define TH_SESSION_SESSION_H

#include "session/properties.h"

typedef enum th_backend {
  TH_BACKEND_NATIVE, /* StartTraceW, ControlTraceW */
  TH_BACKEND_WPT     /* StartHeapTrace, UpdateHeapTrace of KernelTraceControl.dll */
} th_backend;

typedef struct th_session_plan {
  th_properties_request request;
  th_backend backend;
  const uint16_t *library; /* WPT: full path, zero-terminated */
} th_session_plan;

typedef enum th_session_state {
  TH_SESSION_NEW,
  TH_SESSION_RUNNING,
  TH_SESSION_STOPPED
} th_session_state;

/* The recorder's own counters. */
typedef struct th_session_figures {
  uint32_t buffer_kb;
  uint32_t min_buffers, max_buffers;
  uint32_t buffers, free_buffers;
  uint32_t buffers_written;   /* to the file, or handed to the consumer */
  uint32_t events_lost;       /* there was no room in any buffer */
  uint32_t log_buffers_lost;  /* not written to the file */
  uint32_t live_buffers_lost; /* not delivered in real time */
} th_session_figures;

typedef struct th_session th_session;

/* Copies the plan; nothing is started. A wrong plan fails here. */
th_status th_session_new(const th_session_plan *plan, th_session **session, th_failure *failure);
/* `extra_pid` (when not 0) is traced besides the plan's. A session starts once. */
th_status th_session_start(th_session *session, uint32_t extra_pid, th_failure *failure);
/* The new full sets. */
th_status th_session_update(th_session *session, const uint32_t *pids, size_t pid_count,
                            const uint16_t *hooks, size_t hook_count, th_failure *failure);
/* Hands on what lies in partly filled buffers; a buffering session writes its file. */
th_status th_session_flush(th_session *session, th_failure *failure);
/* As of now; of a stopped session, its last. */
th_status th_session_query(th_session *session, th_session_figures *figures, th_failure *failure);
/* Again, or without a start: nothing. A session that somebody else has stopped is stopped. */
th_status th_session_stop(th_session *session, th_failure *failure);
th_session_state th_session_state_of(th_session *session);
/* Zero-terminated. */
const uint16_t *th_session_name(const th_session *session);
/* Stops a session that still runs. NULL is fine. */
void th_session_free(th_session *session);

/* Stops any session by its zero-terminated name. */
th_status th_session_stop_named(const uint16_t *name, th_failure *failure);

#endif
