/* The system's version and its list of processes with the states of their threads. */
#include "fake_state.h"

#include <string.h>

uint32_t th_sys_build(uint32_t *build) {
  FAKE_CALL(call, "RtlGetVersion");
  uint32_t code = fake_begin(&call, 0);
  if (code == 0)
    *build = fake.build;
  fake_end();
  return code;
}

/* SYSTEM_PROCESS_INFORMATION and SYSTEM_THREAD_INFORMATION of 64-bit systems. */
#define PROCESS_BYTES 0x100u
#define THREAD_BYTES 0x50u

static void store(uint8_t *at, uint64_t value, size_t size) { memcpy(at, &value, size); }

uint32_t th_sys_process_information(void *buffer, uint32_t size, uint32_t *needed) {
  FAKE_CALL(call, "NtQuerySystemInformation");
  uint32_t code = fake_begin(&call, 0);
  const fake_world *world = fake.world;
  size_t total = world->process_count * PROCESS_BYTES + world->thread_count * THREAD_BYTES;
  *needed = (uint32_t)total;
  if (code == 0 && total > size)
    code = TH_ERROR_BAD_LENGTH;
  uint8_t *at = buffer;
  for (size_t i = 0; code == 0 && i < world->process_count; i++) {
    const fake_process *process = &world->processes[i];
    uint8_t *threads = at + PROCESS_BYTES;
    uint32_t count = 0;
    memset(at, 0, PROCESS_BYTES);
    for (size_t j = 0; j < world->thread_count; j++) {
      if (world->threads[j].pid != process->pid)
        continue;
      memset(threads, 0, THREAD_BYTES);
      store(threads + 0x44, process->suspended ? 5 : 2, 4);
      store(threads + 0x48, process->suspended ? 5 : 0, 4);
      threads += THREAD_BYTES;
      count++;
    }
    store(at + 4, count, 4);
    store(at + 0x50, process->pid, 8);
    if (i + 1 < world->process_count)
      store(at, (uint64_t)(threads - at), 4);
    at = threads;
  }
  fake_end();
  return code;
}
