#include "sys/sys.h"

#include <windows.h>
#include <tlhelp32.h>

#include <assert.h>
#include <string.h>

/* Sizes and places that the fields above this door were taken from (x64 / x86). */
static_assert(sizeof(PROCESSENTRY32W) == (sizeof(void *) == 8 ? 568 : 556), "PROCESSENTRY32W");
static_assert(sizeof(THREADENTRY32) == 28, "THREADENTRY32");
static_assert(sizeof(MODULEENTRY32W) == (sizeof(void *) == 8 ? 1080 : 1064), "MODULEENTRY32W");
static_assert(sizeof(HEAPLIST32) == (sizeof(void *) == 8 ? 32 : 16), "HEAPLIST32");
static_assert(sizeof(HEAPENTRY32) == (sizeof(void *) == 8 ? 56 : 36), "HEAPENTRY32");
static_assert(offsetof(PROCESSENTRY32W, szExeFile) == (sizeof(void *) == 8 ? 44 : 36), "szExeFile");
static_assert(offsetof(MODULEENTRY32W, szExePath) == (sizeof(void *) == 8 ? 560 : 544),
              "szExePath");
static_assert(MAX_PATH == TH_MAX_PATH && MAX_MODULE_NAME32 + 1 == TH_MAX_MODULE_NAME, "text");
static_assert(TH32CS_SNAPHEAPLIST == TH_SNAP_HEAP_LIST && TH32CS_SNAPPROCESS == TH_SNAP_PROCESS &&
                  TH32CS_SNAPTHREAD == TH_SNAP_THREAD && TH32CS_SNAPMODULE == TH_SNAP_MODULE &&
                  TH32CS_SNAPMODULE32 == TH_SNAP_MODULE32 && TH32CS_INHERIT == TH_SNAP_INHERIT,
              "flags");

/* Copies the text and its zero: the rest of the field holds the tail of longer names before. */
static void copy_text(uint16_t *to, const WCHAR *from, size_t capacity) {
  size_t units = wcsnlen(from, capacity - 1);
  memcpy(to, from, units * sizeof *to);
  to[units] = 0;
}

uint32_t th_sys_create_snapshot(uint32_t flags, uint32_t pid, th_handle *snapshot) {
  HANDLE handle = CreateToolhelp32Snapshot(flags, pid);
  if (handle == INVALID_HANDLE_VALUE)
    return GetLastError();
  *snapshot = (th_handle)handle;
  return 0;
}

static void copy_process(const PROCESSENTRY32W *entry, th_sys_process *row) {
  row->size = entry->dwSize;
  row->usage = entry->cntUsage;
  row->pid = entry->th32ProcessID;
  row->default_heap_id = entry->th32DefaultHeapID;
  row->module_id = entry->th32ModuleID;
  row->threads = entry->cntThreads;
  row->parent_pid = entry->th32ParentProcessID;
  row->base_priority = entry->pcPriClassBase;
  row->flags = entry->dwFlags;
  copy_text(row->name, entry->szExeFile, TH_MAX_PATH);
}

uint32_t th_sys_process_first(th_handle snapshot, th_sys_process *row) {
  PROCESSENTRY32W entry = {.dwSize = sizeof entry};
  if (!Process32FirstW((HANDLE)snapshot, &entry))
    return GetLastError();
  copy_process(&entry, row);
  return 0;
}

uint32_t th_sys_process_next(th_handle snapshot, th_sys_process *row) {
  PROCESSENTRY32W entry = {.dwSize = sizeof entry};
  if (!Process32NextW((HANDLE)snapshot, &entry))
    return GetLastError();
  copy_process(&entry, row);
  return 0;
}

static void copy_thread(const THREADENTRY32 *entry, th_sys_thread *row) {
  row->size = entry->dwSize;
  row->usage = entry->cntUsage;
  row->tid = entry->th32ThreadID;
  row->owner_pid = entry->th32OwnerProcessID;
  row->base_priority = entry->tpBasePri;
  row->delta_priority = entry->tpDeltaPri;
  row->flags = entry->dwFlags;
}

uint32_t th_sys_thread_first(th_handle snapshot, th_sys_thread *row) {
  THREADENTRY32 entry = {.dwSize = sizeof entry};
  if (!Thread32First((HANDLE)snapshot, &entry))
    return GetLastError();
  copy_thread(&entry, row);
  return 0;
}

uint32_t th_sys_thread_next(th_handle snapshot, th_sys_thread *row) {
  THREADENTRY32 entry = {.dwSize = sizeof entry};
  if (!Thread32Next((HANDLE)snapshot, &entry))
    return GetLastError();
  copy_thread(&entry, row);
  return 0;
}

static void copy_module(const MODULEENTRY32W *entry, th_sys_module *row) {
  row->size = entry->dwSize;
  row->module_id = entry->th32ModuleID;
  row->pid = entry->th32ProcessID;
  row->global_usage = entry->GlblcntUsage;
  row->process_usage = entry->ProccntUsage;
  row->base = (uintptr_t)entry->modBaseAddr;
  row->base_size = entry->modBaseSize;
  row->handle = (uintptr_t)entry->hModule;
  copy_text(row->name, entry->szModule, TH_MAX_MODULE_NAME);
  copy_text(row->path, entry->szExePath, TH_MAX_PATH);
}

uint32_t th_sys_module_first(th_handle snapshot, th_sys_module *row) {
  MODULEENTRY32W entry = {.dwSize = sizeof entry};
  if (!Module32FirstW((HANDLE)snapshot, &entry))
    return GetLastError();
  copy_module(&entry, row);
  return 0;
}

uint32_t th_sys_module_next(th_handle snapshot, th_sys_module *row) {
  MODULEENTRY32W entry = {.dwSize = sizeof entry};
  if (!Module32NextW((HANDLE)snapshot, &entry))
    return GetLastError();
  copy_module(&entry, row);
  return 0;
}

static void copy_heap(const HEAPLIST32 *entry, th_sys_heap *row) {
  row->size = entry->dwSize;
  row->pid = entry->th32ProcessID;
  row->heap_id = entry->th32HeapID;
  row->flags = entry->dwFlags;
}

uint32_t th_sys_heap_list_first(th_handle snapshot, th_sys_heap *row) {
  HEAPLIST32 entry = {.dwSize = sizeof entry};
  /* Wine answers FALSE and leaves the last error as it was: it must not be taken for the end. */
  SetLastError(0);
  if (!Heap32ListFirst((HANDLE)snapshot, &entry)) {
    DWORD code = GetLastError();
    return code ? code : TH_ERROR_CALL_NOT_IMPLEMENTED;
  }
  copy_heap(&entry, row);
  return 0;
}

uint32_t th_sys_heap_list_next(th_handle snapshot, th_sys_heap *row) {
  HEAPLIST32 entry = {.dwSize = sizeof entry};
  if (!Heap32ListNext((HANDLE)snapshot, &entry))
    return GetLastError();
  copy_heap(&entry, row);
  return 0;
}

static void copy_block(const HEAPENTRY32 *entry, th_sys_heap_block *block) {
  block->size = entry->dwSize;
  block->handle = (uintptr_t)entry->hHandle;
  block->address = entry->dwAddress;
  block->block_size = entry->dwBlockSize;
  block->flags = entry->dwFlags;
  block->lock_count = entry->dwLockCount;
  block->reserved = entry->dwResvd;
  block->pid = entry->th32ProcessID;
  block->heap_id = entry->th32HeapID;
}

uint32_t th_sys_heap_first(uint32_t pid, uint64_t heap_id, th_sys_heap_block *block) {
  HEAPENTRY32 entry = {.dwSize = sizeof entry};
  if (!Heap32First(&entry, pid, (ULONG_PTR)heap_id))
    return GetLastError();
  copy_block(&entry, block);
  return 0;
}

uint32_t th_sys_heap_next(th_sys_heap_block *block) {
  HEAPENTRY32 entry = {.dwSize = sizeof entry,
                       .hHandle = (HANDLE)(uintptr_t)block->handle,
                       .dwAddress = (ULONG_PTR)block->address,
                       .dwBlockSize = (SIZE_T)block->block_size,
                       .dwFlags = block->flags,
                       .dwLockCount = block->lock_count,
                       .dwResvd = block->reserved,
                       .th32ProcessID = block->pid,
                       .th32HeapID = (ULONG_PTR)block->heap_id};
  if (!Heap32Next(&entry))
    return GetLastError();
  copy_block(&entry, block);
  return 0;
}

uint32_t th_sys_toolhelp_read_memory(uint32_t pid, uint64_t address, void *buffer, size_t size,
                                     size_t *read) {
  SIZE_T got = 0;
  if (!Toolhelp32ReadProcessMemory(pid, (LPCVOID)(uintptr_t)address, buffer, size, &got))
    return GetLastError();
  *read = got;
  return 0;
}
