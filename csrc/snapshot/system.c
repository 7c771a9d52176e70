#include "snapshot/system.h"

#include "base/text.h"
#include "snapshot/create.h"
#include "snapshot/rows.h"

/* A usual machine fits without growing. */
#define FIRST_PROCESSES 512
#define FIRST_THREADS 8192
#define USUAL_NAME 32u /* bytes of UTF-16 */

static bool add_process(th_table *table, const th_sys_process *process) {
  size_t row;
  if (!th_table_add(table, &row))
    return false;
  TH_COLUMN(table, TH_PROCESS_PID, uint32_t)[row] = process->pid;
  TH_COLUMN(table, TH_PROCESS_PPID, uint32_t)[row] = process->parent_pid;
  TH_COLUMN(table, TH_PROCESS_NUM_THREADS, uint32_t)[row] = process->threads;
  TH_COLUMN(table, TH_PROCESS_BASE_PRIORITY, int32_t)[row] = process->base_priority;
  return th_table_set_text(table, TH_PROCESS_NAME, row, process->name,
                           th_text_units(process->name, TH_MAX_PATH));
}

static th_status walk_processes(th_handle snapshot, const th_system_request *request,
                                th_table *table, th_failure *failure) {
  th_sys_process process;
  const char *function = "Process32FirstW";
  bool found = false;
  uint32_t code = th_sys_process_first(snapshot, &process);
  for (; th_step_of(code) == TH_STEP_ROW; code = th_sys_process_next(snapshot, &process)) {
    found = found || process.pid == request->pid;
    if (table && !add_process(table, &process))
      return th_fail_memory(failure);
    function = "Process32NextW";
  }
  if (th_step_of(code) == TH_STEP_FAILED)
    return th_fail_system(failure, function, code);
  if (request->one_pid && !found)
    return th_fail_process(failure, "CreateToolhelp32Snapshot", TH_ERROR_INVALID_PARAMETER,
                           request->pid);
  return TH_OK;
}

static bool add_thread(th_table *table, const th_sys_thread *thread) {
  size_t row;
  if (!th_table_add(table, &row))
    return false;
  TH_COLUMN(table, TH_THREAD_TID, uint32_t)[row] = thread->tid;
  TH_COLUMN(table, TH_THREAD_OWNER_PID, uint32_t)[row] = thread->owner_pid;
  TH_COLUMN(table, TH_THREAD_BASE_PRIORITY, int32_t)[row] = thread->base_priority;
  return true;
}

static th_status walk_threads(th_handle snapshot, const th_system_request *request,
                              th_table *table, th_failure *failure) {
  th_sys_thread thread;
  const char *function = "Thread32First";
  uint32_t code = th_sys_thread_first(snapshot, &thread);
  for (; th_step_of(code) == TH_STEP_ROW; code = th_sys_thread_next(snapshot, &thread)) {
    /* Windows gives the threads of every process, whatever process is asked for. */
    bool wanted = !request->one_pid || thread.owner_pid == request->pid;
    if (wanted && !add_thread(table, &thread))
      return th_fail_memory(failure);
    function = "Thread32Next";
  }
  return th_step_of(code) == TH_STEP_FAILED ? th_fail_system(failure, function, code) : TH_OK;
}

static th_table *process_table(void) {
  th_table *table = th_table_new(&th_process_schema, FIRST_PROCESSES, NULL);
  if (table && !th_intern_reserve(&table->columns[TH_PROCESS_NAME].dictionary->strings,
                                  FIRST_PROCESSES / 2, FIRST_PROCESSES / 2 * USUAL_NAME)) {
    th_table_drop(table);
    return NULL;
  }
  return table;
}

th_status th_snapshot_system(const th_system_request *request, th_table **processes,
                             th_table **threads, th_failure *failure) {
  /* To say that a process does not exist, the processes are walked even when only threads count. */
  const bool walk = request->processes || request->one_pid;
  th_table *made_processes = NULL, *made_threads = NULL;
  th_handle snapshot = TH_NO_HANDLE;
  th_status status = th_snapshot_create((walk ? TH_SNAP_PROCESS : 0) |
                                            (request->threads ? TH_SNAP_THREAD : 0),
                                        0, &snapshot, failure);
  if (status != TH_OK)
    return status;
  if (request->processes && !(made_processes = process_table())) {
    status = th_fail_memory(failure);
    goto done;
  }
  if (request->threads && !(made_threads = th_table_new(&th_thread_schema, FIRST_THREADS, NULL))) {
    status = th_fail_memory(failure);
    goto done;
  }
  if (walk)
    status = walk_processes(snapshot, request, made_processes, failure);
  if (status == TH_OK && request->threads)
    status = walk_threads(snapshot, request, made_threads, failure);

done:
  (void)th_sys_close(snapshot);
  if (status != TH_OK) {
    th_table_drop(made_processes);
    th_table_drop(made_threads);
    return status;
  }
  if (request->processes)
    *processes = made_processes;
  if (request->threads)
    *threads = made_threads;
  return TH_OK;
}
