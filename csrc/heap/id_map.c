#include "heap/id_map.h"

#include "base/hash.h"

#define FIRST_SLOTS 64

static uint64_t hash_of(const th_id_map *map, uint32_t high, uint64_t low) {
  return th_hash_fold(low ^ map->seed ^ TH_HASH_A, (high + UINT64_C(1)) * TH_HASH_B);
}

/* Where the pair is, or where it would go. */
static th_id_slot *slot_of(const th_id_map *map, uint32_t high, uint64_t low) {
  size_t mask = map->slot_count - 1;
  size_t at = (size_t)hash_of(map, high, low) & mask;
  while (map->slots[at].value && (map->slots[at].low != low || map->slots[at].high != high))
    at = (at + 1) & mask;
  return &map->slots[at];
}

static bool grow(th_id_map *map) {
  th_id_map bigger = *map;
  bigger.slot_count = map->slot_count ? map->slot_count * 2 : FIRST_SLOTS;
  bigger.slots = th_mem_zero_array(bigger.slot_count, sizeof *bigger.slots);
  if (!bigger.slots)
    return false;
  for (size_t i = 0; i < map->slot_count; i++)
    if (map->slots[i].value)
      *slot_of(&bigger, map->slots[i].high, map->slots[i].low) = map->slots[i];
  th_mem_free(map->slots);
  *map = bigger;
  return true;
}

uint32_t th_id_map_get(const th_id_map *map, uint32_t high, uint64_t low) {
  return map->slot_count ? slot_of(map, high, low)->value - 1 : UINT32_MAX;
}

bool th_id_map_set(th_id_map *map, uint32_t high, uint64_t low, uint32_t value) {
  if (map->count * 2 >= map->slot_count && !grow(map))
    return false;
  th_id_slot *slot = slot_of(map, high, low);
  map->count += slot->value == 0;
  *slot = (th_id_slot){.low = low, .high = high, .value = value + 1};
  return true;
}

void th_id_map_free(th_id_map *map) {
  th_mem_free(map->slots);
  map->slots = NULL;
  map->slot_count = map->count = 0;
}
