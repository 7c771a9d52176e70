#include "etl/run.h"

bool th_run_start(th_run *run, int64_t latest) {
  run->events.count = run->at = 0;
  run->rest = TH_BUFFER_HEAD;
  run->end = run->buffer.end;
  run->latest = latest;
  run->begun = run->done = run->backward = false;
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

void th_run_walk(th_run *run, size_t stretch, th_stream_counts *counts) {
  close_up(run);
  const uint8_t *bytes = run->buffer.bytes;
  size_t at = run->rest, end = run->end, next;
  int64_t latest = run->latest, time;
  th_walked *events = run->events.items;
  size_t count = run->events.count;
  th_event_meta meta;
  while (count < stretch) {
    if (TH_UNLIKELY(!th_walk_step(bytes, at, end, latest, &time, &meta, &next))) {
      th_walk_end(bytes, at, end, run->cut, counts);
      run->done = true;
      break;
    }
    events[count++] = (th_walked){time, (uint32_t)at, meta};
    counts->events_by_kind[th_event_meta_kind(meta)]++;
    at = next;
    /* Stretches of many buffers in turn leave the processor's own prefetching behind. */
    TH_PREFETCH((const uint8_t *)((uintptr_t)bytes + at + 1024));
    if (TH_UNLIKELY(time < latest) && (count > 1 || run->begun)) {
      latest = time;
      run->backward = true;
      break;
    }
    latest = time;
  }
  run->events.count = count;
  run->latest = latest;
  run->rest = at;
}

bool th_run_sort(th_run *run, th_stream_counts *counts, uint64_t *backwards) {
  close_up(run);
  if (!run->done && !th_walk_all(run->buffer.bytes, run->rest, run->end, run->cut, &run->latest,
                                 &run->events, counts))
    return false;
  *backwards = run->begun && run->events.count && run->events.items[0].time < run->before;
  *backwards += th_walked_sort(&run->events);
  run->done = true;
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
