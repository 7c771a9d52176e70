#include "sys/sys.h"

#include <windows.h>
#include <winternl.h>

uint32_t th_sys_creation_time(th_handle process, uint64_t *created) {
  FILETIME creation, exit, kernel, user;
  if (!GetProcessTimes((HANDLE)process, &creation, &exit, &kernel, &user))
    return GetLastError();
  *created = (uint64_t)creation.dwHighDateTime << 32 | creation.dwLowDateTime;
  return 0;
}

uint32_t th_sys_image_path(th_handle process, uint16_t *path, uint32_t capacity, uint32_t *units) {
  DWORD size = capacity;
  if (!QueryFullProcessImageNameW((HANDLE)process, 0, (LPWSTR)path, &size))
    return GetLastError();
  *units = size;
  return 0;
}

/* PROCESS_MACHINE_INFORMATION and its class (processthreadsapi.h of the Windows 11 SDK). */
typedef struct machine_information {
  USHORT process_machine, reserved;
  DWORD attributes;
} machine_information;
#define MACHINE_TYPE_INFO 9

typedef BOOL(WINAPI *process_information)(HANDLE, int, LPVOID, DWORD);

uint32_t th_sys_process_machine(th_handle process, uint16_t *machine) {
  machine_information information = {0};
  HMODULE kernel32 = GetModuleHandleW(L"kernel32.dll");
  process_information call =
      kernel32 ? (process_information)(void (*)(void))GetProcAddress(kernel32,
                                                                     "GetProcessInformation")
               : NULL;
  if (!call)
    return ERROR_CALL_NOT_IMPLEMENTED;
  if (!call((HANDLE)process, MACHINE_TYPE_INFO, &information, sizeof information))
    return GetLastError();
  *machine = information.process_machine;
  return 0;
}

typedef LONG(WINAPI *get_version)(OSVERSIONINFOW *);

uint32_t th_sys_build(uint32_t *build) {
  OSVERSIONINFOW version = {.dwOSVersionInfoSize = sizeof version};
  HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
  get_version call =
      ntdll ? (get_version)(void (*)(void))GetProcAddress(ntdll, "RtlGetVersion") : NULL;
  if (!call || call(&version) < 0)
    return ERROR_CALL_NOT_IMPLEMENTED;
  *build = version.dwBuildNumber;
  return 0;
}

typedef NTSTATUS(WINAPI *query_system)(int, PVOID, ULONG, PULONG);
typedef ULONG(WINAPI *status_to_code)(NTSTATUS);

uint32_t th_sys_process_information(void *buffer, uint32_t size, uint32_t *needed) {
  HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
  ULONG wanted = 0;
  if (!ntdll)
    return ERROR_CALL_NOT_IMPLEMENTED;
  query_system query =
      (query_system)(void (*)(void))GetProcAddress(ntdll, "NtQuerySystemInformation");
  status_to_code code =
      (status_to_code)(void (*)(void))GetProcAddress(ntdll, "RtlNtStatusToDosError");
  if (!query || !code)
    return ERROR_CALL_NOT_IMPLEMENTED;
  NTSTATUS status = query(SystemProcessInformation, buffer, size, &wanted);
  *needed = wanted;
  return status < 0 ? code(status) : 0;
}
