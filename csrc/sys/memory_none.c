/* Systems without Windows' calls: each says so. */
#include "sys/sys.h"

#define NONE TH_ERROR_CALL_NOT_IMPLEMENTED

uint32_t th_sys_read_memory(th_handle process, uint64_t address, void *buffer, size_t size,
                            size_t *read) {
  (void)process, (void)address, (void)buffer, (void)size, (void)read;
  return NONE;
}
