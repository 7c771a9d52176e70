/* Which blocks the figures are about. The ledger itself always runs over all of them. */
#ifndef TH_HEAP_FILTER_H
#define TH_HEAP_FILTER_H

#include "base/compiler.h"

/* Each list accepts what is in it; an empty one accepts everything. Borrowed by the ledger. */
typedef struct th_block_filter {
  const uint32_t *pids;
  size_t pid_count;
  const uint32_t *tids; /* of the allocating thread */
  size_t tid_count;
  const uint64_t *heaps; /* handles */
  size_t heap_count;
  int64_t since_ns, until_ns; /* born in [since, until) */
  /* These two need the end of the block: see decision.h. */
  uint64_t min_size; /* at its last size */
  uint64_t min_lifetime_ns, max_lifetime_ns; /* lives in [min, max) */
  /* Answers of an earlier pass over the same events; NULL: none. A bit per block by serial number,
     and per site; what lies beyond the count is refused. */
  const uint8_t *blocks;
  uint64_t block_count;
  const uint8_t *sites;
  uint32_t site_count;
} th_block_filter;

/* Accepts everything. */
#define TH_BLOCK_FILTER_ALL                                                                        \
  {                                                                                                \
    .since_ns = INT64_MIN, .until_ns = INT64_MAX, .max_lifetime_ns = UINT64_MAX                    \
  }

TH_INLINE bool th_filter_bit(const uint8_t *bits, uint64_t count, uint64_t index) {
  return index < count && (bits[index >> 3] >> (index & 7) & 1);
}

/* What can be said when the block is born. */
bool th_filter_birth(const th_block_filter *filter, uint32_t pid, uint32_t tid, uint64_t heap,
                     int64_t birth_ns, uint32_t site, uint64_t serial);
/* What can be said when it has ended. */
TH_INLINE bool th_filter_end(const th_block_filter *filter, uint64_t size, uint64_t lifetime_ns) {
  return size >= filter->min_size && lifetime_ns >= filter->min_lifetime_ns &&
         (lifetime_ns < filter->max_lifetime_ns || filter->max_lifetime_ns == UINT64_MAX);
}
/* Whether the end has a say. */
TH_INLINE bool th_filter_needs_end(const th_block_filter *filter) {
  return filter->min_size > 0 || filter->min_lifetime_ns > 0 ||
         filter->max_lifetime_ns != UINT64_MAX;
}
/* Whether the pid and the handle pass: for what belongs to a heap and not to a block. */
bool th_filter_heap(const th_block_filter *filter, uint32_t pid, uint64_t heap);

#endif
