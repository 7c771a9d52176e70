#include "snapshot/create.h"

#include "snapshot/retry.h"

/* The order of the questions is that of certainty: widths never change, an exit code is final, a
   missing loader list is a fact of the moment. */
th_reason th_snapshot_reason(uint32_t pid) {
  th_reason reason = TH_REASON_UNKNOWN;
  th_handle process = TH_NO_HANDLE;
  uint16_t own_machine, machine, native;
  uint32_t exit_code;
  bool ready;
  if (th_sys_open_process(TH_PROCESS_QUERY | TH_PROCESS_VM_READ, pid, &process) != 0 &&
      th_sys_open_process(TH_PROCESS_QUERY_LIMITED, pid, &process) != 0)
    return TH_REASON_UNKNOWN;
  if (sizeof(void *) == 4 && th_sys_wow64_machine(TH_CURRENT_PROCESS, &own_machine, &native) == 0 &&
      th_sys_wow64_machine(process, &machine, &native) == 0 &&
      own_machine != TH_MACHINE_UNKNOWN && machine == TH_MACHINE_UNKNOWN)
    reason = TH_REASON_BITNESS;
  else if (th_sys_exit_code(process, &exit_code) == 0 && exit_code != TH_STILL_ACTIVE)
    reason = TH_REASON_EXITING;
  else if (th_sys_loader_ready(process, &ready) == 0 && !ready)
    reason = TH_REASON_STARTING;
  (void)th_sys_close(process);
  return reason;
}

static bool has_exited(uint32_t pid) {
  th_handle process = TH_NO_HANDLE;
  uint32_t exit_code = TH_STILL_ACTIVE;
  if (th_sys_open_process(TH_PROCESS_QUERY_LIMITED, pid, &process) != 0)
    return false;
  uint32_t code = th_sys_exit_code(process, &exit_code);
  (void)th_sys_close(process);
  return code == 0 && exit_code != TH_STILL_ACTIVE;
}

th_status th_snapshot_create(uint32_t flags, uint32_t pid, th_handle *snapshot,
                             th_failure *failure) {
  static const char function[] = "CreateToolhelp32Snapshot";
  const bool of_process = flags & (TH_SNAP_MODULE | TH_SNAP_MODULE32 | TH_SNAP_HEAP_LIST);
  th_reason reason = TH_REASON_NONE;
  th_retry retry;
  th_retry_start(&retry);
  for (;;) {
    uint32_t code = th_sys_create_snapshot(flags, pid, snapshot);
    if (code == 0)
      return TH_OK;
    if (code == TH_ERROR_PARTIAL_COPY)
      reason = th_snapshot_reason(pid ? pid : th_sys_current_pid());
    bool passing = code == TH_ERROR_BAD_LENGTH ||
                   (code == TH_ERROR_PARTIAL_COPY && reason == TH_REASON_STARTING);
    if (passing && th_retry_again(&retry))
      continue;
    th_fail_system(failure, function, code);
    failure->attempts = passing ? retry.attempts : retry.attempts + 1;
    failure->pid = pid ? pid : th_sys_current_pid();
    failure->has_pid = of_process;
    /* A process that has exited while somebody keeps it open is not denied: it is gone. */
    if (code == TH_ERROR_ACCESS_DENIED && of_process && has_exited(failure->pid))
      failure->reason = TH_REASON_EXITING;
    else if (code == TH_ERROR_BAD_LENGTH)
      failure->status = TH_RACE;
    else if (code == TH_ERROR_PARTIAL_COPY) {
      failure->status = TH_PARTIAL;
      failure->reason = reason;
    }
    return failure->status;
  }
}
