#include "etl/run.h"

bool th_run_start(th_run *run, int64_t latest, th_stream_counts *counts) {
  run->listed = false;
  run->list.count = run->list_at = 0;
  run->rest = run->buffer.bytes + TH_BUFFER_HEAD;
  run->end = run->buffer.bytes + run->buffer.end;
  run->next_at = NULL;
  run->next_time = latest;
  const uint8_t *first = run->rest;
  if (!th_walk_step(first, run->end, latest, &run->next_time, &run->next_meta, &run->rest)) {
    th_walk_end(first, run->end, run->cut, counts);
    return false;
  }
  run->next_at = first;
  counts->events_by_kind[th_event_meta_kind(run->next_meta)]++;
  return true;
}

void th_run_look_slow(th_run *run, th_stream_counts *counts) {
  if (run->listed) {
    run->next_at = NULL;
    if (run->list_at == run->list.count)
      return;
    const th_walked *event = &run->list.items[run->list_at++];
    run->next_at = run->buffer.bytes + event->at;
    run->next_time = event->time;
    run->next_meta = event->meta;
    return;
  }
  run->next_at = NULL;
  th_walk_end(run->rest, run->end, run->cut, counts);
}

/* The walk goes on from `rest`; the two events before it are counted already. */
bool th_run_list(th_run *run, th_stream_counts *counts, uint64_t *backwards) {
  const uint8_t *bytes = run->buffer.bytes;
  run->list.count = 0;
  th_walked head = {run->time, (uint32_t)(run->at - bytes), run->meta};
  if (!th_vec_push(&run->list, head))
    return false;
  int64_t latest = run->time;
  if (run->next_at) {
    latest = run->next_time;
    th_walked next = {run->next_time, (uint32_t)(run->next_at - bytes), run->next_meta};
    if (!th_vec_push(&run->list, next) ||
        !th_walk_all(bytes, run->rest, run->end, run->cut, &latest, &run->list, counts))
      return false;
  }
  *backwards = th_walked_sort(&run->list);
  run->listed = true;
  run->rest = run->end;
  run->latest = latest;
  run->list_at = 0;
  th_run_look_slow(run, counts);
  run->at = run->next_at;
  run->time = run->next_time;
  run->meta = run->next_meta;
  th_run_look_slow(run, counts);
  return true;
}

size_t th_run_held(const th_run *run) {
  return run->buffer.capacity + run->list.capacity * sizeof *run->list.items;
}

void th_run_free(th_run *run) {
  if (!run)
    return;
  th_buffer_free(&run->buffer);
  th_vec_free(&run->list);
  th_mem_free(run);
}
