#include "snapshot/target.h"

#include "base/cursor.h"
#include "base/mem.h"
#include "snapshot/identity.h"
#include "sys/sys.h"

/* SYSTEM_PROCESS_INFORMATION and SYSTEM_THREAD_INFORMATION (winternl.h; the fields that it calls
   reserved are those of phnt/include/ntexapi.h). */
typedef struct layout {
  size_t pid, threads, thread_size, state, reason;
} layout;
static const layout layout_64 = {0x50, 0x100, 0x50, 0x44, 0x48};
static const layout layout_32 = {0x44, 0xb8, 0x40, 0x34, 0x38};
#define THREAD_COUNT 4u /* at this offset in both */
#define STATE_WAITING 5u
#define WAITS_SUSPENDED 5u

static bool all_suspended(const uint8_t *process, size_t size, const layout *of) {
  uint32_t count = th_load_u32(process + THREAD_COUNT);
  if (count == 0 || count > (size - of->threads) / of->thread_size)
    return false;
  for (uint32_t i = 0; i < count; i++) {
    const uint8_t *thread = process + of->threads + i * of->thread_size;
    if (th_load_u32(thread + of->state) != STATE_WAITING ||
        th_load_u32(thread + of->reason) != WAITS_SUSPENDED)
      return false;
  }
  return true;
}

th_target_state th_target_state_of(const uint8_t *bytes, size_t size, unsigned pointer_size,
                                   uint32_t pid) {
  const layout *of = pointer_size == 8 ? &layout_64 : &layout_32;
  size_t at = 0;
  while (size - at >= of->threads) {
    if (th_load_ptr(bytes + at + of->pid, pointer_size) == pid)
      return all_suspended(bytes + at, size - at, of) ? TH_TARGET_SUSPENDED : TH_TARGET_RUNS;
    uint32_t next = th_load_u32(bytes + at);
    if (next == 0 || next > size - at)
      break;
    at += next;
  }
  return TH_TARGET_GONE;
}

#define FIRST_SIZE ((uint32_t)1 << 20)
#define LARGEST_SIZE ((uint32_t)1 << 28)

static th_status ask_state(uint32_t pid, th_target_state *state, th_failure *failure) {
  static const char function[] = "NtQuerySystemInformation";
  for (uint32_t size = FIRST_SIZE; size <= LARGEST_SIZE; size *= 2) {
    uint32_t needed = 0;
    uint8_t *bytes = th_mem_zero(size);
    if (!bytes)
      return th_fail_memory(failure);
    uint32_t code = th_sys_process_information(bytes, size, &needed);
    if (code == 0)
      *state = th_target_state_of(bytes, needed && needed < size ? needed : size, sizeof(void *),
                                  pid);
    th_mem_free(bytes);
    if (code == 0)
      return TH_OK;
    if (code != TH_ERROR_BAD_LENGTH)
      return th_fail_process(failure, function, code, pid);
  }
  return th_fail_process(failure, function, TH_ERROR_BAD_LENGTH, pid);
}

static th_status refuse(th_status status, const char *function, uint32_t pid, const char *detail,
                        th_failure *failure) {
  th_fail(failure, status, detail);
  failure->function = function;
  failure->pid = pid;
  failure->has_pid = true;
  return status;
}

th_status th_target_check(uint32_t pid, bool allow_injection, const char *function,
                          th_failure *failure) {
  th_handle process = TH_NO_HANDLE;
  uint16_t own, machine, native;
  bool other_width = false;
  uint32_t code =
      pid == 0 ? TH_ERROR_INVALID_PARAMETER : th_sys_open_process(TH_PROCESS_QUERY_LIMITED, pid, &process);
  if (code)
    return th_fail_process(failure, "OpenProcess", code, pid);
  if (th_sys_wow64_machine(TH_CURRENT_PROCESS, &own, &native) == 0 &&
      th_sys_wow64_machine(process, &machine, &native) == 0)
    other_width = (own == TH_MACHINE_UNKNOWN) != (machine == TH_MACHINE_UNKNOWN);
  (void)th_sys_close(process);
  if (!allow_injection)
    return refuse(TH_REFUSED, function, pid,
                  "it starts a thread in the process, which allow_injection=True permits", failure);
  if (th_sys_is_wine())
    return refuse(TH_UNSUPPORTED, function, pid, "Wine does not implement it", failure);
  if (other_width)
    return refuse(TH_UNSUPPORTED, function, pid,
                  "heaps of a process of the other bitness cannot be seen; use a Python of the "
                  "bitness of the target",
                  failure);
  th_target_state state = TH_TARGET_GONE;
  th_status status = ask_state(pid, &state, failure);
  if (status != TH_OK)
    return status;
  if (state == TH_TARGET_GONE)
    return th_fail_process(failure, function, TH_ERROR_INVALID_PARAMETER, pid);
  if (state == TH_TARGET_SUSPENDED)
    return refuse(TH_REFUSED, function, pid,
                  "the process is suspended, and the query would not end before it is resumed",
                  failure);
  return TH_OK;
}
