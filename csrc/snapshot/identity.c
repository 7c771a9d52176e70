#include "snapshot/identity.h"

/* 1601-01-01 to 1970-01-01 in 100 ns. */
#define EPOCH UINT64_C(116444736000000000)

bool th_identity_time(uint64_t file_time, int64_t *ns) {
  if (file_time == 0 || file_time > INT64_MAX)
    return false;
  int64_t units = (int64_t)file_time - (int64_t)EPOCH;
  if (units > INT64_MAX / 100 || units < INT64_MIN / 100)
    return false;
  *ns = units * 100;
  return true;
}

uint32_t th_identity_machine(th_handle process, uint16_t *machine, uint16_t *native) {
  uint16_t wow64, system, own;
  uint32_t code = th_sys_wow64_machine(process, &wow64, &system);
  if (code)
    return code;
  *native = system;
  *machine = wow64 == TH_MACHINE_UNKNOWN ? system : wow64;
  /* On ARM64 it says "not WOW64" of x64 processes, too; newer systems have a call that tells. */
  if (wow64 == TH_MACHINE_UNKNOWN && system == TH_MACHINE_ARM64 &&
      th_sys_process_machine(process, &own) == 0 && own != TH_MACHINE_UNKNOWN)
    *machine = own;
  return 0;
}

th_status th_identity_of(uint32_t pid, uint16_t *path, uint32_t capacity, th_identity *identity,
                         th_failure *failure) {
  th_identity found = {0};
  th_handle process = TH_NO_HANDLE;
  th_status status = TH_OK;
  uint64_t created;
  uint16_t native;
  uint32_t code;
  *identity = found;
  if (pid == 0) /* the idle process: no process to Windows */
    return th_fail_process(failure, "OpenProcess", TH_ERROR_INVALID_PARAMETER, pid);
  code = th_sys_open_process(TH_PROCESS_QUERY_LIMITED, pid, &process);
  if (code)
    return th_fail_process(failure, "OpenProcess", code, pid);
  code = th_sys_creation_time(process, &created);
  if (code)
    status = th_fail_process(failure, "GetProcessTimes", code, pid);
  else
    found.has_time = th_identity_time(created, &found.create_time);
  code = th_sys_image_path(process, path, capacity, &found.path_units);
  found.has_path = code == 0;
  if (code && status == TH_OK)
    status = th_fail_process(failure, "QueryFullProcessImageNameW", code, pid);
  found.has_machine = th_identity_machine(process, &found.machine, &native) == 0;
  (void)th_sys_close(process);
  *identity = found;
  return status;
}
