/* What the blocks of a heap add up to. */
#ifndef TH_SNAPSHOT_HEAP_SUMMARY_H
#define TH_SNAPSHOT_HEAP_SUMMARY_H

#include "snapshot/heap_rows.h"

#define TH_SIZE_CLASSES 61 /* 2^4 to 2^64 */

typedef struct th_heap_totals {
  uint64_t committed, uncommitted, busy, free, largest_free;
  uint64_t busy_blocks, free_blocks, regions;
  uint64_t class_blocks[TH_SIZE_CLASSES], class_bytes[TH_SIZE_CLASSES];
} th_heap_totals;

/* A th_block_sink over a th_heap_totals: never fails. */
bool th_heap_totals_add(void *totals, const th_block *block);

/* Appends a row, or the rows of the classes that have blocks. False: no memory. */
TH_NODISCARD bool th_heap_summary_add(th_table *table, uint32_t pid, uint64_t heap_id,
                                      bool is_default, const th_heap_totals *totals);
TH_NODISCARD bool th_heap_sizes_add(th_table *table, uint32_t pid, uint64_t heap_id,
                                    const th_heap_totals *totals);

#endif
