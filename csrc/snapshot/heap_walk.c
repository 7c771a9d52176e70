#include "snapshot/heap_walk.h"

#include "sys/sys.h"

#include <string.h>

/* A heap that was overwritten could lead a walk in circles. */
#define MOST_BLOCKS ((size_t)1 << (sizeof(void *) == 8 ? 31 : 26))

/* ===== the heaps ================================================================== */

#define FIRST_HEAPS 64u
#define MOST_HEAPS 65536u

typedef struct heap_list {
  uintptr_t *heaps;
  uint32_t count;
} heap_list;

/* The heaps of this process; the caller frees list->heaps. */
static th_status list_heaps(heap_list *list, th_failure *failure) {
  uint32_t capacity = FIRST_HEAPS;
  while (capacity <= MOST_HEAPS) {
    uint32_t count;
    uintptr_t *heaps = th_mem_array(capacity, sizeof *heaps);
    if (!heaps)
      return th_fail_memory(failure);
    uint32_t code = th_sys_process_heaps(heaps, capacity, &count);
    if (code) {
      th_mem_free(heaps);
      return th_fail_system(failure, "GetProcessHeaps", code);
    }
    if (count <= capacity) {
      *list = (heap_list){heaps, count};
      return TH_OK;
    }
    th_mem_free(heaps);
    capacity = count > capacity * 2 ? count : capacity * 2;
  }
  return th_fail_system(failure, "GetProcessHeaps", TH_ERROR_INVALID_DATA);
}

th_status th_own_heaps(th_table *table, th_failure *failure) {
  const size_t before = table->count;
  heap_list list;
  th_status status = list_heaps(&list, failure);
  if (status != TH_OK)
    return status;
  const uintptr_t of_process = th_sys_default_heap();
  const uint32_t pid = th_sys_current_pid();
  for (uint32_t i = 0; i < list.count && status == TH_OK; i++) {
    bool is_default = list.heaps[i] == of_process;
    if (!th_heap_add(table, pid, list.heaps[i], is_default ? TH_HEAP_DEFAULT : 0, is_default))
      status = th_fail_memory(failure);
  }
  th_mem_free(list.heaps);
  if (status != TH_OK)
    th_table_shrink(table, before);
  return status;
}

/* ===== the walk =================================================================== */

static th_block_kind kind_of(uint32_t flags) {
  return flags & TH_WALK_REGION        ? TH_KIND_REGION
         : flags & TH_WALK_UNCOMMITTED ? TH_KIND_UNCOMMITTED
         : flags & TH_WALK_BUSY        ? TH_KIND_BUSY
                                       : TH_KIND_FREE;
}

/* Takes one entry of the walk. It runs under the lock of the heap and must neither allocate from
   it nor wait for anyone; false: no memory. */
typedef bool (*entry_sink)(void *context, const th_walk_entry *entry);

static th_status walk(uintptr_t heap, entry_sink sink, void *context, th_failure *failure) {
  const uint32_t pid = th_sys_current_pid();
  th_walk_entry entry;
  size_t count = 0;
  bool room = true;
  uint32_t code = th_sys_heap_lock(heap);
  if (code)
    return th_fail_process(failure, "HeapLock", code, pid);
  memset(&entry, 0, sizeof entry);
  while (room && (code = th_sys_heap_walk(heap, &entry)) == 0) {
    room = count < MOST_BLOCKS && sink(context, &entry);
    count++;
  }
  uint32_t unlocked = th_sys_heap_unlock(heap);
  if (!room)
    return count > MOST_BLOCKS
               ? th_fail_process(failure, "HeapWalk", TH_ERROR_INVALID_DATA, pid)
               : th_fail_memory(failure);
  if (code != TH_ERROR_NO_MORE_ITEMS)
    return th_fail_process(failure, "HeapWalk", code, pid);
  if (unlocked)
    return th_fail_process(failure, "HeapUnlock", unlocked, pid);
  return TH_OK;
}

/* ===== blocks, kept outside of every heap while it is locked ====================== */

typedef struct record {
  uintptr_t address;
  uint32_t size, flags;
} record;

/* Runs of records in memory of their own, each twice as large as the one before up to a limit. */
typedef struct chunk {
  struct chunk *next;
  size_t count, capacity;
  record records[];
} chunk;

#define FIRST_CHUNK ((size_t)256 << 10)
#define LARGEST_CHUNK ((size_t)16 << 20)

typedef struct recorder {
  chunk *first, *last;
  size_t total;
} recorder;

static bool new_chunk(recorder *records) {
  size_t bytes = FIRST_CHUNK;
  if (records->last) {
    bytes = sizeof(chunk) + records->last->capacity * sizeof(record);
    bytes = bytes * 2 < LARGEST_CHUNK ? bytes * 2 : LARGEST_CHUNK;
  }
  chunk *made = th_sys_pages_take(bytes);
  if (!made)
    return false;
  made->next = NULL;
  made->count = 0;
  made->capacity = (bytes - sizeof *made) / sizeof(record);
  if (records->last)
    records->last->next = made;
  else
    records->first = made;
  records->last = made;
  return true;
}

static bool record_entry(void *context, const th_walk_entry *entry) {
  recorder *records = context;
  chunk *last = records->last;
  if ((!last || last->count == last->capacity)) {
    if (!new_chunk(records))
      return false;
    last = records->last;
  }
  last->records[last->count++] = (record){entry->address, entry->size, entry->flags};
  records->total++;
  return true;
}

static void drop_first(recorder *records) {
  chunk *first = records->first;
  records->first = first->next;
  th_sys_pages_drop(first);
}

/* Moves the records into the table, whose room is there; each chunk goes once it is copied. */
static void fill(recorder *records, uint64_t heap_id, th_table *table) {
  /* Held here, as each store of a byte might otherwise change them. */
  uint64_t *heap_ids = TH_COLUMN(table, TH_BLOCK_HEAP_ID, uint64_t);
  uint64_t *addresses = TH_COLUMN(table, TH_BLOCK_ADDRESS, uint64_t);
  uint64_t *sizes = TH_COLUMN(table, TH_BLOCK_SIZE, uint64_t);
  uint8_t *kinds = TH_COLUMN(table, TH_BLOCK_KIND, uint8_t);
  uint32_t *flags = TH_COLUMN(table, TH_BLOCK_FLAGS, uint32_t);
  size_t row = 0;
  while (records->first) {
    const chunk *from = records->first;
    for (size_t i = 0; i < from->count; i++, row++) {
      const record *block = &from->records[i];
      heap_ids[row] = heap_id;
      addresses[row] = block->address;
      sizes[row] = block->size;
      kinds[row] = (uint8_t)kind_of(block->flags);
      flags[row] = block->flags;
    }
    drop_first(records);
  }
  table->count = row;
}

/* HeapLock and HeapWalk crash on what is no heap, so the id must be in the list. */
static th_status check_heap(uint64_t heap_id, th_failure *failure) {
  heap_list list;
  bool known = false;
  th_status status = list_heaps(&list, failure);
  if (status != TH_OK)
    return status;
  for (uint32_t i = 0; i < list.count; i++)
    known = known || list.heaps[i] == heap_id;
  th_mem_free(list.heaps);
  return known ? TH_OK
               : th_fail_process(failure, "HeapLock", TH_ERROR_INVALID_HANDLE,
                                 th_sys_current_pid());
}

th_status th_own_heap_blocks(uint64_t heap_id, th_table **blocks, th_failure *failure) {
  recorder records = {0};
  th_table *table = NULL;
  th_status status = check_heap(heap_id, failure);
  if (status == TH_OK)
    status = walk((uintptr_t)heap_id, record_entry, &records, failure);
  if (status == TH_OK && !(table = th_table_new(&th_heap_block_schema, records.total, NULL)))
    status = th_fail_memory(failure);
  if (status == TH_OK) {
    fill(&records, heap_id, table);
    *blocks = table;
  }
  while (records.first)
    drop_first(&records);
  return status;
}

/* ===== totals ===================================================================== */

static bool total_entry(void *context, const th_walk_entry *entry) {
  th_block block = {.address = entry->address, .size = entry->size, .kind = kind_of(entry->flags)};
  block.busy = block.kind == TH_KIND_BUSY;
  if (block.kind == TH_KIND_REGION)
    block.committed = entry->of.region.committed;
  return th_heap_totals_add(context, &block);
}

th_status th_own_heap_totals(th_table *summary, th_table *sizes, th_failure *failure) {
  const size_t before = summary ? summary->count : 0, sizes_before = sizes ? sizes->count : 0;
  const uint32_t pid = th_sys_current_pid();
  const uintptr_t of_process = th_sys_default_heap();
  heap_list list;
  th_status status = list_heaps(&list, failure);
  if (status != TH_OK)
    return status;
  for (uint32_t i = 0; i < list.count && status == TH_OK; i++) {
    th_heap_totals totals = {0};
    const uintptr_t heap = list.heaps[i];
    status = walk(heap, total_entry, &totals, failure);
    if (status == TH_OK &&
        ((summary && !th_heap_summary_add(summary, pid, heap, heap == of_process, &totals)) ||
         (sizes && !th_heap_sizes_add(sizes, pid, heap, &totals))))
      status = th_fail_memory(failure);
  }
  th_mem_free(list.heaps);
  if (status != TH_OK && summary)
    th_table_shrink(summary, before);
  if (status != TH_OK && sizes)
    th_table_shrink(sizes, sizes_before);
  return status;
}
