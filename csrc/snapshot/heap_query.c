#include "snapshot/heap_query.h"

#include "snapshot/create.h"
#include "snapshot/deadline.h"
#include "sys/sys.h"

#include <string.h>

static const char list_function[] = "Heap32ListFirst";
static const char block_function[] = "Heap32First";
static const char debug_function[] = "RtlQueryProcessDebugInformation";

/* What a job works on: it holds everything the thread touches. */
typedef struct query {
  uint32_t pid;
  uint64_t heap_id;
  th_table *table;  /* lists and blocks */
  uint8_t *bytes;   /* debug buffer: its copy */
  size_t size;
  uint64_t address;
} query;

static void drop(void *state) {
  query *of = state;
  th_table_drop(of->table);
  th_mem_free(of->bytes);
  th_mem_free(of);
}

static query *new_query(uint32_t pid, uint64_t heap_id, const th_schema *schema) {
  query *made = th_mem_zero(sizeof *made);
  if (!made)
    return NULL;
  made->pid = pid;
  made->heap_id = heap_id;
  if (schema && !(made->table = th_table_new(schema, 64, NULL))) {
    th_mem_free(made);
    return NULL;
  }
  return made;
}

/* Runs a job that fills the table of a query; the table is the result. */
static th_status run_for_table(const th_deadline_job *job, query *of, uint64_t timeout_ns,
                               th_table **table, th_failure *failure) {
  void *state = of;
  if (!of)
    return th_fail_memory(failure);
  th_status status = th_deadline_run(job, &state, of->pid, timeout_ns, failure);
  if (!state)
    return status;
  if (status == TH_OK) {
    *table = of->table;
    of->table = NULL;
  }
  drop(state);
  return status;
}

/* ===== Heap32ListFirst, Heap32ListNext ============================================ */

static th_status run_list(void *state, th_deadline *deadline, th_failure *failure) {
  query *of = state;
  th_handle snapshot = TH_NO_HANDLE;
  const char *function = list_function;
  th_sys_heap heap;
  th_status status = th_snapshot_create(TH_SNAP_HEAP_LIST, of->pid, &snapshot, failure);
  if (status != TH_OK)
    return status;
  uint32_t code = th_sys_heap_list_first(snapshot, &heap);
  while (th_step_of(code) == TH_STEP_ROW && !th_deadline_over(deadline)) {
    if (!th_heap_add(of->table, of->pid, heap.heap_id, heap.flags,
                     (heap.flags & TH_HEAP_DEFAULT) != 0)) {
      status = th_fail_memory(failure);
      break;
    }
    function = "Heap32ListNext";
    code = th_sys_heap_list_next(snapshot, &heap);
  }
  if (status == TH_OK && th_step_of(code) == TH_STEP_FAILED)
    status = th_fail_process(failure, function, code, of->pid);
  (void)th_sys_close(snapshot);
  return status;
}

th_status th_query_heap_list(uint32_t pid, uint64_t timeout_ns, th_table **heaps,
                             th_failure *failure) {
  static const th_deadline_job job = {run_list, drop, list_function};
  return run_for_table(&job, new_query(pid, 0, &th_heap_schema), timeout_ns, heaps, failure);
}

/* ===== Heap32First, Heap32Next ==================================================== */

#define LF32_FREE 2u

/* Windows does not hold the process between the calls: a handle keeps its id from being given to
   another. */
static th_status run_blocks(void *state, th_deadline *deadline, th_failure *failure) {
  query *of = state;
  const char *function = block_function;
  th_sys_heap_block entry;
  th_handle process = TH_NO_HANDLE;
  th_status status = TH_OK;
  uint32_t code = th_sys_open_process(TH_PROCESS_QUERY_LIMITED, of->pid, &process);
  if (code)
    return th_fail_process(failure, "OpenProcess", code, of->pid);
  code = th_sys_heap_first(of->pid, of->heap_id, &entry);
  while (th_step_of(code) == TH_STEP_ROW && !th_deadline_over(deadline)) {
    th_block block = {.address = entry.address,
                      .size = entry.block_size,
                      .flags = entry.flags,
                      .lock_count = entry.lock_count,
                      .kind = entry.flags & LF32_FREE ? TH_KIND_FREE : TH_KIND_BUSY};
    if (!th_block_add(of->table, of->heap_id, &block, true)) {
      status = th_fail_memory(failure);
      break;
    }
    function = "Heap32Next";
    code = th_sys_heap_next(&entry);
  }
  if (status == TH_OK && th_step_of(code) == TH_STEP_FAILED)
    status = th_fail_process(failure, function, code, of->pid);
  (void)th_sys_close(process);
  return status;
}

th_status th_query_heap32(uint32_t pid, uint64_t heap_id, uint64_t timeout_ns, th_table **blocks,
                          th_failure *failure) {
  static const th_deadline_job job = {run_blocks, drop, block_function};
  return run_for_table(&job, new_query(pid, heap_id, &th_heap_block_schema), timeout_ns, blocks,
                       failure);
}

/* ===== RtlQueryProcessDebugInformation ============================================ */

#define FIRST_BUFFER ((uint32_t)4 << 20)
#define LARGEST_BUFFER ((uint32_t)(sizeof(void *) == 8 ? 2048u : 512u) << 20)

/* Copies what can be read of the buffer: the target can still write to it. */
static th_status copy_buffer(query *of, uintptr_t buffer, th_failure *failure) {
  size_t size;
  uint32_t code = th_sys_readable(buffer, &size);
  if (code)
    return th_fail_process(failure, "VirtualQuery", code, of->pid);
  of->bytes = th_mem_alloc(size);
  if (!of->bytes)
    return th_fail_memory(failure);
  memcpy(of->bytes, (const void *)buffer, size);
  of->size = size;
  of->address = buffer;
  return TH_OK;
}

static th_status run_debug(void *state, th_deadline *deadline, th_failure *failure) {
  query *of = state;
  uint32_t attempts = 0;
  for (uint32_t size = FIRST_BUFFER;; size *= 2) {
    uintptr_t buffer;
    uint32_t code = th_sys_debug_buffer_take(size, &buffer);
    if (code)
      return th_fail_process(failure, "RtlCreateQueryDebugBuffer", code, of->pid);
    code = th_sys_debug_query(of->pid, TH_DEBUG_HEAP_SUMMARY | TH_DEBUG_HEAP_ENTRIES, buffer);
    attempts++;
    th_status status = code ? TH_SYSTEM : copy_buffer(of, buffer, failure);
    th_sys_debug_buffer_drop(buffer);
    if (!code)
      return status;
    bool small = code == TH_ERROR_NOT_ENOUGH_MEMORY || code == TH_ERROR_INSUFFICIENT_BUFFER;
    if (!small || size >= LARGEST_BUFFER || th_deadline_over(deadline)) {
      th_fail_process(failure, debug_function, code, of->pid);
      failure->attempts = attempts;
      return failure->status;
    }
  }
}

th_status th_query_debug(uint32_t pid, uint64_t timeout_ns, th_debug_view *view,
                         th_failure *failure) {
  static const th_deadline_job job = {run_debug, drop, debug_function};
  query *of = new_query(pid, 0, NULL);
  void *state = of;
  uint32_t build = 0;
  if (!of)
    return th_fail_memory(failure);
  th_status status = th_deadline_run(&job, &state, pid, timeout_ns, failure);
  if (!state)
    return status;
  if (status != TH_OK) {
    drop(state);
    return status;
  }
  (void)th_sys_build(&build);
  th_debug_view made = {.bytes = of->bytes,
                        .size = of->size,
                        .address = of->address,
                        .pointer_size = sizeof(void *)};
  switch (th_debug_open(&made, build)) {
  case TH_DEBUG_OK:
    *view = made;
    of->bytes = NULL;
    break;
  case TH_DEBUG_NO_HEAPS:
    status = th_fail(failure, TH_REFUSED,
                     "Windows gave no heaps of the process, which is probably frozen");
    failure->function = debug_function;
    failure->pid = pid;
    failure->has_pid = true;
    break;
  case TH_DEBUG_DAMAGED:
    status = th_fail_process(failure, debug_function, TH_ERROR_INVALID_DATA, pid);
    break;
  }
  drop(state);
  return status;
}

void th_query_free(th_debug_view *view) { th_mem_free((void *)(uintptr_t)view->bytes); }
