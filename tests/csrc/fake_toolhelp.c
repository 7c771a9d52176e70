/* The Tool Help calls over the script. */
#include "fake_state.h"

#include <string.h>

/* sizeof of the entries on 64-bit Windows. */
#define PROCESS_SIZE 568u
#define THREAD_SIZE 28u
#define MODULE_SIZE 1080u
#define HEAP_SIZE 32u
#define BLOCK_SIZE 56u

#define OF_ONE_PROCESS (TH_SNAP_MODULE | TH_SNAP_MODULE32 | TH_SNAP_HEAP_LIST)

/* Cuts as Windows does; what is after the zero stays as it was. */
static void put_text(uint16_t *to, const fake_text *text, size_t capacity) {
  size_t units = text->count < capacity ? text->count : capacity - 1;
  if (units)
    memcpy(to, text->units, units * sizeof *to);
  to[units] = 0;
}

uint32_t th_sys_create_snapshot(uint32_t flags, uint32_t pid, th_handle *snapshot) {
  FAKE_CALL(call, "CreateToolhelp32Snapshot");
  uint32_t code = fake_begin(&call, pid);
  uint32_t of = pid ? pid : fake.own_pid;
  if (code == 0 && flags & OF_ONE_PROCESS) {
    const fake_process *process = fake_find_process(fake.world, of);
    if (!process)
      code = TH_ERROR_INVALID_PARAMETER;
    else if (process->open_error)
      code = process->open_error;
    else if (!process->loader_ready || process->exit_code != TH_STILL_ACTIVE)
      code = TH_ERROR_PARTIAL_COPY;
  }
  if (code == 0) {
    fake_handle *handle = fake_open(FAKE_SNAPSHOT, of);
    handle->flags = flags;
    *snapshot = handle->value;
  }
  fake_end();
  return code;
}

static uint32_t process_at(fake_handle *of, th_sys_process *row) {
  if (!(of->flags & TH_SNAP_PROCESS) || of->next_process >= of->world->process_count)
    return TH_ERROR_NO_MORE_FILES;
  const fake_process *process = &of->world->processes[of->next_process++];
  row->size = PROCESS_SIZE;
  row->usage = row->module_id = row->flags = 0;
  row->default_heap_id = 0;
  row->pid = process->pid;
  row->threads = process->num_threads;
  row->parent_pid = process->parent_pid;
  row->base_priority = process->base_priority;
  put_text(row->name, &process->name, TH_MAX_PATH);
  return 0;
}

static uint32_t thread_at(fake_handle *of, th_sys_thread *row) {
  if (!(of->flags & TH_SNAP_THREAD) || of->next_thread >= of->world->thread_count)
    return TH_ERROR_NO_MORE_FILES;
  const fake_thread *thread = &of->world->threads[of->next_thread++];
  *row = (th_sys_thread){.size = THREAD_SIZE,
                         .tid = thread->tid,
                         .owner_pid = thread->pid,
                         .base_priority = thread->base_priority};
  return 0;
}

/* A 32-bit process of a 64-bit system shows its 32-bit modules for SNAPMODULE32 alone. */
static bool is_shown(const fake_process *process, const fake_module *module, uint32_t flags) {
  bool narrow = process->machine != TH_MACHINE_UNKNOWN && module->base <= UINT32_MAX;
  return flags & (narrow ? TH_SNAP_MODULE32 : TH_SNAP_MODULE);
}

static uint32_t module_at(fake_handle *of, th_sys_module *row) {
  const fake_process *process = fake_find_process(of->world, of->pid);
  while (process && of->next_module < process->module_count) {
    const fake_module *module = &process->modules[of->next_module++];
    if (!is_shown(process, module, of->flags))
      continue;
    row->size = MODULE_SIZE;
    row->module_id = 1;
    row->pid = process->pid;
    row->global_usage = row->process_usage = 0xffff;
    row->base = row->handle = module->base;
    row->base_size = module->size;
    put_text(row->name, &module->name, TH_MAX_MODULE_NAME);
    put_text(row->path, &module->path, TH_MAX_PATH);
    return 0;
  }
  return TH_ERROR_NO_MORE_FILES;
}

static uint32_t heap_list_at(fake_handle *of, th_sys_heap *row) {
  const fake_process *process = fake_find_process(of->world, of->pid);
  if (!(of->flags & TH_SNAP_HEAP_LIST) || !process || of->next_heap >= process->heap_count)
    return TH_ERROR_NO_MORE_FILES;
  const fake_heap *heap = &process->heaps[of->next_heap++];
  *row = (th_sys_heap){
      .size = HEAP_SIZE, .heap_id = heap->id, .pid = process->pid, .flags = heap->flags};
  return 0;
}

#define WALK(kind, row_type, place, first_name, next_name)                                         \
  uint32_t th_sys_##kind##_first(th_handle snapshot, row_type *row) {                              \
    FAKE_CALL(call, first_name);                                                                   \
    fake_handle *handle;                                                                           \
    uint32_t code = fake_begin_handle(&call, snapshot, FAKE_SNAPSHOT, &handle);                    \
    if (code == 0) {                                                                               \
      handle->place = 0;                                                                           \
      code = kind##_at(handle, row);                                                               \
    }                                                                                              \
    fake_end();                                                                                    \
    return code;                                                                                   \
  }                                                                                                \
  uint32_t th_sys_##kind##_next(th_handle snapshot, row_type *row) {                               \
    FAKE_CALL(call, next_name);                                                                    \
    fake_handle *handle;                                                                           \
    uint32_t code = fake_begin_handle(&call, snapshot, FAKE_SNAPSHOT, &handle);                    \
    if (code == 0)                                                                                 \
      code = kind##_at(handle, row);                                                               \
    fake_end();                                                                                    \
    return code;                                                                                   \
  }
WALK(process, th_sys_process, next_process, "Process32FirstW", "Process32NextW")
WALK(thread, th_sys_thread, next_thread, "Thread32First", "Thread32Next")
WALK(module, th_sys_module, next_module, "Module32FirstW", "Module32NextW")
WALK(heap_list, th_sys_heap, next_heap, "Heap32ListFirst", "Heap32ListNext")

/* ----- blocks and memory: of the process as it is now ----- */

static uint32_t block_at(uint32_t pid, uint64_t heap_id, size_t index, th_sys_heap_block *block) {
  fake_process *process = fake_find_process(fake.world, pid ? pid : fake.own_pid);
  if (!process)
    return TH_ERROR_INVALID_PARAMETER;
  const fake_heap *heap = fake_find_heap(process, heap_id);
  if (!heap || index >= heap->block_count)
    return TH_ERROR_NO_MORE_FILES;
  const fake_block *found = &heap->blocks[index];
  *block = (th_sys_heap_block){.size = BLOCK_SIZE,
                               .handle = found->address,
                               .address = found->address,
                               .block_size = found->size,
                               .heap_id = heap_id,
                               .flags = found->flags,
                               .lock_count = found->lock_count,
                               .reserved = (uint32_t)index,
                               .pid = process->pid};
  return 0;
}

uint32_t th_sys_heap_first(uint32_t pid, uint64_t heap_id, th_sys_heap_block *block) {
  FAKE_CALL(call, "Heap32First");
  uint32_t code = fake_begin(&call, pid);
  if (code == 0)
    code = block_at(pid, heap_id, 0, block);
  fake_end();
  return code;
}

uint32_t th_sys_heap_next(th_sys_heap_block *block) {
  FAKE_CALL(call, "Heap32Next");
  uint32_t code = fake_begin(&call, block->pid);
  if (code == 0)
    code = block_at(block->pid, block->heap_id, (size_t)block->reserved + 1, block);
  fake_end();
  return code;
}

uint32_t th_sys_toolhelp_read_memory(uint32_t pid, uint64_t address, void *buffer, size_t size,
                                     size_t *read) {
  FAKE_CALL(call, "Toolhelp32ReadProcessMemory");
  uint32_t code = fake_begin(&call, pid);
  uint32_t of = pid ? pid : fake.own_pid;
  if (code == 0) {
    const fake_process *process = fake_find_process(fake.world, of);
    code = !process ? TH_ERROR_INVALID_PARAMETER : process->open_error ? process->open_error : 998u;
    for (size_t i = 0; code == 998u && i < process->memory_count; i++) {
      const fake_memory *memory = &process->memory[i];
      if (address < memory->address || address - memory->address > memory->size ||
          size > memory->size - (size_t)(address - memory->address))
        continue;
      memcpy(buffer, memory->bytes + (address - memory->address), size);
      *read = size;
      code = 0;
    }
  }
  fake_end();
  return code;
}
