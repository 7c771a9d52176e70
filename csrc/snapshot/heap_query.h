/* Queries of the heaps of another process, each on a thread of its own under a deadline. */
#ifndef TH_SNAPSHOT_HEAP_QUERY_H
#define TH_SNAPSHOT_HEAP_QUERY_H

#include "snapshot/heap_debug.h"

/* Heaps through Heap32ListFirst and Heap32ListNext: a new table of th_heap_schema. */
th_status th_query_heap_list(uint32_t pid, uint64_t timeout_ns, th_table **heaps,
                             th_failure *failure);
/* Blocks through Heap32First and Heap32Next: a new table of th_heap_block_schema. */
th_status th_query_heap32(uint32_t pid, uint64_t heap_id, uint64_t timeout_ns, th_table **blocks,
                          th_failure *failure);

/* One RtlQueryProcessDebugInformation with heaps and their entries: a copy of its buffer, opened.
   The caller frees view->bytes with th_query_free. */
th_status th_query_debug(uint32_t pid, uint64_t timeout_ns, th_debug_view *view,
                         th_failure *failure);
void th_query_free(th_debug_view *view);

#endif
