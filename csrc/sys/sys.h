/* The only door to Windows: one function per system call, plain types, and the failing call's Win32
   code as the result (0: it worked). What stands behind is bound at link time: `*_win32.c` on
   Windows, `*_none.c` elsewhere, a scripted system in a test build.

   The bodies call, read the last error at once and copy fields. They do not loop, retry or
   allocate; all judgement is above this line. Outputs are untouched when a call fails. */
#ifndef TH_SYS_SYS_H
#define TH_SYS_SYS_H

#include "base/compiler.h"

/* Win32 error codes that are told apart above this line (winerror.h). */
#define TH_ERROR_ACCESS_DENIED 5u
#define TH_ERROR_INVALID_HANDLE 6u
#define TH_ERROR_NOT_ENOUGH_MEMORY 8u
#define TH_ERROR_INVALID_DATA 13u
#define TH_ERROR_NO_MORE_FILES 18u
#define TH_ERROR_BAD_LENGTH 24u
#define TH_ERROR_NOT_SUPPORTED 50u
#define TH_ERROR_INVALID_PARAMETER 87u
#define TH_ERROR_CALL_NOT_IMPLEMENTED 120u
#define TH_ERROR_INSUFFICIENT_BUFFER 122u
#define TH_ERROR_NO_MORE_ITEMS 259u
#define TH_ERROR_PARTIAL_COPY 299u
#define TH_ERROR_PRIVILEGE_NOT_HELD 1314u

/* A Windows HANDLE. */
typedef uintptr_t th_handle;
#define TH_NO_HANDLE ((th_handle)0)
/* GetCurrentProcess(): a constant that is never closed. */
#define TH_CURRENT_PROCESS ((th_handle)-1)

/* --- Tool Help snapshots (tlhelp32.h) -------------------------------------------------------- */

#define TH_SNAP_HEAP_LIST 0x00000001u
#define TH_SNAP_PROCESS 0x00000002u
#define TH_SNAP_THREAD 0x00000004u
#define TH_SNAP_MODULE 0x00000008u
#define TH_SNAP_MODULE32 0x00000010u
#define TH_SNAP_INHERIT 0x80000000u

/* Units, with the terminating zero, of the text fields of the entries. */
#define TH_MAX_PATH 260
#define TH_MAX_MODULE_NAME 256

/* The fields of PROCESSENTRY32W. Text is zero-terminated; what follows the zero is undefined. */
typedef struct th_sys_process {
  uint32_t size, usage, pid, module_id, threads, parent_pid, flags;
  int32_t base_priority;
  uint64_t default_heap_id;
  uint16_t name[TH_MAX_PATH];
} th_sys_process;

/* The fields of THREADENTRY32. */
typedef struct th_sys_thread {
  uint32_t size, usage, tid, owner_pid, flags;
  int32_t base_priority, delta_priority;
} th_sys_thread;

/* The fields of MODULEENTRY32W. */
typedef struct th_sys_module {
  uint32_t size, module_id, pid, global_usage, process_usage, base_size;
  uint64_t base, handle;
  uint16_t name[TH_MAX_MODULE_NAME];
  uint16_t path[TH_MAX_PATH];
} th_sys_module;

/* The fields of HEAPLIST32. */
typedef struct th_sys_heap {
  uint64_t size, heap_id;
  uint32_t pid, flags;
} th_sys_heap;

/* The fields of HEAPENTRY32; `reserved` is where Windows keeps its place in the walk. */
typedef struct th_sys_heap_block {
  uint64_t size, handle, address, block_size, heap_id;
  uint32_t flags, lock_count, reserved, pid;
} th_sys_heap_block;

uint32_t th_sys_create_snapshot(uint32_t flags, uint32_t pid, th_handle *snapshot);
uint32_t th_sys_process_first(th_handle snapshot, th_sys_process *row);
uint32_t th_sys_process_next(th_handle snapshot, th_sys_process *row);
uint32_t th_sys_thread_first(th_handle snapshot, th_sys_thread *row);
uint32_t th_sys_thread_next(th_handle snapshot, th_sys_thread *row);
uint32_t th_sys_module_first(th_handle snapshot, th_sys_module *row);
uint32_t th_sys_module_next(th_handle snapshot, th_sys_module *row);
uint32_t th_sys_heap_list_first(th_handle snapshot, th_sys_heap *row);
uint32_t th_sys_heap_list_next(th_handle snapshot, th_sys_heap *row);
/* No snapshot: these read the process as it is now. `block` goes back in unchanged. */
uint32_t th_sys_heap_first(uint32_t pid, uint64_t heap_id, th_sys_heap_block *block);
uint32_t th_sys_heap_next(th_sys_heap_block *block);
/* Toolhelp32ReadProcessMemory: opens the process anew each time; pid 0 is the caller. */
uint32_t th_sys_toolhelp_read_memory(uint32_t pid, uint64_t address, void *buffer, size_t size,
                                     size_t *read);

/* --- processes ------------------------------------------------------------------------------- */

#define TH_PROCESS_QUERY_LIMITED 0x1000u
#define TH_PROCESS_QUERY 0x0400u
#define TH_PROCESS_VM_READ 0x0010u

/* IMAGE_FILE_MACHINE_* (winnt.h). */
#define TH_MACHINE_UNKNOWN 0u
#define TH_MACHINE_X86 0x014cu
#define TH_MACHINE_ARM 0x01c4u
#define TH_MACHINE_X64 0x8664u
#define TH_MACHINE_ARM64 0xaa64u

uint32_t th_sys_current_pid(void);
/* True under Wine, whose unfinished calls must not be entered (ntdll.wine_get_version exists). */
bool th_sys_is_wine(void);
uint32_t th_sys_open_process(uint32_t access, uint32_t pid, th_handle *process);
/* CloseHandle, for snapshots too. */
uint32_t th_sys_close(th_handle handle);
/* GetExitCodeProcess. */
uint32_t th_sys_exit_code(th_handle process, uint32_t *code);
#define TH_STILL_ACTIVE 259u
/* IsWow64Process2: IMAGE_FILE_MACHINE_* of the process (0: native) and of the system. */
uint32_t th_sys_wow64_machine(th_handle process, uint16_t *process_machine,
                              uint16_t *native_machine);
/* GetModuleFileNameExW: *units is what it copied, `capacity` when it cut the path. */
uint32_t th_sys_module_path(th_handle process, uint64_t base, uint16_t *path, uint32_t capacity,
                            uint32_t *units);
/* Whether the loader of the process has made its module list: PEB.Ldr, both of winternl.h. */
uint32_t th_sys_loader_ready(th_handle process, bool *ready);

/* --- identity of processes ------------------------------------------------------------------- */

/* GetProcessTimes: 100 ns units since 1601-01-01 UTC. */
uint32_t th_sys_creation_time(th_handle process, uint64_t *created);
/* QueryFullProcessImageNameW: *units is what it copied, without the zero. */
uint32_t th_sys_image_path(th_handle process, uint16_t *path, uint32_t capacity, uint32_t *units);
/* GetProcessInformation(ProcessMachineTypeInfo), Windows 11 and newer: IMAGE_FILE_MACHINE_* of the
   process, also where IsWow64Process2 cannot tell (x64 on ARM64). */
uint32_t th_sys_process_machine(th_handle process, uint16_t *machine);
/* RtlGetVersion: the build, which tells Windows 10 and 11 apart. */
uint32_t th_sys_build(uint32_t *build);
/* NtQuerySystemInformation(SystemProcessInformation): TH_ERROR_BAD_LENGTH when `size` is too small,
   with *needed set. */
uint32_t th_sys_process_information(void *buffer, uint32_t size, uint32_t *needed);

/* --- heaps of this process ------------------------------------------------------------------- */

/* GetProcessHeaps: *count is how many there are; with more than `capacity` nothing is copied. */
uint32_t th_sys_process_heaps(uintptr_t *heaps, uint32_t capacity, uint32_t *count);
uintptr_t th_sys_default_heap(void);
uint32_t th_sys_heap_lock(uintptr_t heap);
uint32_t th_sys_heap_unlock(uintptr_t heap);

#define TH_WALK_REGION 0x0001u
#define TH_WALK_UNCOMMITTED 0x0002u
#define TH_WALK_BUSY 0x0004u

/* PROCESS_HEAP_ENTRY, field by field in its own layout: HeapWalk works on it in place, since it
   is called once for every block. */
typedef struct th_walk_entry {
  uintptr_t address;
  uint32_t size;
  uint8_t overhead, region_index;
  uint16_t flags; /* TH_WALK_* */
  union {
    struct {
      uintptr_t handle;
      uint32_t reserved[3];
    } block;
    struct {
      uint32_t committed, uncommitted;
      uintptr_t first, last;
    } region;
  } of;
} th_walk_entry;

/* HeapWalk: zero `entry` to start; TH_ERROR_NO_MORE_ITEMS at the end. */
uint32_t th_sys_heap_walk(uintptr_t heap, th_walk_entry *entry);
/* Memory that is of no heap: VirtualAlloc sets addresses aside (NULL: there are none), then gives
   parts of them zeroed memory (false: there is none). VirtualFree takes all of it back. */
void *th_sys_pages_reserve(size_t size);
bool th_sys_pages_commit(void *part, size_t size);
void th_sys_pages_drop(void *pages);

/* --- heaps of another process (ntdll, not documented) ---------------------------------------- */

#define TH_DEBUG_HEAP_SUMMARY 0x04u
#define TH_DEBUG_HEAP_ENTRIES 0x10u

/* RtlCreateQueryDebugBuffer, RtlQueryProcessDebugInformation (which starts a thread in the target
   and waits for it), RtlDestroyQueryDebugBuffer. The Win32 code of the NTSTATUS. */
uint32_t th_sys_debug_buffer_take(uint32_t size, uintptr_t *buffer);
uint32_t th_sys_debug_query(uint32_t pid, uint32_t flags, uintptr_t buffer);
void th_sys_debug_buffer_drop(uintptr_t buffer);
/* VirtualQuery: bytes of this process that can be read from `address` on, in one region. */
uint32_t th_sys_readable(uintptr_t address, size_t *size);

/* --- memory of processes --------------------------------------------------------------------- */

/* ReadProcessMemory. *read is set on failure, too. */
uint32_t th_sys_read_memory(th_handle process, uint64_t address, void *buffer, size_t size,
                            size_t *read);

#endif
