/* Systems without Windows' calls: each says so. */
#include "sys/sys.h"

#define NONE TH_ERROR_CALL_NOT_IMPLEMENTED

uint32_t th_sys_create_snapshot(uint32_t flags, uint32_t pid, th_handle *snapshot) {
  (void)flags, (void)pid, (void)snapshot;
  return NONE;
}

#define NONE_WALK(name, row_type)                                                                  \
  uint32_t th_sys_##name##_first(th_handle snapshot, row_type *row) {                              \
    (void)snapshot, (void)row;                                                                     \
    return NONE;                                                                                   \
  }                                                                                                \
  uint32_t th_sys_##name##_next(th_handle snapshot, row_type *row) {                               \
    (void)snapshot, (void)row;                                                                     \
    return NONE;                                                                                   \
  }
NONE_WALK(process, th_sys_process)
NONE_WALK(thread, th_sys_thread)
NONE_WALK(module, th_sys_module)
NONE_WALK(heap_list, th_sys_heap)

uint32_t th_sys_heap_first(uint32_t pid, uint64_t heap_id, th_sys_heap_block *block) {
  (void)pid, (void)heap_id, (void)block;
  return NONE;
}
uint32_t th_sys_heap_next(th_sys_heap_block *block) {
  (void)block;
  return NONE;
}
uint32_t th_sys_toolhelp_read_memory(uint32_t pid, uint64_t address, void *buffer, size_t size,
                                     size_t *read) {
  (void)pid, (void)address, (void)buffer, (void)size, (void)read;
  return NONE;
}
