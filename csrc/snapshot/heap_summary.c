#include "snapshot/heap_summary.h"

static size_t class_of(uint64_t size) {
  size_t number = 0;
  for (uint64_t rest = size ? (size - 1) >> 4 : 0; rest; rest >>= 1)
    number++;
  return number;
}

bool th_heap_totals_add(void *context, const th_block *block) {
  th_heap_totals *totals = context;
  if (block->kind == TH_KIND_REGION) {
    totals->regions++;
    totals->committed += block->committed;
  } else if (block->kind == TH_KIND_UNCOMMITTED) {
    totals->uncommitted += block->size;
  } else if (block->busy) {
    size_t number = class_of(block->size);
    totals->busy_blocks++;
    totals->busy += block->size;
    totals->class_blocks[number]++;
    totals->class_bytes[number] += block->size;
  } else {
    totals->free_blocks++;
    totals->free += block->size;
    if (block->size > totals->largest_free)
      totals->largest_free = block->size;
  }
  return true;
}

bool th_heap_summary_add(th_table *table, uint32_t pid, uint64_t heap_id, bool is_default,
                         const th_heap_totals *totals) {
  size_t row;
  if (!th_table_add(table, &row))
    return false;
  TH_COLUMN(table, TH_SUMMARY_PID, uint32_t)[row] = pid;
  TH_COLUMN(table, TH_SUMMARY_HEAP_ID, uint64_t)[row] = heap_id;
  TH_COLUMN(table, TH_SUMMARY_IS_DEFAULT, uint8_t)[row] = is_default;
  TH_COLUMN(table, TH_SUMMARY_COMMITTED, uint64_t)[row] = totals->committed;
  TH_COLUMN(table, TH_SUMMARY_UNCOMMITTED, uint64_t)[row] = totals->uncommitted;
  TH_COLUMN(table, TH_SUMMARY_BUSY, uint64_t)[row] = totals->busy;
  TH_COLUMN(table, TH_SUMMARY_FREE, uint64_t)[row] = totals->free;
  TH_COLUMN(table, TH_SUMMARY_LARGEST_FREE, uint64_t)[row] = totals->largest_free;
  TH_COLUMN(table, TH_SUMMARY_BUSY_BLOCKS, uint64_t)[row] = totals->busy_blocks;
  TH_COLUMN(table, TH_SUMMARY_FREE_BLOCKS, uint64_t)[row] = totals->free_blocks;
  TH_COLUMN(table, TH_SUMMARY_REGIONS, uint64_t)[row] = totals->regions;
  return true;
}

bool th_heap_sizes_add(th_table *table, uint32_t pid, uint64_t heap_id,
                       const th_heap_totals *totals) {
  for (size_t number = 0; number < TH_SIZE_CLASSES; number++) {
    size_t row;
    if (!totals->class_blocks[number])
      continue;
    if (!th_table_add(table, &row))
      return false;
    TH_COLUMN(table, TH_SIZES_PID, uint32_t)[row] = pid;
    TH_COLUMN(table, TH_SIZES_HEAP_ID, uint64_t)[row] = heap_id;
    TH_COLUMN(table, TH_SIZES_CLASS, uint64_t)[row] =
        number < 60 ? UINT64_C(16) << number : UINT64_MAX;
    TH_COLUMN(table, TH_SIZES_BLOCKS, uint64_t)[row] = totals->class_blocks[number];
    TH_COLUMN(table, TH_SIZES_BYTES, uint64_t)[row] = totals->class_bytes[number];
  }
  return true;
}
