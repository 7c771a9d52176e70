#include "etl/merge.h"

bool th_merge_grow(th_merge *merge, uint32_t leaves) {
  uint32_t width = merge->width ? merge->width : 1;
  while (width < leaves) {
    if (width > UINT32_MAX / 4)
      return false;
    width *= 2;
  }
  if (width == merge->width)
    return true;
  th_merge_key *grown = th_mem_resize_array(merge->leaves, width, sizeof *grown);
  if (!grown)
    return false;
  merge->leaves = grown;
  grown = th_mem_resize_array(merge->nodes, width, sizeof *grown);
  if (!grown)
    return false;
  merge->nodes = grown;
  for (uint32_t leaf = merge->width; leaf < width; leaf++)
    merge->leaves[leaf] = TH_MERGE_EMPTY;
  merge->width = width;
  return true;
}

/* The winner below `at`; leaves what loses in the nodes. As deep as the tree, at most 32. */
static th_merge_key play(th_merge *merge, uint32_t at) {
  if (at >= merge->width)
    return merge->leaves[at - merge->width];
  th_merge_key a = play(merge, 2 * at), b = play(merge, 2 * at + 1);
  bool b_wins = b.time < a.time || (b.time == a.time && b.tag < a.tag);
  merge->nodes[at] = b_wins ? a : b;
  return b_wins ? b : a;
}

void th_merge_build(th_merge *merge) { merge->winner = play(merge, 1); }

void th_merge_free(th_merge *merge) {
  th_mem_free(merge->nodes);
  th_mem_free(merge->leaves);
  *merge = (th_merge){0};
}
