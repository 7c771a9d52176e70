#include "sys/sys.h"

#include <windows.h>
#include <winternl.h>

#include <assert.h>

/* th_walk_entry is PROCESS_HEAP_ENTRY in plain types. */
static_assert(sizeof(th_walk_entry) == sizeof(PROCESS_HEAP_ENTRY), "PROCESS_HEAP_ENTRY");
static_assert(offsetof(th_walk_entry, size) == offsetof(PROCESS_HEAP_ENTRY, cbData), "cbData");
static_assert(offsetof(th_walk_entry, flags) == offsetof(PROCESS_HEAP_ENTRY, wFlags), "wFlags");
static_assert(offsetof(th_walk_entry, of) == offsetof(PROCESS_HEAP_ENTRY, Block), "Block");
static_assert(offsetof(th_walk_entry, of.region.first) ==
                  offsetof(PROCESS_HEAP_ENTRY, Region.lpFirstBlock),
              "Region");
static_assert(PROCESS_HEAP_REGION == TH_WALK_REGION &&
                  PROCESS_HEAP_UNCOMMITTED_RANGE == TH_WALK_UNCOMMITTED &&
                  PROCESS_HEAP_ENTRY_BUSY == TH_WALK_BUSY,
              "flags");

uint32_t th_sys_process_heaps(uintptr_t *heaps, uint32_t capacity, uint32_t *count) {
  static_assert(sizeof(HANDLE) == sizeof *heaps, "HANDLE");
  DWORD found = GetProcessHeaps(capacity, (HANDLE *)(void *)heaps);
  if (!found)
    return GetLastError();
  *count = found;
  return 0;
}

uintptr_t th_sys_default_heap(void) { return (uintptr_t)GetProcessHeap(); }

uint32_t th_sys_heap_lock(uintptr_t heap) {
  return HeapLock((HANDLE)heap) ? 0 : GetLastError();
}

uint32_t th_sys_heap_unlock(uintptr_t heap) {
  return HeapUnlock((HANDLE)heap) ? 0 : GetLastError();
}

uint32_t th_sys_heap_walk(uintptr_t heap, th_walk_entry *entry) {
  return HeapWalk((HANDLE)heap, (PROCESS_HEAP_ENTRY *)(void *)entry) ? 0 : GetLastError();
}

void *th_sys_pages_reserve(size_t size) {
  return VirtualAlloc(NULL, size, MEM_RESERVE, PAGE_READWRITE);
}

bool th_sys_pages_commit(void *part, size_t size) {
  return VirtualAlloc(part, size, MEM_COMMIT, PAGE_READWRITE) != NULL;
}

void th_sys_pages_drop(void *pages) {
  if (pages)
    VirtualFree(pages, 0, MEM_RELEASE);
}

static FARPROC of_ntdll(const char *name) {
  HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
  return ntdll ? GetProcAddress(ntdll, name) : NULL;
}

typedef PVOID(WINAPI *create_buffer)(ULONG, BOOLEAN);
typedef NTSTATUS(WINAPI *query_process)(HANDLE, ULONG, PVOID);
typedef NTSTATUS(WINAPI *destroy_buffer)(PVOID);
typedef ULONG(WINAPI *status_to_code)(NTSTATUS);

uint32_t th_sys_debug_buffer_take(uint32_t size, uintptr_t *buffer) {
  create_buffer call = (create_buffer)(void (*)(void))of_ntdll("RtlCreateQueryDebugBuffer");
  if (!call)
    return ERROR_CALL_NOT_IMPLEMENTED;
  PVOID made = call(size, FALSE);
  if (!made)
    return ERROR_NOT_ENOUGH_MEMORY;
  *buffer = (uintptr_t)made;
  return 0;
}

uint32_t th_sys_debug_query(uint32_t pid, uint32_t flags, uintptr_t buffer) {
  query_process call =
      (query_process)(void (*)(void))of_ntdll("RtlQueryProcessDebugInformation");
  status_to_code code = (status_to_code)(void (*)(void))of_ntdll("RtlNtStatusToDosError");
  if (!call || !code)
    return ERROR_CALL_NOT_IMPLEMENTED;
  NTSTATUS status = call((HANDLE)(uintptr_t)pid, flags, (PVOID)buffer);
  return status < 0 ? code(status) : 0;
}

void th_sys_debug_buffer_drop(uintptr_t buffer) {
  destroy_buffer call = (destroy_buffer)(void (*)(void))of_ntdll("RtlDestroyQueryDebugBuffer");
  if (call)
    (void)call((PVOID)buffer);
}

uint32_t th_sys_readable(uintptr_t address, size_t *size) {
  MEMORY_BASIC_INFORMATION region;
  if (!VirtualQuery((LPCVOID)address, &region, sizeof region))
    return GetLastError();
  if (region.State != MEM_COMMIT || (region.Protect & (PAGE_NOACCESS | PAGE_GUARD)))
    return ERROR_NOACCESS;
  *size = region.RegionSize - (address - (uintptr_t)region.BaseAddress);
  return 0;
}
