#include "snapshot/heaps.h"

#include "snapshot/heap_query.h"
#include "snapshot/heap_walk.h"
#include "snapshot/target.h"
#include "sys/sys.h"

#define LIST_CALL "CreateToolhelp32Snapshot"
#define BLOCK_CALL "Heap32First"
#define DEBUG_CALL "RtlQueryProcessDebugInformation"

/* Whether the Tool Help calls of heaps may be entered at all. */
static th_status check_toolhelp(uint32_t pid, const th_heap_access *access, const char *function,
                                th_failure *failure) {
  if (pid != th_sys_current_pid())
    return th_target_check(pid, access->allow_injection, function, failure);
  if (!th_sys_is_wine())
    return TH_OK;
  th_fail(failure, TH_UNSUPPORTED, "Wine does not implement it");
  failure->function = function;
  return TH_UNSUPPORTED;
}

th_status th_heaps(uint32_t pid, const th_heap_access *access, th_table *heaps,
                   th_failure *failure) {
  const size_t before = heaps->count;
  th_table *found = NULL;
  if (pid == th_sys_current_pid() && !access->toolhelp)
    return th_own_heaps(heaps, failure);
  th_status status = check_toolhelp(pid, access, LIST_CALL, failure);
  if (status == TH_OK)
    status = th_query_heap_list(pid, access->timeout_ns, &found, failure);
  if (status != TH_OK)
    return status;
  for (size_t i = 0; i < found->count && status == TH_OK; i++)
    if (!th_heap_add(heaps, pid, TH_COLUMN(found, TH_HEAP_ID, uint64_t)[i],
                     TH_COLUMN(found, TH_HEAP_FLAGS, uint32_t)[i],
                     TH_COLUMN(found, TH_HEAP_IS_DEFAULT, uint8_t)[i] != 0))
      status = th_fail_memory(failure);
  th_table_drop(found);
  if (status != TH_OK)
    th_table_shrink(heaps, before);
  return status;
}

/* ===== blocks ===================================================================== */

typedef struct block_target {
  th_table *table;
  uint64_t heap_id;
} block_target;

static bool add_block(void *context, const th_block *block) {
  block_target *to = context;
  return th_block_add(to->table, to->heap_id, block, true);
}

static th_status blocks_of_view(const th_debug_view *view, uint32_t pid, uint64_t heap_id,
                                th_table **blocks, th_failure *failure) {
  th_debug_heap heap;
  uint32_t index = 0;
  for (; index < view->heap_count; index++) {
    th_debug_heap_at(view, index, &heap);
    if (heap.base == heap_id)
      break;
  }
  if (index == view->heap_count)
    return th_fail_process(failure, DEBUG_CALL, TH_ERROR_INVALID_HANDLE, pid);
  block_target to = {th_table_new(&th_heap_block_schema, heap.entry_count, NULL), heap_id};
  if (!to.table || !th_debug_walk(view, &heap, add_block, &to)) {
    th_table_drop(to.table);
    return th_fail_memory(failure);
  }
  *blocks = to.table;
  return TH_OK;
}

th_status th_heap_blocks(uint32_t pid, uint64_t heap_id, const th_heap_access *access,
                         th_table **blocks, th_failure *failure) {
  th_debug_view view;
  th_status status;
  if (access->toolhelp) {
    status = check_toolhelp(pid, access, BLOCK_CALL, failure);
    return status == TH_OK ? th_query_heap32(pid, heap_id, access->timeout_ns, blocks, failure)
                           : status;
  }
  if (pid == th_sys_current_pid())
    return th_own_heap_blocks(heap_id, blocks, failure);
  status = th_target_check(pid, access->allow_injection, DEBUG_CALL, failure);
  if (status == TH_OK)
    status = th_query_debug(pid, access->timeout_ns, &view, failure);
  if (status != TH_OK)
    return status;
  status = blocks_of_view(&view, pid, heap_id, blocks, failure);
  th_query_free(&view);
  return status;
}

/* ===== totals ===================================================================== */

typedef struct total_tables {
  th_table *heaps, *summary, *sizes;
} total_tables;

static bool totals_of_view(const th_debug_view *view, uint32_t pid, const total_tables *to) {
  for (uint32_t i = 0; i < view->heap_count; i++) {
    th_heap_totals totals = {0};
    th_debug_heap heap;
    th_debug_heap_at(view, i, &heap);
    const bool is_default = heap.base == view->process_heap;
    if (!th_debug_walk(view, &heap, th_heap_totals_add, &totals))
      return false;
    totals.committed = heap.committed; /* also counts what belongs to no segment */
    if ((to->heaps && !th_heap_add(to->heaps, pid, heap.base, is_default ? TH_HEAP_DEFAULT : 0,
                                   is_default)) ||
        (to->summary && !th_heap_summary_add(to->summary, pid, heap.base, is_default, &totals)) ||
        (to->sizes && !th_heap_sizes_add(to->sizes, pid, heap.base, &totals)))
      return false;
  }
  return true;
}

static th_status own_totals(const total_tables *to, th_failure *failure) {
  th_status status = to->heaps ? th_own_heaps(to->heaps, failure) : TH_OK;
  if (status == TH_OK && (to->summary || to->sizes))
    status = th_own_heap_totals(to->summary, to->sizes, failure);
  return status;
}

static th_status remote_totals(uint32_t pid, const th_heap_access *access, const total_tables *to,
                               th_failure *failure) {
  th_debug_view view;
  th_status status = th_target_check(pid, access->allow_injection, DEBUG_CALL, failure);
  if (status == TH_OK)
    status = th_query_debug(pid, access->timeout_ns, &view, failure);
  if (status != TH_OK)
    return status;
  if (!totals_of_view(&view, pid, to))
    status = th_fail_memory(failure);
  th_query_free(&view);
  return status;
}

th_status th_heap_totals_of(uint32_t pid, const th_heap_access *access, th_table *heaps,
                            th_table *summary, th_table *sizes, th_failure *failure) {
  const total_tables to = {heaps, summary, sizes};
  th_table *const tables[] = {heaps, summary, sizes};
  size_t before[3];
  for (size_t i = 0; i < 3; i++)
    before[i] = tables[i] ? tables[i]->count : 0;
  th_status status = pid == th_sys_current_pid() ? own_totals(&to, failure)
                                                 : remote_totals(pid, access, &to, failure);
  for (size_t i = 0; i < 3 && status != TH_OK; i++)
    if (tables[i])
      th_table_shrink(tables[i], before[i]);
  return status;
}
