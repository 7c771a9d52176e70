/* Byte strings to small numbers: equal bytes get the same number, numbers count from 0. Used for
   text (UTF-16 units) and for anything else that repeats. */
#ifndef TH_BASE_INTERN_H
#define TH_BASE_INTERN_H

#include "base/vec.h"

typedef struct th_intern_item {
  uint64_t hash;
  size_t offset; /* into the pool */
  size_t size;   /* bytes */
} th_intern_item;

typedef struct th_intern {
  TH_VEC(uint8_t) pool;
  TH_VEC(th_intern_item) items;
  uint32_t *slots; /* item + 1, or 0; open addressing, a power of two of them */
  size_t slot_count;
} th_intern;

/* Room for `count` items of `bytes` in all, so that filling does not grow step by step. */
TH_NODISCARD bool th_intern_reserve(th_intern *intern, size_t count, size_t bytes);
/* The number of `bytes`, copied in when new; false when there is no memory (nothing changed). */
TH_NODISCARD bool th_intern_put(th_intern *intern, const void *bytes, size_t size, uint32_t *id);
/* The number of `bytes` when it has one; changes nothing, so several threads may look at once. */
TH_NODISCARD bool th_intern_find(const th_intern *intern, const void *bytes, size_t size,
                                 uint32_t *id);
/* The bytes of number `id`, which must exist; valid until the next put. */
TH_INLINE const uint8_t *th_intern_get(const th_intern *intern, uint32_t id, size_t *size) {
  const th_intern_item *item = &intern->items.items[id];
  *size = item->size;
  return intern->pool.items + item->offset;
}
TH_INLINE size_t th_intern_count(const th_intern *intern) { return intern->items.count; }
void th_intern_free(th_intern *intern);

#endif
