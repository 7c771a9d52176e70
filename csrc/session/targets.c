#include "session/targets.h"

static void close_all(th_target *items, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (items[i].process != TH_NO_HANDLE)
      (void)th_sys_close(items[i].process);
}

th_status th_targets_set(th_targets *targets, const uint32_t *pids, size_t count,
                         th_failure *failure) {
  th_targets fresh = {{0}};
  if (!th_vec_reserve(&fresh.items, count))
    return th_fail_memory(failure);
  for (size_t i = 0; i < count; i++) {
    th_target target = {pids[i], TH_NO_HANDLE};
    if (target.pid == 0)
      continue;
    uint32_t code = th_sys_open_process(TH_PROCESS_QUERY_LIMITED | TH_PROCESS_SYNCHRONIZE,
                                        target.pid, &target.process);
    if (code && code != TH_ERROR_ACCESS_DENIED) {
      close_all(fresh.items.items, fresh.items.count);
      th_vec_free(&fresh.items);
      return th_fail_process(failure, "OpenProcess", code, target.pid);
    }
    fresh.items.items[fresh.items.count++] = target;
  }
  th_targets_free(targets);
  *targets = fresh;
  return TH_OK;
}

bool th_targets_gone(const th_targets *targets) {
  for (size_t i = 0; i < targets->items.count; i++) {
    th_handle process = targets->items.items[i].process;
    bool ended = false;
    if (process == TH_NO_HANDLE || th_sys_wait_process(process, 0, &ended) != 0 || !ended)
      return false;
  }
  return targets->items.count != 0;
}

void th_targets_free(th_targets *targets) {
  close_all(targets->items.items, targets->items.count);
  th_vec_free(&targets->items);
}
