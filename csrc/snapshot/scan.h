/* Every process of the system, and of each what was asked for; failures as rows. */
#ifndef TH_SNAPSHOT_SCAN_H
#define TH_SNAPSHOT_SCAN_H

#include "snapshot/heaps.h"

typedef struct th_scan_request {
  bool modules, identity;
  bool heaps;      /* the lists of heaps */
  bool heap_sizes; /* and their size classes, which needs a walk of every heap */
  bool all;        /* every process; else `pids`, in this order, each once */
  const uint32_t *pids;
  size_t pid_count;
  th_heap_access access;
  unsigned workers; /* threads that ask processes at once; 0: chosen */
} th_scan_request;

/* What was not asked for is NULL; the caller drops the others. */
typedef struct th_scan {
  th_table *processes, *threads, *modules, *heaps, *heap_sizes, *errors;
  bool failed; /* errors has rows; this is the first that is not of the pseudo-processes 0 and 4 */
  th_failure first_failure;
} th_scan;

th_status th_scan_run(const th_scan_request *request, th_scan *scan, th_failure *failure);

#endif
