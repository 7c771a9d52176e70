#define PSAPI_VERSION 2

#include "sys/sys.h"

#include <windows.h>
#include <winternl.h>
#include <psapi.h> /* version 2: the K32 functions of kernel32.dll */

#include <assert.h>

static_assert(PROCESS_QUERY_LIMITED_INFORMATION == TH_PROCESS_QUERY_LIMITED, "access");
static_assert(PROCESS_QUERY_INFORMATION == TH_PROCESS_QUERY, "access");
static_assert(PROCESS_VM_READ == TH_PROCESS_VM_READ, "access");
static_assert(STILL_ACTIVE == TH_STILL_ACTIVE, "exit code");

/* A function that newer systems have, from a DLL that every process has loaded. */
static FARPROC find(const wchar_t *dll, const char *name) {
  HMODULE module = GetModuleHandleW(dll);
  return module ? GetProcAddress(module, name) : NULL;
}

uint32_t th_sys_current_pid(void) { return GetCurrentProcessId(); }

bool th_sys_is_wine(void) { return find(L"ntdll.dll", "wine_get_version") != NULL; }

uint32_t th_sys_open_process(uint32_t access, uint32_t pid, th_handle *process) {
  HANDLE handle = OpenProcess(access, FALSE, pid);
  if (!handle)
    return GetLastError();
  *process = (th_handle)handle;
  return 0;
}

uint32_t th_sys_close(th_handle handle) { return CloseHandle((HANDLE)handle) ? 0 : GetLastError(); }

uint32_t th_sys_exit_code(th_handle process, uint32_t *code) {
  DWORD value;
  if (!GetExitCodeProcess((HANDLE)process, &value))
    return GetLastError();
  *code = value;
  return 0;
}

typedef BOOL(WINAPI *wow64_process2)(HANDLE, USHORT *, USHORT *);

uint32_t th_sys_wow64_machine(th_handle process, uint16_t *process_machine,
                              uint16_t *native_machine) {
  /* Windows 10 1511 and newer. */
  wow64_process2 call = (wow64_process2)(void (*)(void))find(L"kernel32.dll", "IsWow64Process2");
  USHORT of_process, native;
  if (!call)
    return ERROR_CALL_NOT_IMPLEMENTED;
  if (!call((HANDLE)process, &of_process, &native))
    return GetLastError();
  *process_machine = of_process;
  *native_machine = native;
  return 0;
}

uint32_t th_sys_module_path(th_handle process, uint64_t base, uint16_t *path, uint32_t capacity,
                            uint32_t *units) {
  DWORD copied = GetModuleFileNameExW((HANDLE)process, (HMODULE)(uintptr_t)base, (LPWSTR)path,
                                      capacity);
  if (!copied)
    return GetLastError();
  *units = copied;
  return 0;
}

typedef NTSTATUS(WINAPI *query_information)(HANDLE, PROCESSINFOCLASS, PVOID, ULONG, PULONG);

uint32_t th_sys_loader_ready(th_handle process, bool *ready) {
  query_information query =
      (query_information)(void (*)(void))find(L"ntdll.dll", "NtQueryInformationProcess");
  PROCESS_BASIC_INFORMATION basic;
  PPEB_LDR_DATA loader = NULL;
  if (!query)
    return ERROR_CALL_NOT_IMPLEMENTED;
  if (query((HANDLE)process, ProcessBasicInformation, &basic, sizeof basic, NULL) < 0)
    return ERROR_PARTIAL_COPY;
  if (!ReadProcessMemory((HANDLE)process, (const BYTE *)basic.PebBaseAddress + offsetof(PEB, Ldr),
                         &loader, sizeof loader, NULL))
    return GetLastError();
  *ready = loader != NULL;
  return 0;
}
