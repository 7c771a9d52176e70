/* Questions about processes, over the script. */
#include "fake_state.h"

#include <string.h>

uint32_t th_sys_current_pid(void) {
  fake_lock();
  uint32_t pid = fake.own_pid;
  fake_unlock();
  return pid;
}

bool th_sys_is_wine(void) {
  fake_lock();
  bool wine = fake.wine;
  fake_unlock();
  return wine;
}

uint32_t th_sys_open_process(uint32_t access, uint32_t pid, th_handle *process) {
  FAKE_CALL(call, "OpenProcess");
  uint32_t code = fake_begin(&call, pid);
  if (code == 0) {
    const fake_process *found = pid ? fake_find_process(fake.world, pid) : NULL;
    code = found ? found->open_error : TH_ERROR_INVALID_PARAMETER;
  }
  if (code == 0) {
    fake_handle *handle = fake_open(FAKE_PROCESS, pid);
    handle->access = access;
    *process = handle->value;
  }
  fake_end();
  return code;
}

/* The beginning of a call on a process handle, or on the constant for the caller. */
static uint32_t begin(fake_call *call, th_handle value, uint32_t needed, fake_process **process) {
  fake_handle *handle = NULL;
  uint32_t code = value == TH_CURRENT_PROCESS
                      ? fake_begin(call, 0)
                      : fake_begin_handle(call, value, FAKE_PROCESS, &handle);
  if (code)
    return code;
  if (handle && !(handle->access & needed))
    return TH_ERROR_ACCESS_DENIED;
  *process = fake_process_of(value);
  return *process ? 0 : TH_ERROR_INVALID_HANDLE;
}

#define ANY_QUERY (TH_PROCESS_QUERY | TH_PROCESS_QUERY_LIMITED)

uint32_t th_sys_exit_code(th_handle process, uint32_t *exit_code) {
  FAKE_CALL(call, "GetExitCodeProcess");
  fake_process *found;
  uint32_t code = begin(&call, process, ANY_QUERY, &found);
  if (code == 0)
    *exit_code = found->exit_code;
  fake_end();
  return code;
}

uint32_t th_sys_wow64_machine(th_handle process, uint16_t *process_machine,
                              uint16_t *native_machine) {
  FAKE_CALL(call, "IsWow64Process2");
  fake_process *found;
  uint32_t code = begin(&call, process, ANY_QUERY, &found);
  if (code == 0) {
    *process_machine = process == TH_CURRENT_PROCESS ? fake.own_machine : found->machine;
    *native_machine = fake.native_machine;
  }
  fake_end();
  return code;
}

uint32_t th_sys_module_path(th_handle process, uint64_t base, uint16_t *path, uint32_t capacity,
                            uint32_t *units) {
  FAKE_CALL(call, "GetModuleFileNameExW");
  fake_process *found;
  uint32_t code = begin(&call, process, TH_PROCESS_VM_READ, &found);
  const fake_module *module = NULL;
  for (size_t i = 0; code == 0 && i < found->module_count; i++)
    if (found->modules[i].base == base)
      module = &found->modules[i];
  if (code == 0 && !module)
    code = TH_ERROR_INVALID_HANDLE;
  if (code == 0) {
    bool cut = module->path.count >= capacity;
    size_t copied = cut ? capacity - 1 : module->path.count;
    memcpy(path, module->path.units, copied * sizeof *path);
    path[copied] = 0;
    *units = cut ? capacity : (uint32_t)copied;
  }
  fake_end();
  return code;
}

uint32_t th_sys_loader_ready(th_handle process, bool *ready) {
  FAKE_CALL(call, "NtQueryInformationProcess");
  fake_process *found;
  uint32_t code = begin(&call, process, TH_PROCESS_VM_READ, &found);
  if (code == 0)
    *ready = found->loader_ready;
  fake_end();
  return code;
}

uint32_t th_sys_creation_time(th_handle process, uint64_t *created) {
  FAKE_CALL(call, "GetProcessTimes");
  fake_process *found;
  uint32_t code = begin(&call, process, ANY_QUERY, &found);
  if (code == 0)
    *created = found->create_time;
  fake_end();
  return code;
}

uint32_t th_sys_image_path(th_handle process, uint16_t *path, uint32_t capacity, uint32_t *units) {
  FAKE_CALL(call, "QueryFullProcessImageNameW");
  fake_process *found;
  uint32_t code = begin(&call, process, ANY_QUERY, &found);
  if (code == 0 && found->path.count >= capacity)
    code = TH_ERROR_INSUFFICIENT_BUFFER;
  if (code == 0) {
    if (found->path.count)
      memcpy(path, found->path.units, found->path.count * sizeof *path);
    path[found->path.count] = 0;
    *units = (uint32_t)found->path.count;
  }
  fake_end();
  return code;
}

uint32_t th_sys_process_machine(th_handle process, uint16_t *machine) {
  FAKE_CALL(call, "GetProcessInformation");
  fake_process *found;
  uint32_t code = begin(&call, process, ANY_QUERY, &found);
  if (code == 0 && !found->own_machine)
    code = TH_ERROR_INVALID_PARAMETER;
  if (code == 0)
    *machine = found->own_machine;
  fake_end();
  return code;
}

uint32_t th_sys_read_memory(th_handle process, uint64_t address, void *buffer, size_t size,
                            size_t *read) {
  FAKE_CALL(call, "ReadProcessMemory");
  fake_process *found;
  uint32_t code = begin(&call, process, TH_PROCESS_VM_READ, &found);
  *read = 0;
  for (size_t i = 0; code == 0 && *read < size;) {
    const uint64_t at = address + *read;
    const fake_memory *memory = NULL;
    for (i = 0; i < found->memory_count; i++)
      if (at >= found->memory[i].address && at - found->memory[i].address < found->memory[i].size)
        memory = &found->memory[i];
    if (!memory) {
      code = *read ? TH_ERROR_PARTIAL_COPY : 998u;
      *read = 0; /* Windows may or may not say how much it copied */
      break;
    }
    size_t offset = (size_t)(at - memory->address), part = memory->size - offset;
    part = part < size - *read ? part : size - *read;
    memcpy((uint8_t *)buffer + *read, memory->bytes + offset, part);
    *read += part;
  }
  fake_end();
  return code;
}
