/* Many ordered runs to one: a tree of losers over numbers that hold all that counts - the time since
   a base, and below it the run's place, which decides between equal times. So a step of the merge is
   a minimum and a maximum per level, and no branch. */
#ifndef TH_ETL_MERGE_H
#define TH_ETL_MERGE_H

#include "base/mem.h"

/* A number that loses to every other. */
#define TH_MERGE_EMPTY UINT64_MAX

typedef struct th_merge {
  uint64_t *nodes; /* [1, width): who lost there; [width, 2 * width): the leaves when it was built */
  uint32_t width;  /* a power of two */
  uint32_t bits;   /* of a key, for the leaf */
  int64_t base;
  uint64_t far;    /* times that are this far from the base, or farther, are not told apart */
  uint64_t winner;
} th_merge;

TH_INLINE uint64_t th_merge_key(const th_merge *merge, int64_t time, uint32_t leaf) {
  uint64_t since = (uint64_t)time - (uint64_t)merge->base;
  if (TH_UNLIKELY(since > merge->far))
    since = merge->far;
  return since << merge->bits | leaf;
}
TH_INLINE uint32_t th_merge_leaf(const th_merge *merge, uint64_t key) {
  return (uint32_t)key & (merge->width - 1);
}
/* The winner's time is known. If not, it is empty, or the tree has to be built on a later base. */
TH_INLINE bool th_merge_is_near(const th_merge *merge, uint64_t key) {
  return key < merge->far << merge->bits;
}

/* The winner's leaf has `key` now. */
TH_INLINE void th_merge_replace(th_merge *merge, uint32_t leaf, uint64_t key) {
  uint64_t *nodes = merge->nodes;
  for (uint32_t at = (merge->width + leaf) / 2; at; at /= 2) {
    uint64_t other = nodes[at];
    nodes[at] = other < key ? key : other;
    key = other < key ? other : key;
  }
  merge->winner = key;
}

/* Room for `leaves` leaves at least; false when there is no memory. Then the tree must be built. */
TH_NODISCARD bool th_merge_grow(th_merge *merge, uint32_t leaves);
/* Where the key of each leaf goes before the tree is built. */
TH_INLINE uint64_t *th_merge_leaves(th_merge *merge) { return merge->nodes + merge->width; }
void th_merge_build(th_merge *merge);
void th_merge_free(th_merge *merge);

#endif
