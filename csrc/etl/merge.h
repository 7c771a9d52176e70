/* Many ordered runs to one: a tree of losers. The smallest key is always known; changing the key
   of the winner costs one comparison per level, none of them a branch. */
#ifndef TH_ETL_MERGE_H
#define TH_ETL_MERGE_H

#include "base/mem.h"

typedef struct th_merge_key {
  int64_t time;
  uint64_t tag; /* rank << 32 | leaf: equal times go by rank */
} th_merge_key;

typedef struct th_merge {
  th_merge_key *nodes;  /* [1, width): who lost there */
  th_merge_key *leaves; /* [0, width): what each leaf holds; only to build the tree anew */
  uint32_t width;       /* a power of two */
  th_merge_key winner;
} th_merge;

/* A leaf with nothing to offer loses to every other. */
#define TH_MERGE_EMPTY ((th_merge_key){INT64_MAX, UINT64_MAX})

TH_INLINE th_merge_key th_merge_key_of(int64_t time, uint32_t rank, uint32_t leaf) {
  return (th_merge_key){time, (uint64_t)rank << 32 | leaf};
}
TH_INLINE uint32_t th_merge_leaf(th_merge_key key) { return (uint32_t)key.tag; }
TH_INLINE bool th_merge_is_empty(th_merge_key key) { return key.tag == UINT64_MAX; }

/* The winner's leaf has `key` now. */
TH_INLINE void th_merge_replace(th_merge *merge, uint32_t leaf, th_merge_key key) {
  for (uint32_t at = (merge->width + leaf) / 2; at; at /= 2) {
    th_merge_key other = merge->nodes[at];
    bool loses = (other.time < key.time) | ((other.time == key.time) & (other.tag < key.tag));
    merge->nodes[at].time = loses ? key.time : other.time;
    merge->nodes[at].tag = loses ? key.tag : other.tag;
    key.time = loses ? other.time : key.time;
    key.tag = loses ? other.tag : key.tag;
  }
  merge->winner = key;
}

/* Room for `leaves` leaves at least, the new ones empty; false when there is no memory. The tree
   must be built afterwards. */
TH_NODISCARD bool th_merge_grow(th_merge *merge, uint32_t leaves);
/* Builds the tree from `leaves`. */
void th_merge_build(th_merge *merge);
void th_merge_free(th_merge *merge);

#endif
