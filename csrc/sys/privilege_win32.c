#include "sys/privilege.h"

#include <windows.h>

uint32_t th_sys_privilege(th_sys_privilege_name name, bool enable, bool *before) {
  static const wchar_t *const names[] = {
      [TH_PRIVILEGE_DEBUG] = L"SeDebugPrivilege",
      [TH_PRIVILEGE_SYSTEM_PROFILE] = L"SeSystemProfilePrivilege",
  };
  HANDLE token;
  DWORD code = 0, size = 0;
  TOKEN_PRIVILEGES wanted = {.PrivilegeCount = 1}, old = {.PrivilegeCount = 0};
  wanted.Privileges[0].Attributes = enable ? SE_PRIVILEGE_ENABLED : 0;
  if (!LookupPrivilegeValueW(NULL, names[name], &wanted.Privileges[0].Luid))
    return GetLastError();
  if (!OpenProcessToken(GetCurrentProcess(), TOKEN_ADJUST_PRIVILEGES | TOKEN_QUERY, &token))
    return GetLastError();
  /* Succeeds, with a last error, when the token does not have the privilege. */
  if (!AdjustTokenPrivileges(token, FALSE, &wanted, sizeof old, &old, &size))
    code = GetLastError();
  else if (GetLastError() == ERROR_NOT_ALL_ASSIGNED)
    code = ERROR_PRIVILEGE_NOT_HELD;
  CloseHandle(token);
  if (code)
    return code;
  /* `old` holds what was changed, so nothing when it was so already. */
  *before = old.PrivilegeCount ? (old.Privileges[0].Attributes & SE_PRIVILEGE_ENABLED) != 0
                               : enable;
  return 0;
}
