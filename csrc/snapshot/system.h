/* Processes and threads of the whole system, both from one snapshot. */
#ifndef TH_SNAPSHOT_SYSTEM_H
#define TH_SNAPSHOT_SYSTEM_H

#include "base/status.h"
#include "table/table.h"

typedef struct th_system_request {
  bool processes, threads;
  bool one_pid; /* threads of `pid` alone; fails when there is no such process */
  uint32_t pid;
} th_system_request;

/* Takes one snapshot of what is asked for; tables that were not asked for stay untouched. The
   caller drops the tables. */
th_status th_snapshot_system(const th_system_request *request, th_table **processes,
                             th_table **threads, th_failure *failure);

#endif
