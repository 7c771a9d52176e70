#include "etl/slice.h"

#include <assert.h>
#include <string.h>

/* What one slice is made of. */
typedef struct bounds {
  int64_t first; /* the earliest event that waits */
  int64_t limit; /* all events before it are known */
  bool limited;  /* otherwise everything there is waits */
  size_t most;   /* events, at most */
} bounds;

/* What a run shows of itself: a stretch, however much of it is sorted already. */
static size_t shown(const th_run *run, size_t stretch) {
  size_t waiting = th_run_waiting(run);
  return run->at + (waiting < stretch ? waiting : stretch);
}

static bounds find_bounds(const th_lanes *lanes, size_t stretch) {
  bounds found = {INT64_MAX, INT64_MAX, false, 0};
  for (size_t leaf = 0; leaf < lanes->leaves.count; leaf++) {
    const th_run *run = lanes->leaves.items[leaf];
    size_t end = shown(run, stretch);
    int64_t first = run->events.items[run->at].time, last = run->events.items[end - 1].time;
    found.most += end - run->at;
    if (first < found.first)
      found.first = first;
    if (!run->done || end < run->events.count || th_lanes_has_more(lanes, run)) {
      found.limited = true;
      if (last < found.limit)
        found.limit = last;
    }
  }
  return found;
}

TH_INLINE void put(th_event_ref *ref, const th_walked *event, const uint8_t *bytes, size_t leaf) {
  ref->time = event->time;
  ref->at = bytes + event->at;
  ref->leaf = (uint32_t)leaf;
  static_assert(offsetof(th_event_ref, kind) == offsetof(th_event_ref, size) + 2, "as in the meta");
  memcpy(&ref->size, &event->meta, sizeof event->meta); /* size, kind, plain: one store */
}

/* The first event of all, for want of a limit behind it: the earliest, of the lowest rank. */
static void take_one(th_slicer *slicer, th_lanes *lanes, int64_t first) {
  for (size_t leaf = 0; leaf < lanes->leaves.count; leaf++) {
    th_run *run = lanes->leaves.items[leaf];
    if (run->events.items[run->at].time != first)
      continue;
    put(slicer->refs.items, &run->events.items[run->at++], run->buffer.bytes, leaf);
    slicer->refs.count = 1;
    return;
  }
}

/* One run alone: its events as they are. */
static void take_run(th_slicer *slicer, th_lanes *lanes, size_t stretch) {
  th_run *run = lanes->leaves.items[0];
  size_t count = shown(run, stretch) - run->at;
  for (size_t i = 0; i < count; i++)
    put(&slicer->refs.items[i], &run->events.items[run->at + i], run->buffer.bytes, 0);
  run->at += count;
  slicer->refs.count = count;
}

/* Moves what is later than its follower; few are, and none far. Equal times stay as they are. */
static void settle(th_event_ref *refs, size_t count) {
  for (size_t i = 1; i < count; i++) {
    if (TH_LIKELY(refs[i].time >= refs[i - 1].time))
      continue;
    th_event_ref moving = refs[i];
    size_t at = i;
    do
      refs[at] = refs[at - 1];
    while (--at && refs[at - 1].time > moving.time);
    refs[at] = moving;
  }
}

/* Every event of the slice to its place. Runs come in the order of their ranks, and so do equal
   times. */
static size_t place_all(th_slicer *slicer, th_lanes *lanes, const bounds *slice, size_t stretch) {
  uint32_t *places = slicer->places;
  uint64_t first = (uint64_t)slice->first, widest = 0;
  int64_t last_time = slice->limited ? slice->limit - 1 : INT64_MAX;
  unsigned shift = 0;
  /* The latest event inside is known when all is limited; otherwise it has to be looked for. */
  if (slice->limited) {
    widest = (uint64_t)last_time - first;
  } else {
    for (size_t leaf = 0; leaf < lanes->leaves.count; leaf++) {
      const th_run *run = lanes->leaves.items[leaf];
      uint64_t last = (uint64_t)run->events.items[shown(run, stretch) - 1].time - first;
      widest = last > widest ? last : widest;
    }
  }
  while (widest >> shift >= TH_SLICE_INTERVALS)
    shift++;
  size_t intervals = (size_t)(widest >> shift) + 1;
  memset(places, 0, (intervals + 1) * sizeof *places);
  for (size_t leaf = 0; leaf < lanes->leaves.count; leaf++) {
    const th_run *run = lanes->leaves.items[leaf];
    const th_walked *event = run->events.items + run->at;
    const th_walked *end = run->events.items + shown(run, stretch);
    for (; event != end && event->time <= last_time; event++)
      places[(((uint64_t)event->time - first) >> shift) + 1]++;
  }
  for (size_t i = 1; i <= intervals; i++)
    places[i] += places[i - 1];
  size_t count = places[intervals];
  th_event_ref *refs = slicer->refs.items;
  for (size_t leaf = 0; leaf < lanes->leaves.count; leaf++) {
    th_run *run = lanes->leaves.items[leaf];
    const uint8_t *bytes = run->buffer.bytes;
    const th_walked *event = run->events.items + run->at;
    const th_walked *end = run->events.items + shown(run, stretch);
    for (; event != end && event->time <= last_time; event++)
      put(&refs[places[((uint64_t)event->time - first) >> shift]++], event, bytes, leaf);
    run->at = (size_t)(event - run->events.items);
  }
  if (shift)
    settle(refs, count);
  return count;
}

bool th_slice_next(th_slicer *slicer, th_lanes *lanes) {
  size_t stretch = lanes->stretch;
  bounds slice = find_bounds(lanes, stretch);
  if (!th_vec_reserve(&slicer->refs, slice.most))
    return false;
  if (!slice.most)
    slicer->refs.count = 0;
  else if (lanes->leaves.count == 1)
    take_run(slicer, lanes, stretch);
  else if (slice.limited && slice.first >= slice.limit)
    take_one(slicer, lanes, slice.first);
  else
    slicer->refs.count = place_all(slicer, lanes, &slice, stretch);
  return true;
}

void th_slicer_free(th_slicer *slicer) { th_vec_free(&slicer->refs); }
