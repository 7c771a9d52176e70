#include "etl/heap_fill.h"

#include "etl/plain_event.h"

#define HEAD TH_PLAIN_HEAD
/* How many rows before a stack its event is looked for. */
#define CLOSE 16

/* Writes a row but for its processor; `raw` is a time that can be multiplied. False: the ids are
   none. */
TH_INLINE bool put_row(const th_heap_chunk *chunk, size_t row, const uint8_t *at, size_t alloc,
                       const th_row_clock *times, int64_t raw) {
  uint64_t ids = th_load_u64(at + TH_SYSTEM_TID);
  uint32_t tid = (uint32_t)ids, pid = (uint32_t)(ids >> 32);
  if (TH_UNLIKELY(tid == TH_NO_ID || pid == TH_NO_ID))
    return false;
  const uint8_t *rest = at + 8 * alloc;
  chunk->time[row] = th_row_time_within(times, raw);
  chunk->tid[row] = tid;
  chunk->pid[row] = pid;
  chunk->heap[row] = th_load_u64(at + HEAD);
  chunk->size[row] = th_load_u64(at + HEAD + 8) & (0 - (uint64_t)alloc);
  chunk->address[row] = th_load_u64(rest + HEAD + 8);
  chunk->source[row] = th_load_u32(rest + HEAD + 16);
  chunk->kind[row] = (uint8_t)(TH_HEAP_FREE - (TH_HEAP_FREE - TH_HEAP_ALLOC) * alloc);
  return true;
}

/* Rows go on from this raw time, or a later one. */
TH_INLINE int64_t earliest(const th_heap_chunk *chunk, const th_row_clock *times) {
  return chunk->last_raw > times->low ? chunk->last_raw : times->low;
}

/* Notes what was taken: rows from `chunk->count` on to `end`. */
static th_heap_filled note_rows(th_stack_join *join, th_heap_chunk *chunk, size_t end,
                                size_t allocs, size_t stacks, int64_t last_raw) {
  size_t first = chunk->count, rows = end - first;
  join->seen += stacks;
  join->joined += stacks;
  chunk->stacked |= stacks != 0;
  if (rows) {
    if (chunk->time[first] < chunk->min_time)
      chunk->min_time = chunk->time[first];
    chunk->max_time = chunk->time[end - 1];
    chunk->last_raw = last_raw;
    chunk->kinds |= (unsigned)(allocs != 0) << TH_HEAP_ALLOC |
                    (unsigned)(allocs != rows) << TH_HEAP_FREE;
    chunk->count = end;
  }
  return (th_heap_filled){rows, allocs, stacks};
}

/* --- stacks ---------------------------------------------------------------------------------- */

/* Stacks whose rows are known and whose numbers are not yet: memory is asked for where they lead
   first, and looked at some stacks later. */
#define LATER 8

typedef struct later_stack {
  const uint8_t *frames;
  uint64_t hash;
  size_t row, count;
} later_stack;

typedef struct later_stacks {
  later_stack items[LATER]; /* a ring */
  size_t first, end;        /* counted on and on */
} later_stacks;

/* Gives the oldest its number. */
static bool settle_one(th_stack_join *join, th_heap_chunk *chunk, later_stacks *later) {
  const later_stack *stack = &later->items[later->first++ % LATER];
  th_stack_frames *frames = &join->stacks->frames;
  th_stack_ref *ref = &chunk->stack[stack->row];
  uint32_t list;
  if (TH_UNLIKELY(!th_stack_frames_find(frames, stack->frames, stack->count, stack->hash, &list)) &&
      !th_stack_frames_put(frames, stack->frames, stack->count, 8, &stack->hash, &list))
    return false;
  if (TH_UNLIKELY(*ref != TH_NO_STACK_REF))
    return th_stack_table_append_part(join->stacks, ref, list);
  *ref = list;
  return true;
}

static bool settle_all(th_stack_join *join, th_heap_chunk *chunk, later_stacks *later) {
  while (later->first != later->end)
    if (!settle_one(join, chunk, later))
      return false;
  return true;
}

/* The last of the rows before `end` that the stack at `at`, logged at `now`, belongs to; `end` when
   it is not that simple: the row is not close, or the stack is a part. */
TH_INLINE size_t find_row(const th_stack_join *join, const th_heap_chunk *chunk, size_t end,
                          const uint8_t *at, size_t count, int64_t now) {
  const th_row_clock *times = &join->queue->times;
  int64_t raw = (int64_t)th_load_u64(at + TH_PLAIN_STACK_EVENT);
  int64_t time = th_row_time_within(times, raw);
  uint64_t ids = th_load_u64(at + TH_PLAIN_STACK_IDS);
  size_t row = end, first = end < CLOSE ? 0 : end - CLOSE;
  /* One that ends in the kernel, or in nothing, is a part. */
  if (TH_UNLIKELY(join->waits.count || !count || !chunk->sorted || raw < times->low ||
                  raw >= times->high ||
                  (int64_t)th_load_u64(at + TH_PLAIN_STACK_FRAMES + 8 * count - 8) <= 0))
    return end;
  do
    if (row-- == first || chunk->time[row] < time)
      return end;
  while (chunk->time[row] != time || chunk->pid[row] != (uint32_t)ids ||
         chunk->tid[row] != (uint32_t)(ids >> 32));
  return (uint64_t)now - (uint64_t)raw > (uint64_t)join->limit ? end : row;
}

/* Takes a stack of `size` bytes at `at`. *taken is false when it is for the slower way. */
TH_INLINE bool take_stack(th_stack_join *join, th_heap_chunk *chunk, later_stacks *later,
                          size_t end, const uint8_t *at, size_t size, int64_t now, bool *taken) {
  size_t count = (size - TH_PLAIN_STACK_FRAMES) / 8;
  size_t row = find_row(join, chunk, end, at, count, now);
  *taken = row != end;
  if (TH_UNLIKELY(row == end))
    return true;
  if (TH_LIKELY(later->end - later->first == LATER) && !settle_one(join, chunk, later))
    return false;
  const uint8_t *bytes = at + TH_PLAIN_STACK_FRAMES;
  const th_stack_frames *frames = &join->stacks->frames;
  uint64_t hash = th_stack_frames_hash(bytes, count);
  th_stack_frames_expect(frames, hash);
  later->items[later->end % LATER] = (later_stack){bytes, hash, row, count};
  if (TH_LIKELY(later->end - later->first >= LATER / 2))
    th_stack_frames_expect_soon(frames, later->items[(later->end - LATER / 2) % LATER].hash);
  later->end++;
  return true;
}

/* --- from outside ---------------------------------------------------------------------------- */

bool th_heap_fill(th_stack_join *join, th_heap_refs *refs, size_t count, th_heap_filled *filled) {
  th_heap_chunk *chunk = join->queue->open;
  size_t row = chunk->count, limit = chunk->limit, allocs = 0, stacks = 0;
  const th_event_ref *ref = refs->refs + refs->at;
  const th_event_ref *end = count < refs->count - refs->at ? ref + count : refs->refs + refs->count;
  const th_row_clock times = join->queue->times;
  int64_t time = earliest(chunk, &times);
  later_stacks later = {.first = 0};
  bool done = true, taken;
  for (; ref < end && row < limit && ref->time >= time; ref++) {
    size_t alloc = ref->plain & 1;
    if (TH_LIKELY(ref->plain & TH_IS_PLAIN_FREE)) {
      if (!put_row(chunk, row, ref->at, alloc, &times, ref->time))
        break;
      chunk->cpu[row++] = refs->cpus[ref->leaf];
      time = ref->time;
      allocs += alloc;
      continue;
    }
    if (ref->plain != TH_IS_PLAIN_STACK)
      break;
    done = take_stack(join, chunk, &later, row, ref->at, ref->size, ref->time, &taken);
    if (!done || !taken)
      break;
    stacks++;
  }
  done = done && settle_all(join, chunk, &later);
  refs->at = (size_t)(ref - refs->refs);
  *filled = note_rows(join, chunk, row, allocs, stacks, time);
  return done;
}

/* As it was before: nothing of a span is taken. */
static void take_back(th_heap_chunk *chunk, const th_stack_ref *before, size_t close, size_t end) {
  memcpy(chunk->stack + chunk->count - close, before, close * sizeof *before);
  for (size_t row = chunk->count; row < end; row++)
    chunk->stack[row] = TH_NO_STACK_REF;
}

bool th_heap_fill_span(th_stack_join *join, th_stream_span *span, size_t count, int64_t limit,
                       th_heap_filled *filled) {
  th_heap_chunk *chunk = join->queue->open;
  size_t begin = chunk->count, row = begin, allocs = 0, stacks = 0;
  size_t room = chunk->limit - begin, last = begin + (room < count ? room : count);
  size_t close = begin < CLOSE ? begin : CLOSE;
  th_stack_ref before[CLOSE];
  const uint8_t *bytes = span->bytes;
  ptrdiff_t at = (ptrdiff_t)span->at, end = (ptrdiff_t)span->end;
  const th_row_clock times = join->queue->times;
  int64_t time = earliest(chunk, &times);
  time = span->latest > time ? span->latest : time;
  later_stacks later = {.first = 0};
  bool done = true, taken;
  memcpy(before, chunk->stack + begin - close, close * sizeof *before);
  while (row < last && at <= end - TH_PLAIN_ALLOC_SIZE) {
    uint64_t start;
    int64_t now;
    ptrdiff_t from = at;
    size_t first = row;
    for (;;) {
      start = th_load_u64(bytes + at);
      uint32_t alloc = th_plain_is_alloc(start);
      now = (int64_t)th_load_u64(bytes + at + TH_SYSTEM_TIME);
      if (!th_is_plain(start, alloc) || now < time || now >= limit ||
          !put_row(chunk, row, bytes + at, alloc, &times, now))
        break;
      time = now;
      at += th_plain_step(alloc);
      if (++row == last || at > end - TH_PLAIN_ALLOC_SIZE)
        break;
    }
    allocs += ((size_t)(at - from) - (row - first) * th_plain_step(0)) / 8;
    if (row == last || at > end - TH_PLAIN_ALLOC_SIZE)
      break;
    uint32_t size = (uint32_t)(start >> 32) & 0xffff;
    if (th_is_plain_stack(start))
      now = (int64_t)th_load_u64(bytes + at + TH_PERFINFO_TIME);
    else if (!th_is_plain(start, th_plain_is_alloc(start)))
      break;
    if (TH_UNLIKELY(now < time)) {
      span->backward = at != (ptrdiff_t)span->at;
      break;
    }
    if (TH_UNLIKELY(!th_is_plain_stack(start) || now >= limit || size <= TH_PLAIN_STACK_FRAMES ||
                    (ptrdiff_t)size > end - at))
      break;
    done = take_stack(join, chunk, &later, row, bytes + at, size, now, &taken);
    if (!done || !taken)
      break;
    time = now;
    stacks++;
    last -= last - begin + stacks > count;
    at += (ptrdiff_t)((size + (TH_EVENT_ALIGN - 1)) & ~(uint32_t)(TH_EVENT_ALIGN - 1));
  }
  if (TH_UNLIKELY(span->backward)) {
    take_back(chunk, before, close, row);
    *filled = (th_heap_filled){0};
    return true;
  }
  done = done && settle_all(join, chunk, &later);
  for (size_t i = begin; i < row; i++)
    chunk->cpu[i] = span->cpu;
  span->at = (size_t)at;
  span->latest = time;
  *filled = note_rows(join, chunk, row, allocs, stacks, time);
  return done;
}
