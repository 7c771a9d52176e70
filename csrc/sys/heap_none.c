/* Systems without Windows' calls: each says so. */
#include "sys/sys.h"

#define NONE TH_ERROR_CALL_NOT_IMPLEMENTED

uint32_t th_sys_process_heaps(uintptr_t *heaps, uint32_t capacity, uint32_t *count) {
  (void)heaps, (void)capacity, (void)count;
  return NONE;
}
uintptr_t th_sys_default_heap(void) { return 0; }
uint32_t th_sys_heap_lock(uintptr_t heap) {
  (void)heap;
  return NONE;
}
uint32_t th_sys_heap_unlock(uintptr_t heap) {
  (void)heap;
  return NONE;
}
uint32_t th_sys_heap_walk(uintptr_t heap, th_walk_entry *entry) {
  (void)heap, (void)entry;
  return NONE;
}
void *th_sys_pages_reserve(size_t size) {
  (void)size;
  return NULL;
}
bool th_sys_pages_commit(void *part, size_t size) {
  (void)part, (void)size;
  return false;
}
void th_sys_pages_drop(void *pages) { (void)pages; }

uint32_t th_sys_debug_buffer_take(uint32_t size, uintptr_t *buffer) {
  (void)size, (void)buffer;
  return NONE;
}
uint32_t th_sys_debug_query(uint32_t pid, uint32_t flags, uintptr_t buffer) {
  (void)pid, (void)flags, (void)buffer;
  return NONE;
}
void th_sys_debug_buffer_drop(uintptr_t buffer) { (void)buffer; }
uint32_t th_sys_readable(uintptr_t address, size_t *size) {
  (void)address, (void)size;
  return NONE;
}
