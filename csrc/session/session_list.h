/* The trace sessions of the machine. */
#ifndef TH_SESSION_SESSION_LIST_H
#define TH_SESSION_SESSION_LIST_H

#include "session/session.h"
#include "table/table.h"

enum {
  TH_TRACE_SESSION_NAME,
  TH_TRACE_SESSION_IS_HEAP,
  TH_TRACE_SESSION_OWNER_PID,
  TH_TRACE_SESSION_STALE,
  TH_TRACE_SESSION_LOG_FILE,
  TH_TRACE_SESSION_MODE,
  TH_TRACE_SESSION_BUFFER_KB,
  TH_TRACE_SESSION_BUFFERS,
  TH_TRACE_SESSION_FREE_BUFFERS,
  TH_TRACE_SESSION_BUFFERS_WRITTEN,
  TH_TRACE_SESSION_EVENTS_LOST,
  TH_TRACE_SESSION_LOG_BUFFERS_LOST,
  TH_TRACE_SESSION_LIVE_BUFFERS_LOST
};
extern const th_schema th_trace_session_schema;

/* Names of our sessions begin so, the pid of their owner follows, and then something else. */
#define TH_SESSION_PREFIX "toolhelp-"

/* QueryAllTracesW: the heap sessions among those that this process may see, and what else is ours;
   `all`: all of them. */
th_status th_session_list(bool all, th_table **table, th_failure *failure);

#endif
