/* Small numbers for pairs of numbers: (process, handle) to heap, (process, tid) to thread ... */
#ifndef TH_HEAP_ID_MAP_H
#define TH_HEAP_ID_MAP_H

#include "base/mem.h"

typedef struct th_id_slot {
  uint64_t low;
  uint32_t high;
  uint32_t value; /* + 1; 0: free */
} th_id_slot;

typedef struct th_id_map {
  th_id_slot *slots; /* open addressing, a power of two of them */
  size_t slot_count;
  size_t count;
  uint64_t seed;
} th_id_map;

/* The value of the pair, or UINT32_MAX when it has none. */
uint32_t th_id_map_get(const th_id_map *map, uint32_t high, uint64_t low);
/* Sets the value (below UINT32_MAX) of the pair, new or not. False: no memory, nothing changed. */
TH_NODISCARD bool th_id_map_set(th_id_map *map, uint32_t high, uint64_t low, uint32_t value);
void th_id_map_free(th_id_map *map);

#endif
