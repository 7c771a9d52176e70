#include "sys/launch.h"

#include <windows.h>
#include <winternl.h>

#include <assert.h>

static_assert(SYNCHRONIZE == TH_PROCESS_SYNCHRONIZE, "access");

uint32_t th_sys_create_suspended(const th_sys_launch *launch, th_handle *process,
                                 th_handle *thread, uint32_t *pid) {
  STARTUPINFOW startup = {.cb = sizeof startup};
  PROCESS_INFORMATION made;
  DWORD flags = CREATE_SUSPENDED | (launch->environment ? CREATE_UNICODE_ENVIRONMENT : 0);
  if (!CreateProcessW(NULL, (LPWSTR)launch->command_line, NULL, NULL, FALSE, flags,
                      (LPVOID)launch->environment, (LPCWSTR)launch->directory, &startup, &made))
    return GetLastError();
  *process = (th_handle)made.hProcess;
  *thread = (th_handle)made.hThread;
  *pid = made.dwProcessId;
  return 0;
}

uint32_t th_sys_resume(th_handle thread) {
  return ResumeThread((HANDLE)thread) == (DWORD)-1 ? GetLastError() : 0;
}

uint32_t th_sys_terminate(th_handle process, uint32_t exit_code) {
  return TerminateProcess((HANDLE)process, exit_code) ? 0 : GetLastError();
}

uint32_t th_sys_wait_process(th_handle process, uint32_t milliseconds, bool *ended) {
  DWORD answer = WaitForSingleObject((HANDLE)process, milliseconds);
  if (answer == WAIT_FAILED)
    return GetLastError();
  *ended = answer == WAIT_OBJECT_0;
  return 0;
}

static int64_t file_time(FILETIME time) {
  return (int64_t)((uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime);
}

uint32_t th_sys_process_times(th_handle process, int64_t *created, int64_t *exited) {
  FILETIME creation, end, kernel, user;
  DWORD code;
  if (!GetProcessTimes((HANDLE)process, &creation, &end, &kernel, &user))
    return GetLastError();
  if (!GetExitCodeProcess((HANDLE)process, &code))
    return GetLastError();
  *created = file_time(creation);
  *exited = code == STILL_ACTIVE ? 0 : file_time(end); /* undefined while it runs */
  return 0;
}

typedef NTSTATUS(WINAPI *query_information)(HANDLE, PROCESSINFOCLASS, PVOID, ULONG, PULONG);

/* ProcessHeap is the pointer after ProcessParameters and SubSystemData in every known PEB: the
   field behind that which winternl.h names. */
uint32_t th_sys_process_heap(th_handle process, uint64_t *heap) {
  HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
  query_information query =
      ntdll ? (query_information)(void (*)(void))GetProcAddress(ntdll, "NtQueryInformationProcess")
            : NULL;
  PROCESS_BASIC_INFORMATION basic;
  void *found = NULL;
  if (!query)
    return ERROR_CALL_NOT_IMPLEMENTED;
  if (query((HANDLE)process, ProcessBasicInformation, &basic, sizeof basic, NULL) < 0)
    return ERROR_PARTIAL_COPY;
  const BYTE *at = (const BYTE *)basic.PebBaseAddress + offsetof(PEB, ProcessParameters) +
                   2 * sizeof(void *);
  if (!ReadProcessMemory((HANDLE)process, at, &found, sizeof found, NULL))
    return GetLastError();
  *heap = (uint64_t)(uintptr_t)found;
  return 0;
}
