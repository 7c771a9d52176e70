#include "etl/walk.h"

static bool all_zero(const uint8_t *at, const uint8_t *end) {
  while (at != end)
    if (*at++)
      return false;
  return true;
}

/* The order of the questions decides what it counts as. */
void th_walk_end(const uint8_t *buffer, size_t from, size_t to, bool cut,
                 th_stream_counts *counts) {
  if (from >= to)
    return;
  const uint8_t *at = buffer + from, *end = buffer + to;
  size_t left = to - from;
  if (left < 4 || th_load_u32(at) == TH_END_MARK || all_zero(at, end))
    return;
  counts->bytes_skipped += left;
  if (left < 8) {
    counts->bad_events += !cut;
    return;
  }
  bool message = at[3] == TH_MARK_MESSAGE;
  if (!message && at[3] != TH_MARK_TRACE) {
    counts->bad_events++;
    return;
  }
  unsigned kind = message ? TH_HEADER_MESSAGE : at[2];
  const th_kind_layout *layout = &th_kind_layouts[kind];
  if (!layout->head || (kind == TH_HEADER_MESSAGE && !message)) {
    counts->unknown_headers++;
    return;
  }
  uint32_t size = (uint32_t)(th_load_u64(at) >> layout->size_shift) & 0xffff;
  counts->bad_events += size < layout->head || !cut;
}

bool th_walk_all(const uint8_t *buffer, size_t at, size_t end, bool cut, int64_t *latest,
                 th_walked_list *events, th_stream_counts *counts) {
  size_t before = events->count, next;
  int64_t time = *latest;
  th_event_meta meta;
  while (th_walk_step(buffer, at, end, time, &time, &meta, &next)) {
    th_walked event = {time, (uint32_t)at, meta};
    if (!th_vec_push(events, event)) {
      events->count = before;
      return false;
    }
    at = next;
  }
  for (size_t i = before; i < events->count; i++)
    counts->events_by_kind[th_event_meta_kind(events->items[i].meta)]++;
  *latest = time;
  th_walk_end(buffer, at, end, cut, counts);
  return true;
}

static bool before(const th_walked *a, const th_walked *b) {
  return a->time != b->time ? a->time < b->time : a->at < b->at;
}

static void sift(th_walked *events, size_t root, size_t count) {
  th_walked moving = events[root];
  size_t child;
  while ((child = 2 * root + 1) < count) {
    if (child + 1 < count && before(&events[child], &events[child + 1]))
      child++;
    if (!before(&moving, &events[child]))
      break;
    events[root] = events[child];
    root = child;
  }
  events[root] = moving;
}

uint64_t th_walked_sort(th_walked_list *list) {
  th_walked *events = list->items;
  size_t count = list->count;
  uint64_t backwards = 0;
  for (size_t i = 1; i < count; i++)
    backwards += events[i].time < events[i - 1].time;
  if (!backwards)
    return 0;
  for (size_t root = count / 2; root-- > 0;)
    sift(events, root, count);
  for (size_t last = count; last-- > 1;) {
    th_walked latest = events[0];
    events[0] = events[last];
    events[last] = latest;
    sift(events, 0, last);
  }
  return backwards;
}
