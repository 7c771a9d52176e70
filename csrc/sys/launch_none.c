/* Systems without Windows' processes: each call says so. */
#include "sys/launch.h"

#define NONE TH_ERROR_CALL_NOT_IMPLEMENTED

uint32_t th_sys_create_suspended(const th_sys_launch *launch, th_handle *process,
                                 th_handle *thread, uint32_t *pid) {
  (void)launch, (void)process, (void)thread, (void)pid;
  return NONE;
}
uint32_t th_sys_resume(th_handle thread) {
  (void)thread;
  return NONE;
}
uint32_t th_sys_terminate(th_handle process, uint32_t exit_code) {
  (void)process, (void)exit_code;
  return NONE;
}
uint32_t th_sys_wait_process(th_handle process, uint32_t milliseconds, bool *ended) {
  (void)process, (void)milliseconds, (void)ended;
  return NONE;
}
uint32_t th_sys_process_times(th_handle process, int64_t *created, int64_t *exited) {
  (void)process, (void)created, (void)exited;
  return NONE;
}
uint32_t th_sys_process_heap(th_handle process, uint64_t *heap) {
  (void)process, (void)heap;
  return NONE;
}
