#include "sys/sys.h"

#include <windows.h>

uint32_t th_sys_read_memory(th_handle process, uint64_t address, void *buffer, size_t size,
                            size_t *read) {
  SIZE_T got = 0;
  BOOL whole =
      ReadProcessMemory((HANDLE)process, (LPCVOID)(uintptr_t)address, buffer, size, &got);
  DWORD code = whole ? 0 : GetLastError();
  *read = got;
  return code;
}

uint32_t th_sys_debug_privilege(bool enable, bool *was_enabled) {
  TOKEN_PRIVILEGES wanted = {.PrivilegeCount = 1}, before = {0};
  DWORD size = sizeof before, code;
  HANDLE token;
  if (!OpenProcessToken(GetCurrentProcess(), TOKEN_ADJUST_PRIVILEGES | TOKEN_QUERY, &token))
    return GetLastError();
  wanted.Privileges[0].Attributes = enable ? SE_PRIVILEGE_ENABLED : 0;
  if (LookupPrivilegeValueW(NULL, L"SeDebugPrivilege", &wanted.Privileges[0].Luid))
    (void)AdjustTokenPrivileges(token, FALSE, &wanted, sizeof before, &before, &size);
  /* AdjustTokenPrivileges sets it on success, too: ERROR_NOT_ALL_ASSIGNED when it is not held. */
  code = GetLastError();
  CloseHandle(token);
  if (code)
    return code;
  /* What it changed is given back; nothing was changed: it already was as wanted. */
  *was_enabled = before.PrivilegeCount == 0
                     ? enable
                     : (before.Privileges[0].Attributes & SE_PRIVILEGE_ENABLED) != 0;
  return 0;
}
