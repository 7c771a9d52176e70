#include "etl/index_order.h"

#include "base/hash.h"

static bool before(const th_index_entry *a, const th_index_entry *b) {
  return a->sequence != b->sequence ? a->sequence < b->sequence : a->offset < b->offset;
}

/* Moves the entry at `root` down to its place in the heap of `count` entries. */
static void sift(th_index_entry *entries, size_t root, size_t count) {
  th_index_entry moving = entries[root];
  size_t child;
  while ((child = 2 * root + 1) < count) {
    if (child + 1 < count && before(&entries[child], &entries[child + 1]))
      child++;
    if (!before(&moving, &entries[child]))
      break;
    entries[root] = entries[child];
    root = child;
  }
  entries[root] = moving;
}

/* A heap sort: in place, and n log n whatever a file holds. Most files need none. */
void th_index_sort(th_index *index) {
  th_index_entry *entries = index->entries.items;
  size_t count = index->entries.count, sorted = 1;
  while (sorted < count && before(&entries[sorted - 1], &entries[sorted]))
    sorted++;
  if (sorted >= count)
    return;
  for (size_t root = count / 2; root-- > 0;)
    sift(entries, root, count);
  for (size_t last = count - 1; last > 0; last--) {
    th_index_entry largest = entries[0];
    entries[0] = entries[last];
    entries[last] = largest;
    sift(entries, 0, last);
  }
}

uint64_t th_index_gaps(const th_index *index) {
  uint64_t gaps = 0;
  const th_index_entry *entries = index->entries.items;
  for (size_t i = 1; i < index->entries.count; i++)
    gaps += (uint64_t)entries[i].sequence - (uint64_t)entries[i - 1].sequence > 1;
  return gaps;
}

void th_index_drop_unreadable(th_index *index) {
  size_t kept = 0;
  for (size_t i = 0; i < index->entries.count; i++)
    if (index->entries.items[i].full)
      index->entries.items[kept++] = index->entries.items[i];
  index->entries.count = kept;
}

typedef struct lane_slot {
  uint32_t key;
  uint32_t last; /* entry + 1; 0: free */
} lane_slot;

static uint32_t key_of(const th_index_entry *entry) {
  return (uint32_t)entry->logger << 16 | entry->cpu;
}

static lane_slot *find(lane_slot *slots, size_t count, uint32_t key) {
  size_t at = (size_t)th_hash_u64(key) & (count - 1);
  while (slots[at].last && slots[at].key != key)
    at = (at + 1) & (count - 1);
  return &slots[at];
}

/* Twice as many slots, or the first ones. */
static bool grow(lane_slot **slots, size_t *count) {
  size_t wanted = *count ? *count * 2 : 64;
  lane_slot *grown = th_mem_zero_array(wanted, sizeof *grown);
  if (!grown)
    return false;
  for (size_t i = 0; i < *count; i++)
    if ((*slots)[i].last)
      *find(grown, wanted, (*slots)[i].key) = (*slots)[i];
  th_mem_free(*slots);
  *slots = grown;
  *count = wanted;
  return true;
}

bool th_index_chain(th_index *index) {
  lane_slot *slots = NULL;
  size_t count = 0;
  bool done = false;
  for (size_t i = 0; i < index->entries.count; i++) {
    th_index_entry *entry = &index->entries.items[i];
    if (index->lanes.count * 2 >= count && !grow(&slots, &count))
      goto done;
    lane_slot *slot = find(slots, count, key_of(entry));
    if (slot->last) {
      index->entries.items[slot->last - 1].next = (uint32_t)i;
    } else {
      th_lane_start lane = {(uint32_t)i, entry->cpu, entry->logger};
      if (!th_vec_push(&index->lanes, lane))
        goto done;
    }
    *slot = (lane_slot){key_of(entry), (uint32_t)i + 1};
  }
  done = true;
done:
  th_mem_free(slots);
  return done;
}
