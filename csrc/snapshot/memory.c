#include "snapshot/memory.h"

/* Access changes from page to page; no Windows has smaller ones. */
#define PAGE 4096u

th_status th_memory_open(uint32_t pid, th_handle *process, th_failure *failure) {
  uint32_t code = pid == 0 ? TH_ERROR_INVALID_PARAMETER
                           : th_sys_open_process(TH_PROCESS_VM_READ | TH_PROCESS_QUERY_LIMITED,
                                                 pid, process);
  return code ? th_fail_process(failure, "OpenProcess", code, pid) : TH_OK;
}

/* The largest step from `at` that is at most `wanted` and ends with a page; to the end of the page
   when that is less. */
static size_t step_from(uint64_t at, size_t wanted) {
  size_t to_page = PAGE - (size_t)(at % PAGE);
  return wanted <= to_page ? to_page : to_page + (wanted - to_page) / PAGE * PAGE;
}

th_status th_memory_read(th_handle process, uint32_t pid, uint64_t address, void *buffer,
                         size_t size, size_t *read, th_failure *failure) {
  size_t done = 0, got = 0, step = size;
  if (size && address + (size - 1) < address)
    return th_fail(failure, TH_INVALID, "the range goes past the last address");
  if (size == 0) {
    *read = 0;
    return TH_OK;
  }
  /* Windows reads all or says that it could not, and need not say how much it could: halving the
     step finds the end in few calls. */
  uint32_t code = th_sys_read_memory(process, address, buffer, size, &got);
  if (code == 0)
    done = size;
  while (done < size) {
    size_t left = size - done;
    size_t next = step_from(address + done, step / 2);
    next = next < left ? next : left;
    uint32_t failed =
        th_sys_read_memory(process, address + done, (uint8_t *)buffer + done, next, &got);
    if (failed == 0) {
      done += next;
      continue;
    }
    code = failed;
    if (next <= PAGE - (size_t)((address + done) % PAGE))
      break; /* one page, or a part of it */
    step = next;
  }
  if (done == 0)
    return th_fail_process(failure, "ReadProcessMemory", code, pid);
  *read = done;
  return TH_OK;
}
