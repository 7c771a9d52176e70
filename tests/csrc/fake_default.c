/* The small machine that is there until a test scripts another. */
#include "fake_state.h"

#include <string.h>

static fake_text text_of(const char *ascii) {
  uint16_t units[128];
  size_t count = strlen(ascii);
  for (size_t i = 0; i < count; i++)
    units[i] = (uint8_t)ascii[i];
  return fake_copy_text(units, count);
}

static fake_process *add(fake_world *world, uint32_t pid, uint32_t parent, const char *name,
                         uint32_t first_tid, uint32_t threads) {
  for (uint32_t i = 0; i < threads; i++)
    fake_add_thread(world, &(fake_thread){first_tid + 4 * i, pid, 8});
  fake_process *process = fake_add_process(world, pid);
  process->parent_pid = parent;
  process->name = text_of(name);
  process->num_threads = threads;
  process->base_priority = 8;
  return process;
}

static void add_module(fake_process *process, uint64_t base, uint32_t size, const char *name,
                       const char *path) {
  fake_add_module(process, &(fake_module){base, size, text_of(name), text_of(path)});
}

void fake_add_default(void) {
  fake_lock();
  fake_world *world = fake_world_to_change();
  add(world, 0, 0, "[System Process]", 0, 1)->open_error = TH_ERROR_INVALID_PARAMETER;
  add(world, 4, 0, "System", 8, 3)->open_error = TH_ERROR_ACCESS_DENIED;
  fake_process *shell = add(world, 900, 4, "explorer.exe", 904, 2);
  add_module(shell, UINT64_C(0x7ff600000000), 0x200000, "explorer.exe",
             "C:\\Windows\\explorer.exe");
  fake_process *own = add(world, fake.own_pid, 900, "python.exe", 4244, 2);
  add_module(own, UINT64_C(0x7ff700000000), 0x18000, "python.exe", "C:\\Python\\python.exe");
  add_module(own, UINT64_C(0x7ffa20000000), 0x1f8000, "ntdll.dll",
             "C:\\Windows\\SYSTEM32\\ntdll.dll");
  add_module(own, UINT64_C(0x7ffa10000000), 0xbd000, "KERNEL32.DLL",
             "C:\\Windows\\System32\\KERNEL32.DLL");
  fake_add_heap(own, 0x10000, 1);
  fake_add_block(&own->heaps[0], &(fake_block){0x10740, 64, 1, 0});
  fake_add_block(&own->heaps[0], &(fake_block){0x10790, 256, 2, 0});
  fake_unlock();
}
