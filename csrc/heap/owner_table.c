#include "heap/owner_table.h"

void th_owner_table_init(th_owner_table *table, uint64_t seed) {
  *table = (th_owner_table){.instance_of_pid = {.seed = seed},
                            .heap_of_handle = {.seed = seed},
                            .thread_of_tid = {.seed = seed},
                            .owner_of_pair = {.seed = seed}};
}

void th_owner_table_free(th_owner_table *table) {
  th_vec_free(&table->instances);
  for (size_t i = 0; i < table->heaps.count; i++)
    th_vec_free(&table->heaps.items[i].blocks.ranges);
  th_vec_free(&table->heaps);
  th_vec_free(&table->threads);
  th_vec_free(&table->owners);
  th_id_map_free(&table->instance_of_pid);
  th_id_map_free(&table->heap_of_handle);
  th_id_map_free(&table->thread_of_tid);
  th_id_map_free(&table->owner_of_pair);
}

uint32_t th_owner_running(const th_owner_table *table, uint32_t pid) {
  uint32_t instance = th_id_map_get(&table->instance_of_pid, 0, pid);
  if (instance == UINT32_MAX || table->instances.items[instance].ended)
    return UINT32_MAX;
  return instance;
}

static bool find_instance(th_owner_table *table, uint32_t pid, int64_t time_ns, uint32_t *found) {
  uint32_t index = th_owner_running(table, pid);
  if (index == UINT32_MAX) {
    index = (uint32_t)table->instances.count;
    if (index == UINT32_MAX || !th_vec_reserve(&table->instances, table->instances.count + 1) ||
        !th_id_map_set(&table->instance_of_pid, 0, pid, index))
      return false;
    table->instances.items[table->instances.count++] =
        (th_instance){.pid = pid, .first_heap = UINT32_MAX, .first_ns = time_ns};
  }
  *found = index;
  return true;
}

bool th_owner_thread_slowly(th_owner_table *table, uint32_t pid, uint32_t tid, int64_t time_ns,
                            th_thread_cache_entry *entry) {
  uint32_t instance;
  if (!find_instance(table, pid, time_ns, &instance))
    return false;
  uint32_t index = th_id_map_get(&table->thread_of_tid, instance, tid);
  if (index == UINT32_MAX) {
    index = (uint32_t)table->threads.count;
    if (index >= UINT32_MAX - 1 || !th_vec_reserve(&table->threads, table->threads.count + 1) ||
        !th_id_map_set(&table->thread_of_tid, instance, tid, index))
      return false;
    table->threads.items[table->threads.count++] =
        (th_heap_thread){.tid = tid, .instance = instance, .owner = UINT32_MAX};
  }
  *entry = (th_thread_cache_entry){.pid = pid, .tid = tid, .thread = index + 1};
  return true;
}

bool th_owner_heap(th_owner_table *table, uint32_t instance, uint64_t handle, uint32_t *heap) {
  uint32_t index = th_id_map_get(&table->heap_of_handle, instance, handle);
  if (index == UINT32_MAX) {
    index = (uint32_t)table->heaps.count;
    if (index == UINT32_MAX || !th_vec_reserve(&table->heaps, table->heaps.count + 1) ||
        !th_id_map_set(&table->heap_of_handle, instance, handle, index))
      return false;
    th_instance *process = &table->instances.items[instance];
    table->heaps.items[table->heaps.count++] =
        (th_heap){.handle = handle, .instance = instance, .next = process->first_heap};
    process->first_heap = index;
  }
  *heap = index;
  return true;
}

bool th_owner_slowly(th_owner_table *table, uint32_t thread, uint64_t handle, uint64_t now,
                     uint32_t *owner) {
  uint32_t instance = table->threads.items[thread].instance;
  uint32_t heap;
  if (!th_owner_heap(table, instance, handle, &heap))
    return false;
  uint32_t index = th_id_map_get(&table->owner_of_pair, thread, heap);
  if (index == UINT32_MAX) {
    index = (uint32_t)table->owners.count;
    if (index == UINT32_MAX || !th_vec_reserve(&table->owners, table->owners.count + 1) ||
        !th_id_map_set(&table->owner_of_pair, thread, heap, index))
      return false;
    table->owners.items[table->owners.count++] =
        (th_owner){.figures = {.last_ns = TH_NEVER, .moment = now},
                   .handle = handle,
                   .instance = instance,
                   .heap = heap,
                   .thread = thread};
  }
  table->threads.items[thread].owner = index;
  table->threads.items[thread].handle = handle;
  *owner = index;
  return true;
}

void th_owner_end(th_owner_table *table, uint32_t instance, int64_t time_ns) {
  th_instance *process = &table->instances.items[instance];
  process->ended = true;
  process->end_ns = time_ns;
  for (size_t i = 0; i < TH_THREAD_CACHE; i++)
    if (table->cache[i].pid == process->pid)
      table->cache[i].thread = 0;
}
