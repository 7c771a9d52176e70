#include "etl/walk.h"

#include "etl/header.h"

static bool all_zero(const uint8_t *at, const uint8_t *end) {
  while (at != end)
    if (*at++)
      return false;
  return true;
}

/* What stands at `at` is no event that can be passed over: counts it, with the rest of the buffer.
   The order of the questions decides what it counts as. */
static void count_end(const uint8_t *at, const uint8_t *end, bool cut, th_stream_counts *counts) {
  size_t left = (size_t)(end - at);
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

bool th_walk_buffer(const th_walk *walk, int64_t *time, th_walked_list *events,
                    th_stream_counts *counts, uint64_t *backwards) {
  const uint8_t *bytes = walk->bytes, *at = bytes + TH_BUFFER_HEAD, *end = bytes + walk->end;
  int64_t latest = *time, floor = walk->first ? INT64_MIN : latest;
  uint64_t back = 0;
  size_t before = events->count;
  while (end - at >= 8) {
    uint64_t first = th_load_u64(at);
    unsigned mark = (unsigned)(first >> 24) & 0xff, kind = (unsigned)(first >> 16) & 0xff;
    if (TH_UNLIKELY(mark != TH_MARK_TRACE)) {
      if (mark != TH_MARK_MESSAGE || (uint32_t)first == TH_END_MARK)
        break;
      kind = TH_HEADER_MESSAGE;
    } else if (TH_UNLIKELY(kind == TH_HEADER_MESSAGE)) {
      break; /* no kind of its own on disk */
    }
    const th_kind_layout *layout = &th_kind_layouts[kind];
    uint32_t size = (uint32_t)(first >> layout->size_shift) & 0xffff;
    if (TH_UNLIKELY(!layout->head || size < layout->head || size > (size_t)(end - at)))
      break;
    th_walked event = {.at = (uint32_t)(at - bytes), .size = (uint16_t)size, .kind = (uint8_t)kind};
    int64_t now = latest;
    if (TH_LIKELY(layout->time)) {
      now = (int64_t)th_load_u64(at + layout->time);
      back += now < floor;
    } else if (kind == TH_HEADER_MESSAGE && th_message_time(at, size, &now)) {
      back += now < floor;
    }
    event.time = latest = floor = now;
    counts->events_by_kind[kind]++;
    if (TH_UNLIKELY(!th_vec_push(events, event)))
      return false;
    size_t step = (size + (TH_EVENT_ALIGN - 1)) & ~(size_t)(TH_EVENT_ALIGN - 1);
    at = step < (size_t)(end - at) ? at + step : end;
  }
  count_end(at, end, walk->cut, counts);
  counts->events += events->count - before;
  *time = latest;
  *backwards += back;
  return true;
}
