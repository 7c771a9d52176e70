#include "etl/stack_table.h"

#include "base/cursor.h"
#include "etl/heap_event.h"

#define HIGH_BIT UINT32_C(0x80000000)
/* More parts than any event has; the rest is dropped. */
#define MAX_PARTS 64

bool th_stack_table_append_part(th_stack_table *table, th_stack_ref *stack, th_stack_part part) {
  th_stack_part parts[MAX_PARTS + 1];
  size_t count = 0;
  if (*stack == TH_NO_STACK_REF && !(part & HIGH_BIT)) {
    *stack = part;
    return true;
  }
  if (*stack != TH_NO_STACK_REF && *stack & HIGH_BIT) {
    size_t size;
    const uint8_t *known = th_intern_get(&table->recipes, *stack & ~HIGH_BIT, &size);
    memcpy(parts, known, size);
    count = size / sizeof *parts;
  } else if (*stack != TH_NO_STACK_REF) {
    parts[count++] = *stack;
  }
  if (count == MAX_PARTS)
    return true;
  parts[count++] = part;
  uint32_t recipe;
  if (!th_intern_put(&table->recipes, parts, count * sizeof *parts, &recipe) ||
      recipe >= HIGH_BIT - 1)
    return false;
  *stack = recipe | HIGH_BIT;
  return true;
}

bool th_stack_table_append(th_stack_table *table, th_stack_ref *stack, const uint8_t *frames,
                           size_t count, unsigned frame_size, const uint64_t *hash) {
  uint32_t list;
  if (!th_stack_frames_put(&table->frames, frames, count, frame_size, hash, &list))
    return false;
  if (list == TH_NO_FRAMES)
    return true;
  if (TH_LIKELY(*stack == TH_NO_STACK_REF)) {
    *stack = list;
    return true;
  }
  return th_stack_table_append_part(table, stack, list);
}

static bool add_item(th_stack_table *table, uint32_t frames, uint32_t *number) {
  uint32_t next = (uint32_t)table->items.count;
  if (next >= UINT32_MAX - 1 ||
      !th_vec_push(&table->items, ((th_stack_item){.frames = frames, .same_as = next})))
    return false;
  *number = next;
  return true;
}

/* Makes `map` long enough for place `at`. */
#define REACH(map, at) (th_vec_reserve((map), (size_t)(at) + 1) ? (fill((map)->items, &(map)->count, (size_t)(at) + 1), true) : false)

static void fill(uint32_t *items, size_t *count, size_t wanted) {
  while (*count < wanted)
    items[(*count)++] = 0;
}

static bool number_of_frames(th_stack_table *table, uint32_t frames, uint32_t *number) {
  if (!REACH(&table->of_frames, frames))
    return false;
  uint32_t *known = &table->of_frames.items[frames];
  if (!*known) {
    if (!add_item(table, frames, number))
      return false;
    *known = *number + 1;
  }
  *number = *known - 1;
  return true;
}

/* Puts the frames of all parts together; *complete is false when a key is not defined yet. Parts
   that have no frames add nothing. */
static bool join_parts(th_stack_table *table, uint32_t recipe, uint64_t *joined, size_t *joined_count,
                       bool *complete) {
  size_t size, room = TH_MAX_FRAMES;
  const uint8_t *parts = th_intern_get(&table->recipes, recipe, &size);
  *joined_count = 0;
  *complete = true;
  for (size_t i = 0; i < size; i += sizeof(th_stack_part)) {
    th_stack_part part = th_load_u32(parts + i);
    size_t count;
    const uint64_t *frames;
    if (part & HIGH_BIT) {
      frames = th_stack_keys_frames(&table->keys, part & ~HIGH_BIT, &count);
      *complete &= table->keys.generations.items[part & ~HIGH_BIT].defined;
    } else {
      frames = th_stack_frames_get(&table->frames, part, &count);
    }
    count = count < room ? count : room;
    if (count)
      memcpy(joined + *joined_count, frames, count * sizeof *frames);
    *joined_count += count;
    room -= count;
  }
  return true;
}

/* The list of frames that a recipe comes to; TH_NO_FRAMES while a key is not defined, or when it
   comes to nothing. */
static bool resolve(th_stack_table *table, uint32_t recipe, bool at_end, uint32_t *frames) {
  uint64_t *joined = th_mem_array(TH_MAX_FRAMES, sizeof *joined);
  size_t count;
  bool complete, done = joined != NULL;
  *frames = TH_NO_FRAMES;
  if (done && join_parts(table, recipe, joined, &count, &complete) && count &&
      (complete || at_end))
    done = th_stack_frames_put(&table->frames, (const uint8_t *)joined, count, 8, NULL, frames);
  th_mem_free(joined);
  return done;
}

static bool has_key(const th_stack_table *table, uint32_t recipe) {
  size_t size;
  const uint8_t *parts = th_intern_get(&table->recipes, recipe, &size);
  for (size_t i = 0; i < size; i += sizeof(th_stack_part))
    if (th_load_u32(parts + i) & HIGH_BIT)
      return true;
  return false;
}

static bool number_of_recipe(th_stack_table *table, uint32_t recipe, uint32_t *number) {
  uint32_t frames = TH_NO_FRAMES;
  if (!REACH(&table->of_recipes, recipe))
    return false;
  uint32_t *known = &table->of_recipes.items[recipe];
  if (!*known) {
    if (!has_key(table, recipe)) {
      if (!resolve(table, recipe, false, &frames) || !number_of_frames(table, frames, number))
        return false;
    } else {
      if (!th_vec_reserve(&table->waiting, table->waiting.count + 1) ||
          !th_vec_reserve(&table->waiting_items, table->waiting_items.count + 1) ||
          !add_item(table, TH_NO_FRAMES, number))
        return false;
      table->waiting.items[table->waiting.count++] = recipe;
      table->waiting_items.items[table->waiting_items.count++] = *number;
    }
    *known = *number + 1;
  }
  *number = *known - 1;
  return true;
}

bool th_stack_table_number_new(th_stack_table *table, th_stack_ref stack, uint32_t *number) {
  if (stack == TH_NO_STACK_REF) {
    *number = TH_NO_STACK;
    return true;
  }
  return stack & HIGH_BIT ? number_of_recipe(table, stack & ~HIGH_BIT, number)
                          : number_of_frames(table, stack, number);
}

bool th_stack_table_finish(th_stack_table *table) {
  for (size_t i = 0; i < table->waiting.count; i++) {
    th_stack_item *item = &table->items.items[table->waiting_items.items[i]];
    uint32_t own = (uint32_t)(item - table->items.items);
    if (!resolve(table, table->waiting.items[i], true, &item->frames))
      return false;
    if (item->frames == TH_NO_FRAMES)
      continue;
    if (!REACH(&table->of_frames, item->frames))
      return false;
    uint32_t *first = &table->of_frames.items[item->frames];
    if (!*first)
      *first = own + 1;
    item->same_as = *first - 1;
  }
  /* The one found first need not be the lowest number: make it so. */
  for (uint32_t i = 0; i < table->items.count; i++) {
    th_stack_item *item = &table->items.items[i], *root = &table->items.items[item->same_as];
    if (item->same_as > i && root->same_as == item->same_as)
      root->same_as = i;
    item->same_as = root->same_as;
  }
  th_vec_free(&table->waiting);
  th_vec_free(&table->waiting_items);
  return true;
}

void th_stack_table_free(th_stack_table *table) {
  th_stack_frames_free(&table->frames);
  th_stack_keys_free(&table->keys);
  th_intern_free(&table->recipes);
  th_vec_free(&table->items);
  th_vec_free(&table->of_frames);
  th_vec_free(&table->of_recipes);
  th_vec_free(&table->waiting);
  th_vec_free(&table->waiting_items);
}
