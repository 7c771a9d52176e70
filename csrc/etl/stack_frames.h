/* Distinct lists of frames, numbered and kept once each. */
#ifndef TH_ETL_STACK_FRAMES_H
#define TH_ETL_STACK_FRAMES_H

#include "base/vec.h"

#include <string.h>

typedef struct th_frame_list {
  uint64_t offset; /* of the first frame in the pool */
  uint32_t count;
} th_frame_list;

/* TH_MAX_FRAMES fits. */
#define TH_FRAME_COUNT_BITS 16

typedef struct th_frame_slot {
  uint32_t tag;    /* upper half of the hash */
  uint32_t number; /* + 1; 0: free */
  uint64_t place;  /* offset and count of the frames in one, to look in one place less */
} th_frame_slot;

typedef struct th_stack_frames {
  TH_VEC(th_frame_list) lists; /* by number */
  TH_VEC(uint64_t) pool;
  th_frame_slot *slots; /* open addressing; a power of two of them */
  size_t slot_count;
} th_stack_frames;

/* Events are shorter than 64 KiB, so no event holds more frames than this. */
#define TH_MAX_FRAMES 16384
#define TH_NO_FRAMES UINT32_MAX

/* The number of a list of `count` frames, each of `frame_size` bytes at `frames`, not aligned. Zero
   frames are dropped: the system leaves them inside stacks. *number is TH_NO_FRAMES when nothing
   is left. `hash`: what th_stack_frames_hash says of them, NULL when nobody asked. False: no
   memory. */
TH_NODISCARD bool th_stack_frames_put(th_stack_frames *frames, const uint8_t *bytes, size_t count,
                                      unsigned frame_size, const uint64_t *hash,
                                      uint32_t *number);
/* The same when they are there already, as they stand: 8-byte frames, none of them zero. */
TH_INLINE bool th_stack_frames_find(const th_stack_frames *frames, const uint8_t *bytes,
                                    size_t count, uint64_t hash, uint32_t *number) {
  if (TH_UNLIKELY(!frames->slot_count))
    return false;
  size_t mask = frames->slot_count - 1, at = (size_t)hash & mask;
  uint32_t tag = (uint32_t)(hash >> 32);
  for (; frames->slots[at].number; at = (at + 1) & mask) {
    const th_frame_slot *slot = &frames->slots[at];
    if (TH_LIKELY(slot->tag == tag) &&
        TH_LIKELY((slot->place & ((1u << TH_FRAME_COUNT_BITS) - 1)) == count) &&
        TH_LIKELY(memcmp(frames->pool.items + (slot->place >> TH_FRAME_COUNT_BITS), bytes,
                         count * sizeof(uint64_t)) == 0)) {
      *number = slot->number - 1;
      return true;
    }
  }
  return false;
}
/* Of 8-byte frames. */
uint64_t th_stack_frames_hash(const uint8_t *bytes, size_t count);
/* Asks the memory for where frames of this hash would be found, then for those frames: well before
   they are put, in this order. */
TH_INLINE void th_stack_frames_expect(const th_stack_frames *frames, uint64_t hash) {
  if (frames->slot_count)
    TH_PREFETCH(&frames->slots[(size_t)hash & (frames->slot_count - 1)]);
}
TH_INLINE void th_stack_frames_expect_soon(const th_stack_frames *frames, uint64_t hash) {
  if (!frames->slot_count)
    return;
  const th_frame_slot *slot = &frames->slots[(size_t)hash & (frames->slot_count - 1)];
  const uint64_t *first = frames->pool.items + (slot->place >> TH_FRAME_COUNT_BITS);
  size_t count = slot->place & ((1u << TH_FRAME_COUNT_BITS) - 1);
  for (size_t i = 0; i < count && i < 64; i += 8)
    TH_PREFETCH(first + i);
}
/* The frames of a number; valid until the next put. */
TH_INLINE const uint64_t *th_stack_frames_get(const th_stack_frames *frames, uint32_t number,
                                              size_t *count) {
  *count = frames->lists.items[number].count;
  return frames->pool.items + frames->lists.items[number].offset;
}
/* Copies the frames that are not zero, widened; returns how many. `to` has room for `count`. */
size_t th_stack_frames_clean(uint64_t *to, const uint8_t *bytes, size_t count,
                             unsigned frame_size);
void th_stack_frames_free(th_stack_frames *frames);

#endif
