/* The events of one buffer, one after the other: where each begins, how long it is, when it was. */
#ifndef TH_ETL_WALK_H
#define TH_ETL_WALK_H

#include "base/vec.h"
#include "etl/header.h"
#include "etl/plain_event.h"
#include "etl/stream.h"

/* Size and kind of an event in one word, above them whether it is plain. */
typedef uint32_t th_event_meta;

TH_INLINE th_event_meta th_event_meta_of(uint32_t size, unsigned kind) {
  return size | kind << 16;
}
TH_INLINE th_event_meta th_event_meta_of_plain(uint32_t alloc) {
  return (TH_PLAIN_FREE_SIZE | TH_HEADER_SYSTEM64 << 16 | TH_IS_PLAIN_FREE << 24) +
         alloc * (8 | (TH_IS_PLAIN_ALLOC - TH_IS_PLAIN_FREE) << 24);
}
TH_INLINE th_event_meta th_event_meta_of_stack(uint32_t size) {
  return size | TH_HEADER_PERFINFO64 << 16 | TH_IS_PLAIN_STACK << 24;
}
TH_INLINE uint16_t th_event_meta_size(th_event_meta meta) { return (uint16_t)meta; }
TH_INLINE uint8_t th_event_meta_kind(th_event_meta meta) { return (uint8_t)(meta >> 16); }

/* The event at `at` bytes from the buffer's start, if one is there that lies whole before `end`,
   and where the next one begins, which may be some bytes behind the end. `latest` is the time that
   an event without a stamp takes. */
TH_INLINE bool th_walk_step(const uint8_t *buffer, size_t at, size_t end, int64_t latest,
                            int64_t *time, th_event_meta *meta, size_t *next) {
  int64_t left = (int64_t)end - (int64_t)at;
  if (TH_UNLIKELY(left < 8))
    return false;
  uint64_t first = th_load_u64(buffer + at);
  unsigned mark = (unsigned)(first >> 24) & 0xff, kind = (unsigned)(first >> 16) & 0xff;
  if (TH_UNLIKELY(mark != TH_MARK_TRACE)) {
    if (mark != TH_MARK_MESSAGE || (uint32_t)first == TH_END_MARK)
      return false;
    kind = TH_HEADER_MESSAGE;
  }
  const th_kind_layout *layout = &th_kind_layouts[kind];
  int64_t size = (int64_t)(first >> layout->size_shift & 0xffff);
  /* one test for both: not shorter than the header, not longer than what is left */
  if (TH_UNLIKELY(((size - layout->head) | (left - size)) < 0))
    return false;
  if (TH_LIKELY(layout->time)) {
    *time = (int64_t)th_load_u64(buffer + at + layout->time);
  } else {
    if (!layout->head || (kind == TH_HEADER_MESSAGE && mark == TH_MARK_TRACE))
      return false; /* no kind, or none that has a number on disk */
    *time = latest;
    if (kind == TH_HEADER_MESSAGE)
      (void)th_message_time(buffer + at, (size_t)size, time);
  }
  *meta = th_event_meta_of((uint32_t)size, kind);
  *next = at + (((size_t)size + (TH_EVENT_ALIGN - 1)) & ~(size_t)(TH_EVENT_ALIGN - 1));
  return true;
}

/* Counts what ends the walk at `at`: the end of the events, or damage. `cut`: the file ends within
   the buffer. */
void th_walk_end(const uint8_t *buffer, size_t at, size_t end, bool cut, th_stream_counts *counts);

/* An event that was passed over on the way. */
typedef struct th_walked {
  int64_t time;
  uint32_t at; /* from the buffer's start */
  th_event_meta meta;
} th_walked;

typedef TH_VEC(th_walked) th_walked_list;

/* Appends every event from `at` on to `events`, counts their kinds and what ends them; `*latest`
   goes on to the time of the last. False: no memory, nothing changed. */
TH_NODISCARD bool th_walk_all(const uint8_t *buffer, size_t at, size_t end, bool cut,
                              int64_t *latest, th_walked_list *events, th_stream_counts *counts);
/* Puts the events in order of (time, place). Returns how many were earlier than the one before. */
uint64_t th_walked_sort(th_walked_list *events);

#endif
