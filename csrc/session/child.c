#include "session/child.h"

th_status th_child_create(th_child *child, const th_sys_launch *launch, th_failure *failure) {
  th_child made = {TH_NO_HANDLE, TH_NO_HANDLE, 0};
  uint32_t code = th_sys_create_suspended(launch, &made.process, &made.thread, &made.pid);
  if (code)
    return th_fail_system(failure, "CreateProcessW", code);
  *child = made;
  return TH_OK;
}

th_status th_child_resume(th_child *child, th_failure *failure) {
  uint32_t code = th_sys_resume(child->thread);
  if (code)
    return th_fail_process(failure, "ResumeThread", code, child->pid);
  (void)th_sys_close(child->thread);
  child->thread = TH_NO_HANDLE;
  return TH_OK;
}

th_status th_child_wait(const th_child *child, uint32_t milliseconds, bool *ended,
                        uint32_t *exit_code, th_failure *failure) {
  bool over = false;
  uint32_t value = 0;
  uint32_t code = th_sys_wait_process(child->process, milliseconds, &over);
  if (code)
    return th_fail_process(failure, "WaitForSingleObject", code, child->pid);
  if (over && (code = th_sys_exit_code(child->process, &value)))
    return th_fail_process(failure, "GetExitCodeProcess", code, child->pid);
  *ended = over;
  if (over)
    *exit_code = value;
  return TH_OK;
}

th_status th_child_terminate(const th_child *child, uint32_t exit_code, th_failure *failure) {
  bool ended = false;
  uint32_t code = th_sys_terminate(child->process, exit_code);
  if (code == 0)
    return TH_OK;
  /* A process that is just ending denies access. */
  if (th_sys_wait_process(child->process, 0, &ended) == 0 && ended)
    return TH_OK;
  return th_fail_process(failure, "TerminateProcess", code, child->pid);
}

void th_child_drop(th_child *child) {
  th_failure ignored;
  if (child->process == TH_NO_HANDLE)
    return;
  if (child->thread != TH_NO_HANDLE) {
    if (th_child_terminate(child, TH_CHILD_GIVEN_UP, &ignored) != TH_OK)
      (void)th_child_terminate(child, TH_CHILD_GIVEN_UP, &ignored);
    (void)th_sys_close(child->thread);
  }
  (void)th_sys_close(child->process);
  *child = (th_child){TH_NO_HANDLE, TH_NO_HANDLE, 0};
}
