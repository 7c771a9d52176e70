#include "snapshot/heap_walk.h"

#include "snapshot/block_columns.h"
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

/* Takes one entry of the walk. It runs under the lock of the heap and must neither allocate from
   it nor wait for anyone; false: no memory. */
typedef bool (*entry_sink)(void *context, const th_walk_entry *entry);

/* Inlined, so that the sink is: it is called for every block. */
TH_INLINE th_status walk(uintptr_t heap, entry_sink sink, void *context, th_failure *failure) {
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

/* ===== blocks ===================================================================== */

static bool record_entry(void *context, const th_walk_entry *entry) {
  return th_block_columns_add(context, entry);
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
  th_block_columns columns = {.heap_id = heap_id};
  th_status status = check_heap(heap_id, failure);
  if (status == TH_OK)
    status = walk((uintptr_t)heap_id, record_entry, &columns, failure);
  if (status == TH_OK)
    status = th_block_columns_finish(&columns, blocks, failure);
  th_block_columns_free(&columns);
  return status;
}

/* ===== totals ===================================================================== */

static bool total_entry(void *context, const th_walk_entry *entry) {
  th_block block = {.address = entry->address, .size = entry->size, .kind = th_block_kind_of(entry->flags)};
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
