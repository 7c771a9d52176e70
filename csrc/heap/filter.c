#include "heap/filter.h"

static bool has_u32(const uint32_t *list, size_t count, uint32_t value) {
  for (size_t i = 0; i < count; i++)
    if (list[i] == value)
      return true;
  return count == 0;
}

static bool has_u64(const uint64_t *list, size_t count, uint64_t value) {
  for (size_t i = 0; i < count; i++)
    if (list[i] == value)
      return true;
  return count == 0;
}

bool th_filter_heap(const th_block_filter *filter, uint32_t pid, uint64_t heap) {
  return has_u32(filter->pids, filter->pid_count, pid) &&
         has_u64(filter->heaps, filter->heap_count, heap);
}

bool th_filter_birth(const th_block_filter *filter, uint32_t pid, uint32_t tid, uint64_t heap,
                     int64_t birth_ns, uint32_t site, uint64_t serial) {
  return birth_ns >= filter->since_ns && birth_ns < filter->until_ns &&
         th_filter_heap(filter, pid, heap) && has_u32(filter->tids, filter->tid_count, tid) &&
         (!filter->blocks || th_filter_bit(filter->blocks, filter->block_count, serial)) &&
         (!filter->sites || th_filter_bit(filter->sites, filter->site_count, site));
}
