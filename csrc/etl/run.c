#include "etl/run.h"

/* How far ahead memory is asked for bytes. */
#define AHEAD 1024

bool th_run_start(th_run *run, int64_t latest) {
  run->events.count = run->at = 0;
  run->rest = TH_BUFFER_HEAD;
  run->end = run->buffer.end;
  run->latest = latest;
  run->begun = run->done = run->backward = run->sorted = run->careful = false;
  return th_vec_reserve(&run->events, TH_RUN_STRETCH);
}

/* What waits goes to the front. */
static void close_up(th_run *run) {
  size_t waiting = th_run_waiting(run);
  if (!run->at)
    return;
  run->before = run->events.items[run->at - 1].time;
  run->begun = true;
  if (waiting)
    memmove(run->events.items, run->events.items + run->at, waiting * sizeof *run->events.items);
  run->events.count = waiting;
  run->at = 0;
}

/* Stretches of many buffers in turn leave the processor's own prefetching behind. */
TH_INLINE void ask_ahead(const uint8_t *bytes, int64_t at) {
  TH_PREFETCH((const uint8_t *)((uintptr_t)bytes + (uintptr_t)at + AHEAD));
}

/* Walks over plain events as long as the times go up; returns the count of events. */
static size_t walk_plain(th_run *run, size_t count, size_t stretch, th_stream_counts *counts) {
  const uint8_t *bytes = run->buffer.bytes;
  int64_t latest = run->latest, at = (int64_t)run->rest, end = (int64_t)run->end;
  th_walked *events = run->events.items;
  size_t first = count, stacks = 0;
  while (count < stretch && at <= end - TH_PLAIN_ALLOC_SIZE) {
    uint64_t start = th_load_u64(bytes + at);
    uint32_t alloc = th_plain_is_alloc(start);
    if (TH_LIKELY(th_is_plain(start, alloc))) {
      int64_t time = (int64_t)th_load_u64(bytes + at + TH_SYSTEM_TIME);
      if (TH_UNLIKELY(time < latest))
        break;
      events[count++] = (th_walked){time, (uint32_t)at, th_event_meta_of_plain(alloc)};
      latest = time;
      at += th_plain_step(alloc);
      ask_ahead(bytes, at);
      continue;
    }
    uint32_t size = (uint32_t)(start >> 32) & 0xffff;
    int64_t time = (int64_t)th_load_u64(bytes + at + TH_PERFINFO_TIME);
    if (!th_is_plain_stack(start) || size <= TH_PLAIN_STACK_FRAMES || (int64_t)size > end - at ||
        time < latest)
      break;
    events[count++] = (th_walked){time, (uint32_t)at, th_event_meta_of_stack(size)};
    latest = time;
    for (uint32_t line = 0; line < size; line += 64)
      ask_ahead(bytes, at + line);
    at += (size + (TH_EVENT_ALIGN - 1)) & ~(uint32_t)(TH_EVENT_ALIGN - 1);
    stacks++;
  }
  counts->events_by_kind[TH_HEADER_SYSTEM64] += count - first - stacks;
  counts->events_by_kind[TH_HEADER_PERFINFO64] += stacks;
  run->latest = latest;
  run->rest = (size_t)at;
  return count;
}

void th_run_walk(th_run *run, size_t stretch, th_stream_counts *counts) {
  close_up(run);
  const uint8_t *bytes = run->buffer.bytes;
  size_t end = run->end, count = run->events.count, next;
  th_event_meta meta;
  while ((count = walk_plain(run, count, stretch, counts)) < stretch) {
    int64_t time;
    if (TH_UNLIKELY(!th_walk_step(bytes, run->rest, end, run->latest, &time, &meta, &next))) {
      th_walk_end(bytes, run->rest, end, run->cut, counts);
      run->done = true;
      break;
    }
    run->events.items[count++] = (th_walked){time, (uint32_t)run->rest, meta};
    counts->events_by_kind[th_event_meta_kind(meta)]++;
    run->rest = next;
    ask_ahead(bytes, (int64_t)next);
    bool backward = time < run->latest && (count > 1 || run->begun);
    run->latest = time;
    if (TH_UNLIKELY(backward)) {
      run->backward = true;
      break;
    }
  }
  run->events.count = count;
}

void th_run_pass(th_run *run, size_t rest, int64_t time, size_t count, th_stream_counts *counts) {
  size_t waiting = th_run_waiting(run), walked = count < waiting ? count : waiting;
  for (size_t i = 0; i < walked; i++)
    counts->events_by_kind[th_event_meta_kind(run->events.items[run->at + i].meta)]--;
  run->at += walked;
  if (count < waiting)
    return;
  run->events.count = run->at = 0;
  run->before = time;
  run->begun = true;
  if (count > waiting) {
    run->rest = rest;
    run->latest = time;
  }
}

bool th_run_sort(th_run *run, th_stream_counts *counts, uint64_t *backwards) {
  close_up(run);
  if (!run->done && !th_walk_all(run->buffer.bytes, run->rest, run->end, run->cut, &run->latest,
                                 &run->events, counts))
    return false;
  *backwards = run->begun && run->events.count && run->events.items[0].time < run->before;
  *backwards += th_walked_sort(&run->events);
  run->done = run->sorted = true;
  run->backward = false;
  return true;
}

size_t th_run_held(const th_run *run) {
  return run->buffer.capacity + run->events.capacity * sizeof *run->events.items;
}

void th_run_free(th_run *run) {
  if (!run)
    return;
  th_buffer_free(&run->buffer);
  th_vec_free(&run->events);
  th_mem_free(run);
}
