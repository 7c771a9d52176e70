/* The kinds of rows that heaps give: their schemas, and the places of their columns. */
#ifndef TH_SNAPSHOT_HEAP_ROWS_H
#define TH_SNAPSHOT_HEAP_ROWS_H

#include "table/table.h"

enum { TH_HEAP_PID, TH_HEAP_ID, TH_HEAP_FLAGS, TH_HEAP_IS_DEFAULT };
extern const th_schema th_heap_schema;

/* HEAPLIST32.dwFlags. */
#define TH_HEAP_DEFAULT 1u

enum {
  TH_BLOCK_HEAP_ID,
  TH_BLOCK_ADDRESS,
  TH_BLOCK_SIZE,
  TH_BLOCK_KIND,
  TH_BLOCK_FLAGS,
  TH_BLOCK_LOCK_COUNT,
  TH_BLOCK_APPROXIMATE
};
extern const th_schema th_heap_block_schema;

typedef enum th_block_kind {
  TH_KIND_BUSY,
  TH_KIND_FREE,
  TH_KIND_REGION,
  TH_KIND_UNCOMMITTED,
  TH_KIND_LARGE,
  TH_KIND_LFH
} th_block_kind;

enum {
  TH_SUMMARY_PID,
  TH_SUMMARY_HEAP_ID,
  TH_SUMMARY_IS_DEFAULT,
  TH_SUMMARY_COMMITTED,
  TH_SUMMARY_UNCOMMITTED,
  TH_SUMMARY_BUSY,
  TH_SUMMARY_FREE,
  TH_SUMMARY_LARGEST_FREE,
  TH_SUMMARY_BUSY_BLOCKS,
  TH_SUMMARY_FREE_BLOCKS,
  TH_SUMMARY_REGIONS
};
extern const th_schema th_heap_summary_schema;

enum {
  TH_SIZES_PID,
  TH_SIZES_HEAP_ID,
  TH_SIZES_CLASS,
  TH_SIZES_BLOCKS,
  TH_SIZES_BYTES
};
extern const th_schema th_heap_sizes_schema;

/* A block, region or range as a walk meets it. */
typedef struct th_block {
  uint64_t address, size;
  uint64_t committed; /* of a region */
  uint32_t flags, lock_count;
  th_block_kind kind;
  bool busy;
} th_block;

/* Gets every block of a walk; false ends it for want of memory. */
typedef bool (*th_block_sink)(void *context, const th_block *block);

/* Appends a heap, or a block, to a table. False: no memory. */
TH_NODISCARD bool th_heap_add(th_table *table, uint32_t pid, uint64_t heap_id, uint32_t flags,
                              bool is_default);
TH_NODISCARD bool th_block_add(th_table *table, uint64_t heap_id, const th_block *block,
                               bool approximate);

#endif
