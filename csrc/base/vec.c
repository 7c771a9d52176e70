#include "base/mem.h"
#include "base/vec.h"

void *th_mem_array(size_t count, size_t size) {
  size_t bytes;
  return th_size_mul(count, size, &bytes) ? th_mem_alloc(bytes) : NULL;
}

void *th_mem_zero_array(size_t count, size_t size) {
  size_t bytes;
  return th_size_mul(count, size, &bytes) ? th_mem_zero(bytes) : NULL;
}

void *th_mem_resize_array(void *block, size_t count, size_t size) {
  size_t bytes;
  return th_size_mul(count, size, &bytes) ? th_mem_resize(block, bytes) : NULL;
}

bool th_vec_grow(void **items, size_t *capacity, size_t wanted, size_t item_size) {
  size_t room = *capacity < 16 ? 16 : *capacity;
  while (room < wanted) {
    if (room > SIZE_MAX / 2)
      return false;
    room *= 2;
  }
  void *grown = th_mem_resize_array(*items, room, item_size);
  if (!grown)
    return false;
  *items = grown;
  *capacity = room;
  return true;
}
