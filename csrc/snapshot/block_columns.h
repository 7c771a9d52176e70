/* The blocks of a heap written straight into the columns of their table, while the heap is locked:
   in pages that are of no heap, so that nothing is taken from the one that is walked.

   Addresses for many rows are set aside, and get memory in steps as rows come. A table of many rows
   keeps these pages; of few rows, they are copied and the pages go back. */
#ifndef TH_SNAPSHOT_BLOCK_COLUMNS_H
#define TH_SNAPSHOT_BLOCK_COLUMNS_H

#include "snapshot/heap_rows.h"
#include "sys/sys.h"

typedef struct th_block_columns {
  uint64_t heap_id; /* set by the caller, all else zero */
  void *pages;
  size_t reserved, ready, count; /* rows: with addresses, with memory, written */
  uint64_t *heap_ids, *addresses, *sizes;
  uint32_t *flags;
  uint8_t *kinds;
} th_block_columns;

TH_INLINE th_block_kind th_block_kind_of(uint32_t walk_flags) {
  return walk_flags & TH_WALK_REGION        ? TH_KIND_REGION
         : walk_flags & TH_WALK_UNCOMMITTED ? TH_KIND_UNCOMMITTED
         : walk_flags & TH_WALK_BUSY        ? TH_KIND_BUSY
                                            : TH_KIND_FREE;
}

/* Memory for at least one row more. False: there is none. */
TH_NODISCARD bool th_block_columns_grow(th_block_columns *columns);

/* Appends what a walk met. False: no memory. */
TH_INLINE TH_NODISCARD bool th_block_columns_add(th_block_columns *columns,
                                                 const th_walk_entry *entry) {
  const size_t row = columns->count;
  if (TH_UNLIKELY(row == columns->ready) && !th_block_columns_grow(columns))
    return false;
  columns->heap_ids[row] = columns->heap_id;
  columns->addresses[row] = entry->address;
  columns->sizes[row] = entry->size;
  columns->flags[row] = entry->flags;
  columns->kinds[row] = (uint8_t)th_block_kind_of(entry->flags);
  columns->count = row + 1;
  return true;
}

/* The table of the rows. */
th_status th_block_columns_finish(th_block_columns *columns, th_table **table, th_failure *failure);
/* Gives back what no table has taken over. */
void th_block_columns_free(th_block_columns *columns);

#endif
