#include "etl/stack_frames.h"

#include "base/cursor.h"
#include "base/hash.h"

#define FIRST_SLOTS 1024

/* Four chains side by side: one multiplication does not wait for the one before it. */
uint64_t th_stack_frames_hash(const uint8_t *at, size_t count) {
  uint64_t a = TH_HASH_A ^ count, b = TH_HASH_B, c = TH_HASH_A + 1, d = TH_HASH_B + 1;
  for (; count >= 8; count -= 8, at += 64) {
    a = th_hash_fold(a ^ th_load_u64(at), TH_HASH_B ^ th_load_u64(at + 8));
    b = th_hash_fold(b ^ th_load_u64(at + 16), TH_HASH_A ^ th_load_u64(at + 24));
    c = th_hash_fold(c ^ th_load_u64(at + 32), TH_HASH_B ^ th_load_u64(at + 40));
    d = th_hash_fold(d ^ th_load_u64(at + 48), TH_HASH_A ^ th_load_u64(at + 56));
  }
  for (; count >= 2; count -= 2, at += 16)
    a = th_hash_fold(a ^ th_load_u64(at), TH_HASH_B ^ th_load_u64(at + 8)) + 1;
  if (count)
    b = th_hash_fold(b ^ th_load_u64(at), TH_HASH_A) + 1;
  return th_hash_fold(a ^ (c << 32 | c >> 32), TH_HASH_B ^ b) ^
         th_hash_fold(d ^ TH_HASH_B, TH_HASH_A);
}

static bool has_zero(const uint8_t *at, size_t count) {
  unsigned zeros = 0;
  for (size_t i = 0; i < count; i++)
    zeros += th_load_u64(at + 8 * i) == 0;
  return zeros != 0;
}

static bool grow_slots(th_stack_frames *frames) {
  size_t count = frames->slot_count ? frames->slot_count * 2 : FIRST_SLOTS, mask = count - 1;
  th_frame_slot *slots = th_mem_zero_array(count, sizeof *slots);
  if (!slots)
    return false;
  for (size_t i = 0; i < frames->slot_count; i++) {
    th_frame_slot old = frames->slots[i];
    if (!old.number)
      continue;
    const th_frame_list *list = &frames->lists.items[old.number - 1];
    const uint64_t *first = frames->pool.items + list->offset;
    size_t slot = (size_t)th_stack_frames_hash((const uint8_t *)first, list->count) & mask;
    while (slots[slot].number)
      slot = (slot + 1) & mask;
    slots[slot] = old;
  }
  th_mem_free(frames->slots);
  frames->slots = slots;
  frames->slot_count = count;
  return true;
}

static TH_NOINLINE bool add(th_stack_frames *frames, const uint8_t *bytes, size_t count,
                            th_frame_slot *slot, uint32_t tag, uint32_t *number) {
  if (frames->lists.count >= UINT32_MAX / 2)
    return false;
  size_t at = frames->pool.count;
  if (!th_vec_reserve(&frames->lists, frames->lists.count + 1) ||
      !th_vec_reserve(&frames->pool, at + count))
    return false;
  memcpy(frames->pool.items + at, bytes, count * sizeof(uint64_t));
  frames->pool.count += count;
  *number = (uint32_t)frames->lists.count;
  frames->lists.items[frames->lists.count++] =
      (th_frame_list){.offset = at, .count = (uint32_t)count};
  *slot = (th_frame_slot){tag, *number + 1, (uint64_t)at << TH_FRAME_COUNT_BITS | count};
  return true;
}

/* The same, where they were looked for and not found. */
static bool put_new(th_stack_frames *frames, const uint8_t *bytes, size_t count, uint64_t hash,
                    uint32_t *number) {
  if (frames->lists.count * 2 >= frames->slot_count && !grow_slots(frames))
    return false;
  size_t mask = frames->slot_count - 1, slot = (size_t)hash & mask;
  while (frames->slots[slot].number)
    slot = (slot + 1) & mask;
  return add(frames, bytes, count, &frames->slots[slot], (uint32_t)(hash >> 32), number);
}

size_t th_stack_frames_clean(uint64_t *to, const uint8_t *bytes, size_t count,
                             unsigned frame_size) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    uint64_t frame = th_load_ptr(bytes + i * frame_size, frame_size);
    if (frame)
      to[kept++] = frame;
  }
  return kept;
}

static TH_NOINLINE bool put_unclean(th_stack_frames *frames, const uint8_t *bytes, size_t count,
                                    unsigned frame_size, uint32_t *number) {
  uint64_t *kept = th_mem_array(count + 1, sizeof *kept);
  if (!kept)
    return false;
  size_t kept_count = th_stack_frames_clean(kept, bytes, count, frame_size);
  bool done = true;
  const uint8_t *clean = (const uint8_t *)kept;
  uint64_t hash = th_stack_frames_hash(clean, kept_count);
  *number = TH_NO_FRAMES;
  if (kept_count && !th_stack_frames_find(frames, clean, kept_count, hash, number))
    done = put_new(frames, clean, kept_count, hash, number);
  th_mem_free(kept);
  return done;
}

bool th_stack_frames_put(th_stack_frames *frames, const uint8_t *bytes, size_t count,
                         unsigned frame_size, const uint64_t *hash, uint32_t *number) {
  if (count > TH_MAX_FRAMES)
    count = TH_MAX_FRAMES;
  if (TH_LIKELY(frame_size == 8 && count)) {
    uint64_t known = hash ? *hash : th_stack_frames_hash(bytes, count);
    if (th_stack_frames_find(frames, bytes, count, known, number))
      return true;
    if (!has_zero(bytes, count))
      return put_new(frames, bytes, count, known, number);
  }
  return put_unclean(frames, bytes, count, frame_size, number);
}

void th_stack_frames_free(th_stack_frames *frames) {
  th_vec_free(&frames->lists);
  th_vec_free(&frames->pool);
  th_mem_free(frames->slots);
  frames->slots = NULL;
  frames->slot_count = 0;
}
