/* The allocator: counts what is asked for and what lives, and fails when told to. */
#include "base/mem.h"

#include "fake_state.h"

#include <stdlib.h>

static bool refused(void) {
  fake_lock();
  fake.allocations++;
  if (fake.heap_locked && fake_holds_heap) /* it may be the heap that all memory comes from */
    fake_fault("memory is asked for while heap 0x%llx is locked",
               (unsigned long long)fake.heap_locked);
  bool now = fake.fail_in == 1;
  if (now && !fake.fail_on)
    fake.fail_in = 0;
  else if (fake.fail_in > 1)
    fake.fail_in--;
  fake_unlock();
  return now;
}

static void *counted(void *block) {
  fake_lock();
  fake.live_blocks += block != NULL;
  fake_unlock();
  return block;
}

void *th_mem_alloc(size_t size) { return refused() ? NULL : counted(malloc(size ? size : 1)); }

void *th_mem_zero(size_t size) { return refused() ? NULL : counted(calloc(1, size ? size : 1)); }

void *th_mem_resize(void *block, size_t size) {
  if (!block)
    return th_mem_alloc(size);
  return refused() ? NULL : realloc(block, size ? size : 1);
}

void th_mem_free(void *block) {
  if (!block)
    return;
  free(block);
  fake_lock();
  fake.live_blocks--;
  fake_unlock();
}
