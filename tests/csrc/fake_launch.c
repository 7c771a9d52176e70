/* Programs created suspended, and the privileges of the caller, over the script. */
#include "fake_etw.h"
#include "sys/launch.h"
#include "sys/privilege.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CHILD 6000u
#define EVERYTHING 0x001fffffu

fake_children fake_launched;

void fake_launch_reset(void) {
  for (size_t i = 0; i < fake_launched.count; i++) {
    fake_free_text(&fake_launched.items[i].command_line);
    fake_free_text(&fake_launched.items[i].environment);
    fake_free_text(&fake_launched.items[i].directory);
  }
  fake_launched = (fake_children){.next_pid = FIRST_CHILD};
}

static fake_text copy(const uint16_t *text) {
  size_t units = 0;
  while (text && text[units])
    units++;
  return fake_copy_text(text ? text : (const uint16_t[]){0}, units);
}

/* NAME=value, each with its zero, up to an empty one. */
static fake_text copy_block(const uint16_t *block) {
  size_t units = 0;
  while (block && (block[units] || (units && block[units - 1])))
    units++;
  return fake_copy_text(block ? block : (const uint16_t[]){0}, units);
}

static fake_child *child_of_thread(th_handle thread) {
  for (size_t i = 0; i < fake_launched.count; i++)
    if (fake_launched.items[i].thread == thread)
      return &fake_launched.items[i];
  return NULL;
}

uint32_t th_sys_create_suspended(const th_sys_launch *launch, th_handle *process,
                                 th_handle *thread, uint32_t *pid) {
  FAKE_CALL(call, "CreateProcessW");
  uint32_t code = fake_begin(&call, FAKE_NO_PID);
  if (code == 0 && fake_launched.count == FAKE_MAX_CHILDREN)
    code = TH_ERROR_NOT_ENOUGH_MEMORY;
  if (code == 0) {
    fake_child *child = &fake_launched.items[fake_launched.count++];
    child->pid = fake_launched.next_pid;
    fake_launched.next_pid += 4;
    child->suspended = true;
    child->command_line = copy(launch->command_line);
    child->environment = copy_block(launch->environment);
    child->directory = copy(launch->directory);
    fake_process *made = fake_add_process(fake_world_to_change(), child->pid);
    made->exit_code = TH_STILL_ACTIVE;
    made->num_threads = 1;
    made->name = copy(launch->command_line);
    fake_handle *handle = fake_open(FAKE_PROCESS, child->pid);
    handle->access = EVERYTHING;
    *process = handle->value;
    *thread = child->thread = fake_open(FAKE_OTHER, child->pid)->value;
    *pid = child->pid;
  }
  fake_end();
  return code;
}

uint32_t th_sys_resume(th_handle thread) {
  FAKE_CALL(call, "ResumeThread");
  fake_handle *handle;
  uint32_t code = fake_begin_handle(&call, thread, FAKE_OTHER, &handle);
  fake_child *child = code ? NULL : child_of_thread(thread);
  if (child)
    child->suspended = false;
  fake_end();
  return code;
}

uint32_t th_sys_terminate(th_handle process, uint32_t exit_code) {
  FAKE_CALL(call, "TerminateProcess");
  fake_handle *handle;
  uint32_t code = fake_begin_handle(&call, process, FAKE_PROCESS, &handle);
  if (code == 0) {
    uint32_t pid = handle->pid;
    fake_process *found = fake_find_process(fake_world_to_change(), pid);
    if (found && found->exit_code == TH_STILL_ACTIVE)
      found->exit_code = exit_code;
    else
      code = TH_ERROR_ACCESS_DENIED;
    for (size_t i = 0; code == 0 && i < fake_launched.count; i++)
      if (fake_launched.items[i].pid == pid)
        fake_launched.items[i].suspended = false;
  }
  fake_end();
  return code;
}

uint32_t th_sys_wait_process(th_handle process, uint32_t milliseconds, bool *ended) {
  FAKE_CALL(call, "WaitForSingleObject");
  fake_handle *handle;
  (void)milliseconds;
  uint32_t code = fake_begin_handle(&call, process, FAKE_PROCESS, &handle);
  if (code == 0) {
    const fake_process *found = fake_process_of(process);
    bool gone = !fake_find_process(fake.world, handle->pid);
    *ended = gone || (found && found->exit_code != TH_STILL_ACTIVE);
  }
  fake_end();
  return code;
}

uint32_t th_sys_process_times(th_handle process, int64_t *created, int64_t *exited) {
  FAKE_CALL(call, "GetProcessTimes");
  fake_handle *handle;
  uint32_t code = fake_begin_handle(&call, process, FAKE_PROCESS, &handle);
  const fake_process *found = code ? NULL : fake_process_of(process);
  if (code == 0 && !found)
    code = TH_ERROR_INVALID_HANDLE;
  if (code == 0) {
    *created = (int64_t)found->create_time;
    *exited = found->exit_code == TH_STILL_ACTIVE ? 0 : (int64_t)found->create_time + 10000000;
  }
  fake_end();
  return code;
}

/* The heap that is marked as the default, else the first. */
uint32_t th_sys_process_heap(th_handle process, uint64_t *heap) {
  FAKE_CALL(call, "NtQueryInformationProcess.heap");
  fake_handle *handle;
  uint32_t code = fake_begin_handle(&call, process, FAKE_PROCESS, &handle);
  const fake_process *found = code ? NULL : fake_process_of(process);
  if (code == 0 && (!found || !found->heap_count))
    code = TH_ERROR_PARTIAL_COPY;
  if (code == 0)
    *heap = found->heaps[0].id;
  fake_end();
  return code;
}

uint32_t th_sys_privilege(th_sys_privilege_name name, bool enable, bool *before) {
  FAKE_CALL(call, "AdjustTokenPrivileges");
  const bool debug = name == TH_PRIVILEGE_DEBUG;
  uint32_t code = fake_begin(&call, FAKE_NO_PID);
  bool *enabled = debug ? &fake.debugs : &fake_etw.privilege_enabled;
  if (code == 0 && !(debug ? fake.may_debug : fake_etw.privilege_held))
    code = TH_ERROR_PRIVILEGE_NOT_HELD;
  if (code == 0) {
    *before = *enabled;
    *enabled = enable;
  }
  fake_end();
  return code;
}
