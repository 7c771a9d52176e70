/* Blocks of heaps of this process: HeapWalk under HeapLock, once per block. */
#ifndef TH_SNAPSHOT_HEAP_WALK_H
#define TH_SNAPSHOT_HEAP_WALK_H

#include "snapshot/heap_summary.h"

/* All heaps of this process, of th_heap_schema, appended to `table`. */
th_status th_own_heaps(th_table *table, th_failure *failure);
/* All blocks of one heap of this process, a new table of th_heap_block_schema. */
th_status th_own_heap_blocks(uint64_t heap_id, th_table **blocks, th_failure *failure);
/* What every heap of this process adds up to: rows appended to `summary` (th_heap_summary_schema)
   and to `sizes` (th_heap_sizes_schema); each may be NULL. On failure both are as before. */
th_status th_own_heap_totals(th_table *summary, th_table *sizes, th_failure *failure);

#endif
