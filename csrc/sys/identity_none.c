/* Systems without Windows' calls: each says so. */
#include "sys/sys.h"

#define NONE TH_ERROR_CALL_NOT_IMPLEMENTED

uint32_t th_sys_creation_time(th_handle process, uint64_t *created) {
  (void)process, (void)created;
  return NONE;
}
uint32_t th_sys_image_path(th_handle process, uint16_t *path, uint32_t capacity, uint32_t *units) {
  (void)process, (void)path, (void)capacity, (void)units;
  return NONE;
}
uint32_t th_sys_process_machine(th_handle process, uint16_t *machine) {
  (void)process, (void)machine;
  return NONE;
}
uint32_t th_sys_build(uint32_t *build) {
  (void)build;
  return NONE;
}
uint32_t th_sys_process_information(void *buffer, uint32_t size, uint32_t *needed) {
  (void)buffer, (void)size, (void)needed;
  return NONE;
}
