#include "snapshot/heap_rows.h"

const th_schema th_heap_schema = {
    .name = "Heap",
    .doc = "A heap of a process (HEAPLIST32, GetProcessHeaps).",
    .field_count = 4,
    .fields = {
        {.name = "pid", .type = TH_TYPE_U32, .doc = "id of the process"},
        {.name = "heap_id",
         .type = TH_TYPE_U64,
         .doc = "id of the heap: of this process, its handle as a number"},
        {.name = "flags", .type = TH_TYPE_U32, .doc = "HEAPLIST32.dwFlags: HF32_DEFAULT"},
        {.name = "is_default",
         .type = TH_TYPE_BOOL,
         .doc = "the default heap of the process (GetProcessHeap)"},
    }};

static const char *const kinds[] = {"busy", "free", "region", "uncommitted", "large", "lfh", NULL};

const th_schema th_heap_block_schema = {
    .name = "HeapBlock",
    .doc = "A block, region or range of a heap.",
    .field_count = 7,
    .fields = {
        {.name = "heap_id", .type = TH_TYPE_U64, .doc = "id of the heap"},
        {.name = "address",
         .type = TH_TYPE_U64,
         .doc = "where its data begins in the process; see `approximate`"},
        {.name = "size", .type = TH_TYPE_U64, .doc = "bytes of data; of a region, bytes reserved"},
        {.name = "kind",
         .type = TH_TYPE_LABEL,
         .labels = kinds,
         .doc = "busy, free, region, uncommitted; of other processes also large and lfh, both busy"},
        {.name = "flags",
         .type = TH_TYPE_U32,
         .doc = "as Windows gives them: PROCESS_HEAP_ENTRY.wFlags of this process, the flags of "
                "RTL_HEAP_ENTRY of another, LF32 with method=\"toolhelp\""},
        {.name = "lock_count", .type = TH_TYPE_U32, .doc = "HEAPENTRY32.dwLockCount; else 0"},
        {.name = "approximate",
         .type = TH_TYPE_BOOL,
         .doc = "the address was added up from sizes, since Windows does not tell it"},
    }};

const th_schema th_heap_summary_schema = {
    .name = "HeapSummary",
    .doc = "What the blocks of a heap add up to.",
    .field_count = 11,
    .fields = {
        {.name = "pid", .type = TH_TYPE_U32, .doc = "id of the process"},
        {.name = "heap_id", .type = TH_TYPE_U64, .doc = "id of the heap"},
        {.name = "is_default", .type = TH_TYPE_BOOL, .doc = "the default heap of the process"},
        {.name = "committed", .type = TH_TYPE_U64, .doc = "bytes committed in its regions"},
        {.name = "uncommitted", .type = TH_TYPE_U64, .doc = "bytes reserved and not committed"},
        {.name = "busy", .type = TH_TYPE_U64, .doc = "bytes of data in busy blocks"},
        {.name = "free", .type = TH_TYPE_U64, .doc = "bytes in free blocks"},
        {.name = "largest_free", .type = TH_TYPE_U64, .doc = "bytes of the largest free block"},
        {.name = "busy_blocks", .type = TH_TYPE_U64, .doc = "number of busy blocks"},
        {.name = "free_blocks", .type = TH_TYPE_U64, .doc = "number of free blocks"},
        {.name = "regions", .type = TH_TYPE_U64, .doc = "number of regions"},
    }};

const th_schema th_heap_sizes_schema = {
    .name = "HeapSizes",
    .doc = "The busy blocks of one heap whose sizes are alike.",
    .field_count = 5,
    .fields = {
        {.name = "pid", .type = TH_TYPE_U32, .doc = "id of the process"},
        {.name = "heap_id", .type = TH_TYPE_U64, .doc = "id of the heap"},
        {.name = "size_class",
         .type = TH_TYPE_U64,
         .doc = "largest size of the class, bytes: a power of two, 16 or more; blocks above half "
                "of it (above 0 in the first class)"},
        {.name = "blocks", .type = TH_TYPE_U64, .doc = "number of busy blocks"},
        {.name = "bytes", .type = TH_TYPE_U64, .doc = "bytes of data in them"},
    }};

bool th_heap_add(th_table *table, uint32_t pid, uint64_t heap_id, uint32_t flags,
                 bool is_default) {
  size_t row;
  if (!th_table_add(table, &row))
    return false;
  TH_COLUMN(table, TH_HEAP_PID, uint32_t)[row] = pid;
  TH_COLUMN(table, TH_HEAP_ID, uint64_t)[row] = heap_id;
  TH_COLUMN(table, TH_HEAP_FLAGS, uint32_t)[row] = flags;
  TH_COLUMN(table, TH_HEAP_IS_DEFAULT, uint8_t)[row] = is_default;
  return true;
}

bool th_block_add(th_table *table, uint64_t heap_id, const th_block *block, bool approximate) {
  size_t row;
  if (!th_table_add(table, &row))
    return false;
  TH_COLUMN(table, TH_BLOCK_HEAP_ID, uint64_t)[row] = heap_id;
  TH_COLUMN(table, TH_BLOCK_ADDRESS, uint64_t)[row] = block->address;
  TH_COLUMN(table, TH_BLOCK_SIZE, uint64_t)[row] = block->size;
  TH_COLUMN(table, TH_BLOCK_KIND, uint8_t)[row] = (uint8_t)block->kind;
  TH_COLUMN(table, TH_BLOCK_FLAGS, uint32_t)[row] = block->flags;
  TH_COLUMN(table, TH_BLOCK_LOCK_COUNT, uint32_t)[row] = block->lock_count;
  TH_COLUMN(table, TH_BLOCK_APPROXIMATE, uint8_t)[row] = approximate;
  return true;
}
