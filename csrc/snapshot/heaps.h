/* Heaps of any process: lists, blocks and totals, each by the least harmful way there is. */
#ifndef TH_SNAPSHOT_HEAPS_H
#define TH_SNAPSHOT_HEAPS_H

#include "snapshot/heap_summary.h"

typedef struct th_heap_access {
  bool allow_injection; /* queries of other processes may start a thread there */
  bool toolhelp;        /* by the Tool Help calls, where there is a choice */
  uint64_t timeout_ns;  /* of a query of another process */
} th_heap_access;

/* Appends the heaps of process `pid` to `heaps`, of th_heap_schema. On failure the table is as it
   was; so it is with all tables below. */
th_status th_heaps(uint32_t pid, const th_heap_access *access, th_table *heaps,
                   th_failure *failure);
/* The blocks of one heap, a new table of th_heap_block_schema. */
th_status th_heap_blocks(uint32_t pid, uint64_t heap_id, const th_heap_access *access,
                         th_table **blocks, th_failure *failure);
/* Appends the heaps of a process, what each adds up to, and their size classes, all from one query;
   each table may be NULL. */
th_status th_heap_totals_of(uint32_t pid, const th_heap_access *access, th_table *heaps,
                            th_table *summary, th_table *sizes, th_failure *failure);

#endif
