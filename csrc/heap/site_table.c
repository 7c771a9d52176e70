#include "heap/site_table.h"

#define CACHE_LINE 64

static bool add_segment(th_site_table *table) {
  void *memory = th_mem_alloc(TH_SITE_SEGMENT * sizeof(th_site) + CACHE_LINE);
  if (!memory)
    return false;
  uintptr_t aligned = ((uintptr_t)memory + CACHE_LINE - 1) & ~(uintptr_t)(CACHE_LINE - 1);
  th_site_segment segment = {.sites = (th_site *)aligned, .memory = memory};
  if (!th_vec_push(&table->segments, segment)) {
    th_mem_free(memory);
    return false;
  }
  return true;
}

bool th_site_find_slowly(th_site_table *table, uint32_t instance, uint32_t stack_id, uint64_t now,
                         uint32_t *site) {
  uint32_t index = th_id_map_get(&table->others, instance, stack_id);
  if (index != UINT32_MAX) {
    *site = index;
    return true;
  }
  size_t stack = (uint32_t)(stack_id + 1);
  if (!th_vec_reserve(&table->of_stack, stack + 1))
    return false;
  while (table->of_stack.count <= stack)
    table->of_stack.items[table->of_stack.count++] = (th_first_site){0};
  index = table->count;
  if (index >= UINT32_MAX - 1 ||
      (index >> TH_SITE_BITS == table->segments.count && !add_segment(table)))
    return false;
  th_first_site *first = &table->of_stack.items[stack];
  if (first->site && !th_id_map_set(&table->others, instance, stack_id, index))
    return false;
  *th_site_at(table, index) =
      (th_site){.stack_id = stack_id,
                .instance = instance,
                .figures = {.last_ns = TH_NEVER, .moment = now}};
  if (!first->site)
    *first = (th_first_site){.site = index + 1, .instance = instance};
  table->count++;
  *site = index;
  return true;
}

void th_site_table_free(th_site_table *table) {
  for (size_t i = 0; i < table->segments.count; i++)
    th_mem_free(table->segments.items[i].memory);
  th_vec_free(&table->segments);
  th_vec_free(&table->of_stack);
  th_id_map_free(&table->others);
  table->count = 0;
}
