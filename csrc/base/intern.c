#include "base/intern.h"

#include "base/hash.h"

#include <string.h>

#define FIRST_SLOTS 64
/* Items are aligned in the pool so that UTF-16 units and 64-bit frames can be read in place. */
#define ALIGNMENT 8

static bool grow_slots(th_intern *intern, size_t count) {
  uint32_t *slots = th_mem_zero_array(count, sizeof *slots);
  if (!slots)
    return false;
  for (size_t i = 0; i < intern->items.count; i++) {
    size_t slot = (size_t)intern->items.items[i].hash & (count - 1);
    while (slots[slot])
      slot = (slot + 1) & (count - 1);
    slots[slot] = (uint32_t)i + 1;
  }
  th_mem_free(intern->slots);
  intern->slots = slots;
  intern->slot_count = count;
  return true;
}

bool th_intern_reserve(th_intern *intern, size_t count, size_t bytes) {
  size_t slots = intern->slot_count ? intern->slot_count : FIRST_SLOTS;
  while (slots / 2 <= count) {
    if (slots > SIZE_MAX / 4)
      return false;
    slots *= 2;
  }
  return (slots == intern->slot_count || grow_slots(intern, slots)) &&
         th_vec_reserve(&intern->items, count) && th_vec_reserve(&intern->pool, bytes);
}

bool th_intern_put(th_intern *intern, const void *bytes, size_t size, uint32_t *id) {
  uint64_t hash = th_hash_bytes(bytes, size);
  if (intern->items.count * 2 >= intern->slot_count &&
      !grow_slots(intern, intern->slot_count ? intern->slot_count * 2 : FIRST_SLOTS))
    return false;
  size_t mask = intern->slot_count - 1;
  size_t slot = (size_t)hash & mask;
  while (intern->slots[slot]) {
    const th_intern_item *item = &intern->items.items[intern->slots[slot] - 1];
    if (item->hash == hash && item->size == size &&
        memcmp(intern->pool.items + item->offset, bytes, size) == 0) {
      *id = intern->slots[slot] - 1;
      return true;
    }
    slot = (slot + 1) & mask;
  }
  size_t offset = (intern->pool.count + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
  if (intern->items.count >= UINT32_MAX - 1 || size > SIZE_MAX / 2 - offset)
    return false;
  if (!th_vec_reserve(&intern->pool, offset + size + 1) ||
      !th_vec_reserve(&intern->items, intern->items.count + 1))
    return false;
  if (size)
    memcpy(intern->pool.items + offset, bytes, size);
  intern->pool.count = offset + size;
  intern->items.items[intern->items.count] =
      (th_intern_item){.hash = hash, .offset = offset, .size = size};
  *id = (uint32_t)intern->items.count++;
  intern->slots[slot] = *id + 1;
  return true;
}

bool th_intern_find(const th_intern *intern, const void *bytes, size_t size, uint32_t *id) {
  if (!intern->slot_count)
    return false;
  const uint64_t hash = th_hash_bytes(bytes, size);
  const size_t mask = intern->slot_count - 1;
  for (size_t slot = (size_t)hash & mask; intern->slots[slot]; slot = (slot + 1) & mask) {
    const th_intern_item *item = &intern->items.items[intern->slots[slot] - 1];
    if (item->hash == hash && item->size == size &&
        memcmp(intern->pool.items + item->offset, bytes, size) == 0) {
      *id = intern->slots[slot] - 1;
      return true;
    }
  }
  return false;
}

void th_intern_free(th_intern *intern) {
  th_vec_free(&intern->pool);
  th_vec_free(&intern->items);
  th_mem_free(intern->slots);
  intern->slots = NULL;
  intern->slot_count = 0;
}
