/* The blocks that are live: found by process and address, listed by heap.

   The table holds tags and numbers, the blocks themselves lie in segments that never move. Each
   heap draws its blocks from ranges of its own, so that the death of a heap visits the blocks of
   that heap and no others. */
#ifndef TH_HEAP_BLOCK_MAP_H
#define TH_HEAP_BLOCK_MAP_H

#include "base/hash.h"
#include "base/vec.h"

#define TH_NO_BLOCK UINT32_MAX
/* `owner` of a block that is not live. */
#define TH_NO_OWNER UINT32_MAX
/* In `site` of a block that the filter refused: it is in the ledger and in no figure. */
#define TH_UNCOUNTED (UINT32_C(1) << 31)

/* Half a cache line. */
typedef struct th_block {
  uint64_t address;
  uint64_t size;
  int64_t birth_ns;
  uint32_t owner; /* its thread and its heap */
  uint32_t site;  /* its stack in its process; next free block + 1 when it is not live */
} th_block;

TH_INLINE bool th_block_counts(const th_block *block) { return !(block->site & TH_UNCOUNTED); }

typedef struct th_block_range {
  uint32_t first;
  uint32_t count;
} th_block_range;

/* The blocks of one heap. */
typedef struct th_block_list {
  TH_VEC(th_block_range) ranges;
  uint64_t live;
  uint64_t room;  /* blocks in its ranges */
  uint32_t spare; /* first + 1 of its blocks that are not live; 0: none */
} th_block_list;

/* One cache line: searching is comparing the tags in it, with no loop to mispredict. */
#define TH_BUCKET_SLOTS 7
typedef struct th_block_bucket {
  uint32_t tags[TH_BUCKET_SLOTS]; /* low half of the hash, which also says the home; 0: free */
  uint32_t spilled; /* entries that found this bucket full and went on to the next */
  uint32_t blocks[TH_BUCKET_SLOTS + 1];
} th_block_bucket;

typedef struct th_block_segment {
  th_block *blocks;
  uint64_t *serials; /* how many blocks were born before each; NULL: nobody asks */
} th_block_segment;

#define TH_SEGMENT_BITS 12
#define TH_SEGMENT_BLOCKS (UINT32_C(1) << TH_SEGMENT_BITS)
/* Ranges have 4 << k blocks, up to a whole segment. */
#define TH_RANGE_SIZES 11

typedef struct th_block_map {
  th_block_bucket *buckets; /* a power of two of them, aligned to a cache line in `memory` */
  void *memory;
  size_t mask; /* buckets - 1 */
  size_t limit; /* of `count`, before there must be more buckets */
  size_t count;
  uint64_t seed;
  bool numbered; /* blocks have serial numbers */
  TH_VEC(th_block_segment) segments;
  TH_VEC(uint32_t) free_ranges[TH_RANGE_SIZES];
} th_block_map;

/* False: no memory. */
TH_NODISCARD bool th_block_map_init(th_block_map *map, uint64_t seed, bool numbered);
void th_block_map_free(th_block_map *map);

TH_INLINE th_block *th_block_at(const th_block_map *map, uint32_t block) {
  return &map->segments.items[block >> TH_SEGMENT_BITS].blocks[block & (TH_SEGMENT_BLOCKS - 1)];
}
/* Where the serial number of a block is, in a map that is numbered. */
TH_INLINE uint64_t *th_block_serial(const th_block_map *map, uint32_t block) {
  return &map->segments.items[block >> TH_SEGMENT_BITS].serials[block & (TH_SEGMENT_BLOCKS - 1)];
}

/* Never 0. */
TH_INLINE uint32_t th_block_tag(const th_block_map *map, uint32_t instance, uint64_t address) {
  uint32_t tag = (uint32_t)th_hash_fold(address ^ map->seed, (instance + UINT64_C(1)) * TH_HASH_B);
  return tag ? tag : 1;
}

/* Starts to load the bucket where the search for a tag begins. */
TH_INLINE void th_block_prefetch(const th_block_map *map, uint32_t tag) {
  TH_PREFETCH(&map->buckets[tag & map->mask]);
}

TH_INLINE uint32_t th_block_matches(const th_block_bucket *bucket, uint32_t tag) {
  return th_match_eight((const uint32_t *)bucket, tag) & ((1u << TH_BUCKET_SLOTS) - 1);
}

/* What is probably the block of a tag, or TH_NO_BLOCK: good enough for loading it early. */
TH_INLINE uint32_t th_block_guess(const th_block_map *map, uint32_t tag) {
  const th_block_bucket *bucket = &map->buckets[tag & map->mask];
  uint32_t matches = th_block_matches(bucket, tag);
  return matches ? bucket->blocks[th_low_bit(matches)] : TH_NO_BLOCK;
}

/* Where an entry of the table is. */
typedef struct th_block_place {
  th_block_bucket *bucket;
  unsigned slot;
} th_block_place;

TH_INLINE uint32_t th_block_in(th_block_place place) { return place.bucket->blocks[place.slot]; }

/* Makes sure that the next insert into the list cannot fail. False: no memory. */
TH_NODISCARD bool th_block_grow(th_block_map *map, th_block_list *list);
TH_INLINE TH_NODISCARD bool th_block_reserve(th_block_map *map, th_block_list *list) {
  return TH_LIKELY(list->spare && map->count < map->limit) || th_block_grow(map, list);
}
/* A new live block under a tag; all of it is for the caller to fill. */
TH_INLINE uint32_t th_block_insert(th_block_map *map, th_block_list *list, uint32_t tag) {
  uint32_t block = list->spare - 1;
  list->spare = th_block_at(map, block)->site;
  list->live++;
  map->count++;
  for (size_t at = tag & map->mask;; at = (at + 1) & map->mask) {
    th_block_bucket *bucket = &map->buckets[at];
    uint32_t room = th_block_matches(bucket, 0);
    if (TH_LIKELY(room != 0)) {
      unsigned slot = th_low_bit(room);
      bucket->tags[slot] = tag;
      bucket->blocks[slot] = block;
      return block;
    }
    bucket->spilled++;
  }
}
/* Takes the block of an entry out. */
TH_INLINE void th_block_remove(th_block_map *map, th_block_list *list, th_block_place place) {
  uint32_t index = th_block_in(place);
  th_block *block = th_block_at(map, index);
  block->owner = TH_NO_OWNER;
  block->site = list->spare;
  list->spare = index + 1;
  list->live--;
  map->count--;
  for (size_t at = place.bucket->tags[place.slot] & map->mask;
       TH_UNLIKELY(&map->buckets[at] != place.bucket); at = (at + 1) & map->mask)
    map->buckets[at].spilled--;
  place.bucket->tags[place.slot] = 0;
}
/* Gives the ranges of a list without live blocks to other heaps. */
void th_block_give_back(th_block_map *map, th_block_list *list);

#endif
