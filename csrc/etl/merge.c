#include "etl/merge.h"

bool th_merge_grow(th_merge *merge, uint32_t leaves) {
  uint32_t width = merge->width ? merge->width : 2, bits = 1;
  while (width < leaves) {
    if (width > UINT32_MAX / 8)
      return false;
    width *= 2;
  }
  if (width == merge->width)
    return true;
  uint64_t *grown = th_mem_resize_array(merge->nodes, 2 * (size_t)width, sizeof *grown);
  if (!grown)
    return false;
  while ((uint32_t)1 << bits < width)
    bits++;
  merge->nodes = grown;
  merge->width = width;
  merge->bits = bits;
  merge->far = (UINT64_MAX >> bits) - 1;
  return true;
}

/* Bottom up: the winner of a match goes up, for which its loser's place is used meanwhile. */
void th_merge_build(th_merge *merge) {
  uint64_t *nodes = merge->nodes;
  uint32_t width = merge->width;
  /* nodes[at] is the winner below `at` on the first way, its loser on the second. */
  for (uint32_t at = width - 1; at; at--)
    nodes[at] = nodes[2 * at] < nodes[2 * at + 1] ? nodes[2 * at] : nodes[2 * at + 1];
  merge->winner = nodes[1];
  for (uint32_t at = 1; at < width; at++)
    nodes[at] = nodes[2 * at] < nodes[2 * at + 1] ? nodes[2 * at + 1] : nodes[2 * at];
}

void th_merge_free(th_merge *merge) {
  th_mem_free(merge->nodes);
  *merge = (th_merge){0};
}
