#include "etl/stack_keys.h"

#include "etl/stack_frames.h"

/* The place of a key in `open`. */
static bool number_of(th_stack_keys *keys, bool kernel, uint64_t key, uint32_t *number) {
  if (!th_intern_put(&keys->keys[kernel], &key, sizeof key, number))
    return false;
  while (keys->open[kernel].count <= *number)
    if (!th_vec_push(&keys->open[kernel], 0))
      return false;
  return true;
}

bool th_stack_keys_use(th_stack_keys *keys, bool kernel, uint64_t key, bool wanted,
                       uint32_t *generation) {
  uint32_t number;
  if (!number_of(keys, kernel, key, &number))
    return false;
  uint32_t *open = &keys->open[kernel].items[number];
  if (!*open) {
    th_key_generation made = {0};
    if (keys->generations.count >= UINT32_MAX - 1 || !th_vec_push(&keys->generations, made))
      return false;
    *open = (uint32_t)keys->generations.count;
  }
  *generation = *open - 1;
  keys->generations.items[*generation].uses++;
  keys->generations.items[*generation].wanted |= wanted;
  return true;
}

bool th_stack_keys_define(th_stack_keys *keys, bool kernel, uint64_t key, const uint8_t *bytes,
                          size_t count, unsigned frame_size) {
  uint32_t number;
  if (!number_of(keys, kernel, key, &number))
    return false;
  uint32_t *open = &keys->open[kernel].items[number];
  if (!*open)
    return true;
  th_key_generation *generation = &keys->generations.items[*open - 1];
  size_t at = keys->frames.count;
  if (count > TH_MAX_FRAMES)
    count = TH_MAX_FRAMES;
  if (generation->wanted) {
    if (!th_vec_reserve(&keys->frames, at + count))
      return false;
    generation->offset = at;
    generation->count =
        (uint32_t)th_stack_frames_clean(keys->frames.items + at, bytes, count, frame_size);
    keys->frames.count += generation->count;
  }
  generation->defined = true;
  *open = 0;
  return true;
}

const uint64_t *th_stack_keys_frames(const th_stack_keys *keys, uint32_t generation,
                                     size_t *count) {
  const th_key_generation *found = &keys->generations.items[generation];
  *count = found->count;
  return found->count ? keys->frames.items + found->offset : NULL;
}

uint64_t th_stack_keys_unresolved(const th_stack_keys *keys) {
  uint64_t uses = 0;
  for (size_t i = 0; i < keys->generations.count; i++)
    uses += keys->generations.items[i].defined ? 0 : keys->generations.items[i].uses;
  return uses;
}

void th_stack_keys_free(th_stack_keys *keys) {
  th_vec_free(&keys->generations);
  th_vec_free(&keys->frames);
  for (int kernel = 0; kernel < 2; kernel++) {
    th_intern_free(&keys->keys[kernel]);
    th_vec_free(&keys->open[kernel]);
  }
}
