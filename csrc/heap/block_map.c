#include "heap/block_map.h"

#define FIRST_BUCKETS 128
#define CACHE_LINE 64
#define SMALLEST_RANGE UINT32_C(4)
/* Block numbers + 1 must fit in 32 bits, and so must the table's tags. */
#define MAX_SEGMENTS ((UINT32_MAX >> TH_SEGMENT_BITS) - 1)

void th_block_map_free(th_block_map *map) {
  th_mem_free(map->memory);
  for (size_t i = 0; i < map->segments.count; i++) {
    th_mem_free(map->segments.items[i].blocks);
    th_mem_free(map->segments.items[i].serials);
  }
  th_vec_free(&map->segments);
  for (size_t i = 0; i < TH_RANGE_SIZES; i++)
    th_vec_free(&map->free_ranges[i]);
  *map = (th_block_map){0};
}

static void put(th_block_map *map, uint32_t tag, uint32_t block) {
  for (size_t at = tag & map->mask;; at = (at + 1) & map->mask) {
    th_block_bucket *bucket = &map->buckets[at];
    uint32_t room = th_block_matches(bucket, 0);
    if (room) {
      bucket->tags[th_low_bit(room)] = tag;
      bucket->blocks[th_low_bit(room)] = block;
      return;
    }
    bucket->spilled++;
  }
}

static bool grow_buckets(th_block_map *map) {
  th_block_map bigger = *map;
  size_t count = map->memory ? (map->mask + 1) * 2 : FIRST_BUCKETS;
  size_t bytes;
  if (!th_size_mul(count, sizeof(th_block_bucket), &bytes) ||
      !th_size_add(bytes, CACHE_LINE, &bytes))
    return false;
  bigger.memory = th_mem_zero(bytes);
  if (!bigger.memory)
    return false;
  bigger.buckets = (th_block_bucket *)(((uintptr_t)bigger.memory + CACHE_LINE - 1) &
                                       ~(uintptr_t)(CACHE_LINE - 1));
  bigger.mask = count - 1;
  bigger.limit = count * 9 / 2; /* of 7 slots: then one bucket in eleven spills */
  for (size_t i = 0; map->memory && i <= map->mask; i++)
    for (unsigned slot = 0; slot < TH_BUCKET_SLOTS; slot++)
      if (map->buckets[i].tags[slot])
        put(&bigger, map->buckets[i].tags[slot], map->buckets[i].blocks[slot]);
  th_mem_free(map->memory);
  *map = bigger;
  return true;
}

bool th_block_map_init(th_block_map *map, uint64_t seed, bool numbered) {
  th_block_map made = {.seed = seed, .numbered = numbered};
  if (!grow_buckets(&made))
    return false;
  *map = made;
  return true;
}

static unsigned size_index(uint64_t count) {
  unsigned index = 0;
  while (index + 1 < TH_RANGE_SIZES && (SMALLEST_RANGE << index) < count)
    index++;
  return index;
}

/* Adds a whole segment to the free ranges. */
static bool add_segment(th_block_map *map) {
  if (map->segments.count >= MAX_SEGMENTS)
    return false;
  unsigned whole = TH_RANGE_SIZES - 1;
  th_block_segment segment = {0};
  if (!th_vec_reserve(&map->free_ranges[whole], map->free_ranges[whole].count + 1))
    return false;
  segment.blocks = th_mem_array(TH_SEGMENT_BLOCKS, sizeof *segment.blocks);
  if (map->numbered)
    segment.serials = th_mem_array(TH_SEGMENT_BLOCKS, sizeof *segment.serials);
  if (!segment.blocks || (map->numbered && !segment.serials) ||
      !th_vec_push(&map->segments, segment)) {
    th_mem_free(segment.blocks);
    th_mem_free(segment.serials);
    return false;
  }
  uint32_t first = (uint32_t)(map->segments.count - 1) << TH_SEGMENT_BITS;
  map->free_ranges[whole].items[map->free_ranges[whole].count++] = first;
  return true;
}

/* A range of the wished size, split from a bigger one, or else the biggest smaller one there is. */
static bool take_range(th_block_map *map, unsigned wished, th_block_range *range) {
  unsigned index = wished;
  while (index < TH_RANGE_SIZES && !map->free_ranges[index].count)
    index++;
  if (index == TH_RANGE_SIZES) {
    index = wished;
    while (index > 0 && !map->free_ranges[index].count)
      index--;
    if (map->free_ranges[index].count) {
      wished = index;
    } else {
      if (!add_segment(map))
        return false;
      index = TH_RANGE_SIZES - 1;
    }
  }
  for (unsigned i = wished; i < index; i++)
    if (!th_vec_reserve(&map->free_ranges[i], map->free_ranges[i].count + 1))
      return false;
  uint32_t first = map->free_ranges[index].items[--map->free_ranges[index].count];
  while (index > wished) {
    index--;
    map->free_ranges[index].items[map->free_ranges[index].count++] =
        first + (SMALLEST_RANGE << index);
  }
  *range = (th_block_range){.first = first, .count = SMALLEST_RANGE << wished};
  return true;
}

static bool extend_list(th_block_map *map, th_block_list *list) {
  th_block_range range;
  if (!th_vec_reserve(&list->ranges, list->ranges.count + 1) ||
      !take_range(map, size_index(list->room), &range))
    return false;
  list->ranges.items[list->ranges.count++] = range;
  list->room += range.count;
  for (uint32_t i = range.count; i-- > 0;) {
    th_block *block = th_block_at(map, range.first + i);
    block->owner = TH_NO_OWNER;
    block->site = list->spare;
    list->spare = range.first + i + 1;
  }
  return true;
}

bool th_block_grow(th_block_map *map, th_block_list *list) {
  if (map->count >= map->limit && !grow_buckets(map))
    return false;
  return list->spare != 0 || extend_list(map, list);
}

void th_block_give_back(th_block_map *map, th_block_list *list) {
  for (size_t i = 0; i < list->ranges.count; i++) {
    th_block_range range = list->ranges.items[i];
    /* Should the list of free ranges have no room, the range stays unused: a loss, no error. */
    if (!th_vec_push(&map->free_ranges[size_index(range.count)], range.first))
      break;
  }
  th_vec_free(&list->ranges);
  list->room = 0;
  list->spare = 0;
}
