/* The door to the privileges of this process. */
#ifndef TH_SYS_PRIVILEGE_H
#define TH_SYS_PRIVILEGE_H

#include "sys/sys.h"

typedef enum th_sys_privilege_name {
  TH_PRIVILEGE_DEBUG,         /* SeDebugPrivilege */
  TH_PRIVILEGE_SYSTEM_PROFILE /* SeSystemProfilePrivilege */
} th_sys_privilege_name;

/* OpenProcessToken, LookupPrivilegeValueW and AdjustTokenPrivileges on the token of this process;
   *before says whether it was enabled. TH_ERROR_PRIVILEGE_NOT_HELD when the token does not have it
   at all (AdjustTokenPrivileges succeeds then, with the last error ERROR_NOT_ALL_ASSIGNED). */
uint32_t th_sys_privilege(th_sys_privilege_name name, bool enable, bool *before);

#endif
