/* Heaps: of the caller by walking, of others by query debug buffers made here byte by byte. */
#include "fake_state.h"

#include <stdlib.h>
#include <string.h>

/* What the flags of a scripted block mean besides those of LF32. */
#define BLOCK_FREE 2u
#define BLOCK_REGION 0x100u
#define BLOCK_UNCOMMITTED 0x200u
#define BLOCK_LARGE 0x400u
#define BLOCK_LFH 0x800u

/* ===== the caller's =============================================================== */

static fake_process *own(void) { return fake_find_process(fake.world, fake.own_pid); }

uint32_t th_sys_process_heaps(uintptr_t *heaps, uint32_t capacity, uint32_t *count) {
  FAKE_CALL(call, "GetProcessHeaps");
  uint32_t code = fake_begin(&call, 0);
  const fake_process *process = own();
  if (code == 0 && (!process || !process->heap_count))
    code = TH_ERROR_INVALID_HANDLE;
  if (code == 0) {
    *count = (uint32_t)process->heap_count;
    for (size_t i = 0; process->heap_count <= capacity && i < process->heap_count; i++)
      heaps[i] = (uintptr_t)process->heaps[i].id;
  }
  fake_end();
  return code;
}

uintptr_t th_sys_default_heap(void) {
  fake_lock();
  const fake_process *process = own();
  uintptr_t found = 0;
  for (size_t i = 0; process && i < process->heap_count; i++)
    if (process->heaps[i].flags & 1)
      found = (uintptr_t)process->heaps[i].id;
  fake_unlock();
  return found;
}

_Thread_local bool fake_holds_heap;

static uint32_t heap_of(uint32_t code, uintptr_t id, const char *what, fake_heap **heap) {
  fake_process *process = own();
  if (code)
    return code;
  *heap = process ? fake_find_heap(process, id) : NULL;
  if (!*heap) {
    fake_fault("%s: 0x%llx is no heap: Windows would crash", what, (unsigned long long)id);
    return TH_ERROR_INVALID_HANDLE;
  }
  return 0;
}

uint32_t th_sys_heap_lock(uintptr_t id) {
  FAKE_CALL(call, "HeapLock");
  fake_heap *heap;
  uint32_t code = heap_of(fake_begin(&call, 0), id, "HeapLock", &heap);
  if (code == 0) {
    fake.heap_locked = id;
    fake_holds_heap = true;
  }
  fake_end();
  return code;
}

uint32_t th_sys_heap_unlock(uintptr_t id) {
  FAKE_CALL(call, "HeapUnlock");
  fake_heap *heap;
  uint32_t code = heap_of(fake_begin(&call, 0), id, "HeapUnlock", &heap);
  fake_holds_heap = false;
  fake.heap_locked = 0; /* also when it says that it failed: nothing better can be done */
  fake_end();
  return code;
}

uint32_t th_sys_heap_walk(uintptr_t id, th_walk_entry *entry) {
  FAKE_CALL(call, "HeapWalk");
  fake_heap *heap;
  uint32_t code = heap_of(fake_begin(&call, 0), id, "HeapWalk", &heap);
  if (fake.heap_locked != id)
    fake_fault("HeapWalk of 0x%llx without its lock", (unsigned long long)id);
  if (code == 0) {
    /* The place of the walk is kept where Windows keeps nothing: in the handle of the block. */
    size_t next = entry->address ? entry->of.block.reserved[2] : 0;
    if (next >= heap->block_count) {
      code = TH_ERROR_NO_MORE_ITEMS;
    } else {
      const fake_block *block = &heap->blocks[next];
      memset(entry, 0, sizeof *entry);
      entry->address = (uintptr_t)block->address;
      entry->size = (uint32_t)block->size;
      entry->of.block.reserved[2] = (uint32_t)next + 1;
      if (block->flags & BLOCK_REGION) {
        entry->flags = TH_WALK_REGION;
        entry->of.region.committed = (uint32_t)block->size / 2;
      } else if (block->flags & BLOCK_UNCOMMITTED) {
        entry->flags = TH_WALK_UNCOMMITTED;
      } else if (!(block->flags & BLOCK_FREE)) {
        entry->flags = TH_WALK_BUSY;
      }
    }
  }
  fake_end();
  return code;
}

void *th_sys_pages_reserve(size_t size) {
  FAKE_CALL(call, "VirtualAlloc");
  void *pages = fake_begin(&call, 0) == 0 ? calloc(1, size) : NULL;
  fake.live_blocks += pages != NULL;
  fake_end();
  return pages;
}

bool th_sys_pages_commit(void *part, size_t size) {
  FAKE_CALL(call, "VirtualAlloc of reserved pages");
  bool there = fake_begin(&call, 0) == 0;
  if (!part || size % 4096)
    fake_fault("%zu bytes are no whole pages", size);
  fake_end();
  return there;
}

void th_sys_pages_drop(void *pages) {
  fake_lock();
  fake.live_blocks -= pages != NULL;
  fake_unlock();
  free(pages);
}

/* ===== of other processes ========================================================= */

/* In front of the bytes that a query buffer is. */
typedef struct debug_buffer {
  size_t size, committed;
} debug_buffer;
#define BUFFER_OFFSET 64

static debug_buffer *header_of(uintptr_t buffer) {
  return (debug_buffer *)(void *)((uint8_t *)buffer - BUFFER_OFFSET);
}

uint32_t th_sys_debug_buffer_take(uint32_t size, uintptr_t *buffer) {
  FAKE_CALL(call, "RtlCreateQueryDebugBuffer");
  uint32_t code = fake_begin(&call, 0);
  if (code == 0) {
    debug_buffer *made = fake_memory_of(NULL, BUFFER_OFFSET + size);
    *made = (debug_buffer){.size = size, .committed = 4096};
    memset((uint8_t *)made + BUFFER_OFFSET, 0, 4096);
    *buffer = (uintptr_t)made + BUFFER_OFFSET;
    fake.live_blocks++;
  }
  fake_end();
  return code;
}

void th_sys_debug_buffer_drop(uintptr_t buffer) {
  FAKE_CALL(call, "RtlDestroyQueryDebugBuffer");
  (void)fake_begin(&call, 0);
  fake.live_blocks--;
  free(header_of(buffer));
  fake_end();
}

uint32_t th_sys_readable(uintptr_t address, size_t *size) {
  FAKE_CALL(call, "VirtualQuery");
  uint32_t code = fake_begin(&call, 0);
  if (code == 0)
    *size = header_of(address)->committed;
  fake_end();
  return code;
}

static void store(uint8_t *at, uint64_t value, size_t size) { memcpy(at, &value, size); }

/* RTL_HEAP_ENTRY and RTL_HEAP_INFORMATION of 64-bit systems. */
#define ENTRY 0x20u
#define OVERHEAD 16u

static uint16_t entry_flags(uint32_t flags) {
  return (uint16_t)(flags & BLOCK_REGION        ? 0x0002
                    : flags & BLOCK_UNCOMMITTED ? 0x1000
                    : flags & BLOCK_FREE        ? 0
                    : flags & BLOCK_LARGE       ? 0x4001
                    : flags & BLOCK_LFH         ? 0x8001
                                                : 0x0001);
}

/* 0, or ERROR_NOT_ENOUGH_MEMORY when the buffer is too small. */
static uint32_t write_heaps(const fake_process *process, uintptr_t buffer) {
  debug_buffer *header = header_of(buffer);
  uint8_t *bytes = (uint8_t *)buffer;
  const bool v2 = fake.debug_layout ? fake.debug_layout == 2 : fake.build > 22000;
  const size_t stride = v2 ? 0x60 : 0x58;
  size_t at = 0x100, entries = at + 8 + process->heap_count * stride, needed = entries;
  for (size_t i = 0; i < process->heap_count; i++)
    needed += process->heaps[i].block_count * ENTRY;
  if (needed > header->size)
    return TH_ERROR_NOT_ENOUGH_MEMORY;
  memset(bytes, 0, needed);
  header->committed = needed - (fake.debug_cut < needed ? fake.debug_cut : needed);
  if (process->no_heap_list)
    return 0;
  store(bytes + 0x70, buffer + at, 8);
  store(bytes + at, process->heap_count, 4);
  for (size_t i = 0; i < process->heap_count; i++) {
    const fake_heap *heap = &process->heaps[i];
    uint8_t *info = bytes + at + 8 + i * stride;
    uint64_t busy = 0;
    if (heap->flags & 1)
      store(bytes + 0x98, heap->id, 8);
    store(info, heap->id, 8);
    store(info + 0x08, heap->flags, 4);
    store(info + 0x0c, OVERHEAD, 2);
    store(info + 0x24, heap->block_count, 4);
    store(info + 0x50, buffer + entries, 8);
    for (size_t j = 0; j < heap->block_count; j++, entries += ENTRY) {
      const fake_block *block = &heap->blocks[j];
      store(bytes + entries, block->size, 8);
      store(bytes + entries + 8, entry_flags(block->flags), 2);
      if (block->flags & BLOCK_REGION) {
        store(bytes + entries + 0x10, block->size / 2, 8);
        store(bytes + entries + 0x18, block->address, 8);
      }
      busy += block->flags & BLOCK_REGION ? block->size / 2 : 0;
    }
    store(info + 0x18, busy, 8);
  }
  return 0;
}

uint32_t th_sys_debug_query(uint32_t pid, uint32_t flags, uintptr_t buffer) {
  FAKE_CALL(call, "RtlQueryProcessDebugInformation");
  uint32_t code = fake_begin(&call, pid);
  const fake_process *process = fake_find_process(fake.world, pid);
  if (flags != (TH_DEBUG_HEAP_SUMMARY | TH_DEBUG_HEAP_ENTRIES))
    fake_fault("heap query with flags 0x%x", flags);
  if (code == 0 && !process)
    code = TH_ERROR_INVALID_PARAMETER;
  if (code == 0 && process->suspended)
    fake_fault("heap query of a suspended process: Windows would not return");
  if (code == 0)
    code = process->open_error ? process->open_error : write_heaps(process, buffer);
  fake_end();
  return code;
}
