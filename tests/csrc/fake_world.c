/* What exists: processes with their threads, modules, heaps and memory. */
#include "fake_state.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_FOR_ONE_MORE(items, count, room)                                                      \
  do {                                                                                             \
    if ((count) == (room)) {                                                                       \
      (room) = (room) ? 2 * (room) : 8;                                                            \
      (items) = fake_memory_of((items), (room) * sizeof *(items));                                 \
    }                                                                                              \
  } while (0)

fake_text fake_copy_text(const uint16_t *units, size_t count) {
  fake_text text = {fake_memory_of(NULL, (count + 1) * sizeof *units), count};
  if (count)
    memcpy(text.units, units, count * sizeof *units);
  text.units[count] = 0;
  return text;
}

void fake_free_text(fake_text *text) {
  free(text->units);
  *text = (fake_text){0};
}

static void free_process(fake_process *process) {
  fake_free_text(&process->name);
  fake_free_text(&process->path);
  for (size_t i = 0; i < process->module_count; i++) {
    fake_free_text(&process->modules[i].name);
    fake_free_text(&process->modules[i].path);
  }
  for (size_t i = 0; i < process->heap_count; i++)
    free(process->heaps[i].blocks);
  for (size_t i = 0; i < process->memory_count; i++)
    free(process->memory[i].bytes);
  free(process->modules);
  free(process->heaps);
  free(process->memory);
}

void fake_drop_world(fake_world *world) {
  if (--world->references > 0)
    return;
  for (size_t i = 0; i < world->process_count; i++)
    free_process(&world->processes[i]);
  free(world->processes);
  free(world->threads);
  free(world);
}

static void *copy_of(const void *bytes, size_t size) {
  void *copy = fake_memory_of(NULL, size);
  if (size)
    memcpy(copy, bytes, size);
  return copy;
}

static fake_text copy_of_text(const fake_text *text) {
  return text->units ? fake_copy_text(text->units, text->count) : (fake_text){0};
}

static fake_process copy_of_process(const fake_process *from) {
  fake_process to = *from;
  to.name = copy_of_text(&from->name);
  to.path = copy_of_text(&from->path);
  to.module_room = from->module_count;
  to.modules = copy_of(from->modules, from->module_count * sizeof *from->modules);
  for (size_t i = 0; i < to.module_count; i++) {
    to.modules[i].name = copy_of_text(&from->modules[i].name);
    to.modules[i].path = copy_of_text(&from->modules[i].path);
  }
  to.heap_room = from->heap_count;
  to.heaps = copy_of(from->heaps, from->heap_count * sizeof *from->heaps);
  for (size_t i = 0; i < to.heap_count; i++) {
    fake_heap *heap = &to.heaps[i];
    heap->block_room = heap->block_count;
    heap->blocks = copy_of(heap->blocks, heap->block_count * sizeof *heap->blocks);
  }
  to.memory_room = from->memory_count;
  to.memory = copy_of(from->memory, from->memory_count * sizeof *from->memory);
  for (size_t i = 0; i < to.memory_count; i++)
    to.memory[i].bytes = copy_of(to.memory[i].bytes, to.memory[i].size);
  return to;
}

fake_world *fake_world_to_change(void) {
  fake_world *from = fake.world;
  if (from->references == 1)
    return from;
  fake_world *to = fake_memory_of(NULL, sizeof *to);
  *to = (fake_world){.references = 1,
                     .process_count = from->process_count,
                     .process_room = from->process_count,
                     .thread_count = from->thread_count,
                     .thread_room = from->thread_count};
  to->threads = copy_of(from->threads, from->thread_count * sizeof *from->threads);
  to->processes = copy_of(from->processes, from->process_count * sizeof *from->processes);
  for (size_t i = 0; i < to->process_count; i++)
    to->processes[i] = copy_of_process(&from->processes[i]);
  fake_drop_world(from);
  fake.world = to;
  return to;
}

fake_process *fake_find_process(fake_world *world, uint32_t pid) {
  /* Most who look for one look for it again, or for one near it. */
  size_t near = world->last_found < 32 ? 0 : world->last_found - 32;
  for (size_t i = near; i < world->process_count && i < near + 64; i++)
    if (world->processes[i].pid == pid)
      return &world->processes[world->last_found = i];
  for (size_t i = 0; i < world->process_count; i++)
    if (world->processes[i].pid == pid)
      return &world->processes[world->last_found = i];
  return NULL;
}

fake_heap *fake_find_heap(fake_process *process, uint64_t id) {
  for (size_t i = 0; i < process->heap_count; i++)
    if (process->heaps[i].id == id)
      return &process->heaps[i];
  return NULL;
}

fake_process *fake_add_process(fake_world *world, uint32_t pid) {
  ROOM_FOR_ONE_MORE(world->processes, world->process_count, world->process_room);
  fake_process *process = &world->processes[world->process_count++];
  *process = (fake_process){.pid = pid, .exit_code = TH_STILL_ACTIVE, .loader_ready = true};
  return process;
}

void fake_add_thread(fake_world *world, const fake_thread *thread) {
  ROOM_FOR_ONE_MORE(world->threads, world->thread_count, world->thread_room);
  world->threads[world->thread_count++] = *thread;
}

void fake_add_module(fake_process *process, const fake_module *module) {
  ROOM_FOR_ONE_MORE(process->modules, process->module_count, process->module_room);
  process->modules[process->module_count++] = *module;
}

void fake_add_heap(fake_process *process, uint64_t id, uint32_t flags) {
  ROOM_FOR_ONE_MORE(process->heaps, process->heap_count, process->heap_room);
  process->heaps[process->heap_count++] = (fake_heap){.id = id, .flags = flags};
}

void fake_add_block(fake_heap *heap, const fake_block *block) {
  ROOM_FOR_ONE_MORE(heap->blocks, heap->block_count, heap->block_room);
  heap->blocks[heap->block_count++] = *block;
}

void fake_add_memory(fake_process *process, const fake_memory *memory) {
  ROOM_FOR_ONE_MORE(process->memory, process->memory_count, process->memory_room);
  process->memory[process->memory_count++] = *memory;
}

void fake_remove_process(fake_world *world, uint32_t pid) {
  size_t kept = 0;
  for (size_t i = 0; i < world->process_count; i++) {
    if (world->processes[i].pid == pid)
      free_process(&world->processes[i]);
    else
      world->processes[kept++] = world->processes[i];
  }
  world->process_count = kept;
  kept = 0;
  for (size_t i = 0; i < world->thread_count; i++)
    if (world->threads[i].pid != pid)
      world->threads[kept++] = world->threads[i];
  world->thread_count = kept;
}
