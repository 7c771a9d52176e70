/* Systems without Event Tracing for Windows: each call says so. */
#include "sys/etw.h"

#define NONE TH_ERROR_CALL_NOT_IMPLEMENTED

uint32_t th_sys_start_trace(const uint16_t *name, uint8_t *properties, uint64_t *session) {
  (void)name, (void)properties, (void)session;
  return NONE;
}
uint32_t th_sys_control_trace(uint64_t session, const uint16_t *name, uint8_t *properties,
                              uint32_t control) {
  (void)session, (void)name, (void)properties, (void)control;
  return NONE;
}
uint32_t th_sys_query_all_traces(uint8_t *const *blocks, uint32_t capacity, uint32_t *count) {
  (void)blocks, (void)capacity, (void)count;
  return NONE;
}
uint32_t th_sys_heap_library_load(const uint16_t *path, th_handle *library) {
  (void)path, (void)library;
  return NONE;
}
void th_sys_heap_library_free(th_handle library) { (void)library; }
uint32_t th_sys_start_heap_trace(th_handle library, const uint16_t *name, uint8_t *properties,
                                 const uint32_t *pids, uint32_t pid_count,
                                 const th_sys_stack_id *stacks, uint32_t stack_count,
                                 uint64_t *session) {
  (void)library, (void)name, (void)properties, (void)pids, (void)pid_count;
  (void)stacks, (void)stack_count, (void)session;
  return NONE;
}
uint32_t th_sys_update_heap_trace(th_handle library, const uint16_t *name, uint8_t *properties,
                                  const uint32_t *pids, uint32_t pid_count,
                                  const th_sys_stack_id *stacks, uint32_t stack_count) {
  (void)library, (void)name, (void)properties, (void)pids, (void)pid_count;
  (void)stacks, (void)stack_count;
  return NONE;
}
uint32_t th_sys_open_trace(const uint16_t *name, const th_sys_consumer *consumer, uint64_t *trace,
                           th_sys_trace_header *header) {
  (void)name, (void)consumer, (void)trace, (void)header;
  return NONE;
}
uint32_t th_sys_process_trace(uint64_t trace) {
  (void)trace;
  return NONE;
}
uint32_t th_sys_close_trace(uint64_t trace) {
  (void)trace;
  return NONE;
}
uint32_t th_sys_raw_clock(uint32_t clock, int64_t *raw, uint64_t *frequency) {
  (void)clock, (void)raw, (void)frequency;
  return NONE;
}
