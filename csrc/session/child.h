/* A program started stopped: created suspended, then resumed once it is traced. It is never left
   suspended: whoever gives it up before that ends it. */
#ifndef TH_SESSION_CHILD_H
#define TH_SESSION_CHILD_H

#include "base/status.h"
#include "sys/launch.h"

/* The exit code of a child that was ended because it could not be traced. */
#define TH_CHILD_GIVEN_UP 0xC000013Au /* STATUS_CONTROL_C_EXIT */

typedef struct th_child {
  th_handle process; /* TH_NO_HANDLE: there is none */
  th_handle thread;  /* TH_NO_HANDLE: it runs */
  uint32_t pid;
} th_child;

th_status th_child_create(th_child *child, const th_sys_launch *launch, th_failure *failure);
th_status th_child_resume(th_child *child, th_failure *failure);
/* Waits up to `milliseconds`; *exit_code is set when *ended. */
th_status th_child_wait(const th_child *child, uint32_t milliseconds, bool *ended,
                        uint32_t *exit_code, th_failure *failure);
/* Ends it; one that has ended already is fine. */
th_status th_child_terminate(const th_child *child, uint32_t exit_code, th_failure *failure);
/* Ends one that is still suspended, and closes what is open. */
void th_child_drop(th_child *child);

#endif
