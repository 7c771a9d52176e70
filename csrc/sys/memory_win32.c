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
