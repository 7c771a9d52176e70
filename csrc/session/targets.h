/* The processes that are traced: they must be there when tracing begins, and when all of them are
   gone nothing more can come. */
#ifndef TH_SESSION_TARGETS_H
#define TH_SESSION_TARGETS_H

#include "base/status.h"
#include "base/vec.h"
#include "sys/launch.h"

typedef struct th_target {
  uint32_t pid;
  th_handle process; /* TH_NO_HANDLE: it may not be watched */
} th_target;

typedef struct th_targets {
  TH_VEC(th_target) items;
} th_targets;

/* Opens the processes of the list and closes those of the list before. A pid without a process is
   a failure (then nothing changed); one that may not be opened counts as running. pid 0 stands for
   none. */
th_status th_targets_set(th_targets *targets, const uint32_t *pids, size_t count,
                         th_failure *failure);
/* True when there are some, each could be watched, and each has ended. */
bool th_targets_gone(const th_targets *targets);
void th_targets_free(th_targets *targets);

#endif
