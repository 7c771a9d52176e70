/* Systems without Windows' calls: each says so. */
#include "sys/sys.h"

#define NONE TH_ERROR_CALL_NOT_IMPLEMENTED

uint32_t th_sys_current_pid(void) { return 0; }
bool th_sys_is_wine(void) { return false; }
uint32_t th_sys_open_process(uint32_t access, uint32_t pid, th_handle *process) {
  (void)access, (void)pid, (void)process;
  return NONE;
}
uint32_t th_sys_close(th_handle handle) {
  (void)handle;
  return NONE;
}
uint32_t th_sys_exit_code(th_handle process, uint32_t *code) {
  (void)process, (void)code;
  return NONE;
}
uint32_t th_sys_wow64_machine(th_handle process, uint16_t *process_machine,
                              uint16_t *native_machine) {
  (void)process, (void)process_machine, (void)native_machine;
  return NONE;
}
uint32_t th_sys_module_path(th_handle process, uint64_t base, uint16_t *path, uint32_t capacity,
                            uint32_t *units) {
  (void)process, (void)base, (void)path, (void)capacity, (void)units;
  return NONE;
}
uint32_t th_sys_loader_ready(th_handle process, bool *ready) {
  (void)process, (void)ready;
  return NONE;
}
