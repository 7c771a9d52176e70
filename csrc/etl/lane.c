#include "etl/lane.h"

#include "etl/layout.h"

/* Events walked over and waiting, all runs together: what stays in the nearest cache. */
#define STRETCHES 512
#define STRETCH_MIN 8
#define STRETCH_FEW 1

/* How many events of each run are walked over at a time. */
static size_t stretch_of(const th_lanes *lanes) {
  size_t each = STRETCHES / (lanes->leaves.count + 1);
  return each > TH_RUN_STRETCH ? TH_RUN_STRETCH : each < STRETCH_MIN ? STRETCH_MIN : each;
}

/* --- runs ------------------------------------------------------------------------------------ */

static void give_back(th_lanes *lanes, th_run *run) {
  run->next = lanes->unused;
  lanes->unused = run;
}

static void free_unused(th_lanes *lanes) {
  while (lanes->unused) {
    th_run *run = lanes->unused;
    lanes->unused = run->next;
    lanes->held -= th_run_held(run);
    th_run_free(run);
  }
}

static th_run *take_run(th_lanes *lanes) {
  th_run *run = lanes->unused;
  if (!run)
    return th_mem_zero(sizeof *run);
  lanes->unused = run->next;
  return run;
}

static bool room_for(th_lanes *lanes, uint64_t bytes) {
  if (lanes->held <= lanes->held_max - bytes)
    return true;
  free_unused(lanes);
  return lanes->held <= lanes->held_max - bytes;
}

static void note_backwards(th_lanes *lanes, th_lane *lane, uint64_t events) {
  if (!events)
    return;
  lanes->counts->reordered += events;
  lanes->counts->unordered_streams += !lane->backward;
  lane->backward = lane->windowed = true;
}

static th_status sort_run(th_lanes *lanes, th_run *run, bool late, th_failure *failure) {
  uint64_t backwards;
  if (!th_run_sort(run, lanes->counts, &backwards))
    return th_fail_memory(failure);
  lanes->lanes[run->lane].time = run->latest;
  note_backwards(lanes, &lanes->lanes[run->lane], backwards + late);
  return TH_OK;
}

/* Makes a run of the bytes that were read: walked on from its first event, sorted when the lane
   wants it. *some is false when the buffer holds no event. */
static th_status start(th_lanes *lanes, th_lane *lane, th_run *run, bool *some,
                       th_failure *failure) {
  th_stream_counts before = *lanes->counts;
  if (!th_run_start(run, lane->time))
    return th_fail_memory(failure);
  th_run_walk(run, lanes->stretch, lanes->counts);
  *some = th_run_waiting(run) != 0;
  bool late = *some && lane->started && run->events.items[0].time < lane->time;
  if (!*some || !(late || run->backward || lane->windowed))
    return TH_OK;
  th_status status = sort_run(lanes, run, late, failure);
  if (status != TH_OK)
    *lanes->counts = before; /* it will be tried again */
  return status;
}

/* The lane's next buffer as a run; *run is NULL when it has no event in it. */
static th_status begin_next(th_lanes *lanes, th_lane *lane, th_run **begun, th_failure *failure) {
  const th_index_entry *entry = &lanes->index.entries.items[lane->next_entry];
  if (!room_for(lanes, entry->full))
    return th_fail_corrupt(failure, entry->offset,
                           "the packed buffers expand to more than any sound trace has at once");
  th_run *run = take_run(lanes);
  if (!run)
    return th_fail_memory(failure);
  size_t held = th_run_held(run);
  bool some = false;
  th_status status =
      lanes->ahead ? th_readahead_take(lanes->ahead, lane->next_entry, &lanes->tools,
                                       &run->buffer, failure)
                   : th_buffer_read(&lanes->source, entry, lanes->format, &lanes->tools,
                                    &run->buffer, failure);
  bool ready = status == TH_OK && run->buffer.state == TH_BUFFER_READY;
  if (ready) {
    run->entry = lane->next_entry;
    run->lane = (uint32_t)(lane - lanes->lanes);
    run->cut = (entry->flags & TH_ENTRY_CUT) || run->buffer.shrunk;
    status = start(lanes, lane, run, &some, failure);
  }
  lanes->held += th_run_held(run) - held;
  if (status == TH_OK) {
    lane->next_entry = entry->next;
    lanes->counts->bytes_read += entry->size;
    lanes->counts->truncated |= run->buffer.shrunk;
    if (!ready) {
      lanes->counts->buffers_skipped++;
      lanes->counts->bytes_skipped += entry->size - TH_BUFFER_HEAD;
    }
  }
  if (status != TH_OK || !some)
    give_back(lanes, run);
  if (status == TH_OK)
    *begun = some ? run : NULL;
  return status;
}

/* --- the merge ------------------------------------------------------------------------------- */

/* Room for one more leaf, so that entering cannot fail. */
static bool room_for_leaf(th_lanes *lanes) {
  return th_vec_reserve(&lanes->leaves, lanes->leaves.count + 1) &&
         th_vec_reserve(&lanes->origins, lanes->leaves.count + 1) &&
         th_vec_reserve(&lanes->cpus, lanes->leaves.count + 1);
}

/* Puts the run where its rank is: mostly it is the latest. */
static void enter(th_lanes *lanes, th_run *run) {
  th_lane *lane = &lanes->lanes[run->lane];
  const th_index_entry *entry = &lanes->index.entries.items[run->entry];
  lane->started = true;
  lane->active++;
  lane->active_bytes += entry->full;
  size_t at = lanes->leaves.count++;
  lanes->origins.count++;
  for (; at && lanes->leaves.items[at - 1]->entry > run->entry; at--) {
    lanes->leaves.items[at] = lanes->leaves.items[at - 1];
    lanes->origins.items[at] = lanes->origins.items[at - 1];
    lanes->cpus.items[at] = lanes->cpus.items[at - 1];
  }
  lanes->leaves.items[at] = run;
  lanes->cpus.items[at] = entry->cpu;
  lanes->origins.items[at] = (th_event_origin){.bytes = run->buffer.bytes,
                                               .offset = entry->offset,
                                               .cpu = entry->cpu,
                                               .logger = entry->logger,
                                               .packed = (entry->flags & TH_ENTRY_PACKED) != 0};
}

static void leave(th_lanes *lanes, size_t leaf) {
  th_run *run = lanes->leaves.items[leaf];
  th_lane *lane = &lanes->lanes[run->lane];
  lane->active--;
  lane->active_bytes -= lanes->index.entries.items[run->entry].full;
  lane->time = run->latest > lane->time || !lane->windowed ? run->latest : lane->time;
  give_back(lanes, run);
  lanes->leaves.count--;
  lanes->origins.count--;
  for (size_t at = leaf; at < lanes->leaves.count; at++) {
    lanes->leaves.items[at] = lanes->leaves.items[at + 1];
    lanes->origins.items[at] = lanes->origins.items[at + 1];
    lanes->cpus.items[at] = lanes->cpus.items[at + 1];
  }
}

static bool wants_another(const th_lanes *lanes, const th_lane *lane) {
  if (lane->next_entry == TH_NO_ENTRY)
    return false;
  if (!lane->active)
    return true;
  return lane->windowed && lanes->leaves.count < TH_MAX_LEAVES &&
         (lane->active < TH_WINDOW_RUNS || lane->active_bytes < TH_WINDOW_BYTES);
}

/* Everything the lane should have in the merge goes there. */
static th_status fill(th_lanes *lanes, uint32_t number, th_failure *failure) {
  th_lane *lane = &lanes->lanes[number];
  while (wants_another(lanes, lane)) {
    th_run *run;
    if (!room_for_leaf(lanes))
      return th_fail_memory(failure);
    th_status status = begin_next(lanes, lane, &run, failure);
    if (status != TH_OK)
      return status;
    if (run)
      enter(lanes, run);
  }
  return TH_OK;
}

/* --- from outside ---------------------------------------------------------------------------- */

th_status th_lanes_init(th_lanes *lanes, int64_t zero, unsigned threads, th_failure *failure) {
  size_t count = lanes->index.lanes.count;
  lanes->unfilled = TH_NO_LANE;
  /* A sound trace has a buffer or two of each processor at hand; what packed buffers claim to
     expand to is not to be trusted beyond that. */
  lanes->held_max = UINT64_C(1) << 30;
  if (lanes->source.size < UINT64_C(1) << 58)
    lanes->held_max += lanes->source.size * 16;
  if (count > TH_MAX_LANES)
    return th_fail_corrupt(failure, 0, "the trace names more processors than any machine has");
  lanes->lanes = th_mem_zero_array(count, sizeof *lanes->lanes);
  if (!lanes->lanes)
    return th_fail_memory(failure);
  for (size_t i = 0; i < count; i++)
    lanes->lanes[i] = (th_lane){.time = zero,
                                .next_entry = lanes->index.lanes.items[i].first,
                                .windowed = lanes->shared};
  lanes->ahead = th_readahead_start(&lanes->source, &lanes->index, lanes->format, threads);
  return TH_OK;
}

th_status th_lanes_ready(th_lanes *lanes, bool few, th_failure *failure) {
  th_status status;
  lanes->stretch = few ? STRETCH_FEW : stretch_of(lanes);
  for (; lanes->started < lanes->index.lanes.count; lanes->started++)
    if ((status = fill(lanes, lanes->started, failure)) != TH_OK)
      return status;
  if (lanes->unfilled != TH_NO_LANE) {
    if ((status = fill(lanes, lanes->unfilled, failure)) != TH_OK)
      return status;
    lanes->unfilled = TH_NO_LANE;
  }
  if (!few)
    lanes->stretch = stretch_of(lanes);
  for (size_t leaf = 0; leaf < lanes->leaves.count;) {
    th_run *run = lanes->leaves.items[leaf];
    if (!run->done && th_run_waiting(run) < (lanes->stretch + 1) / 2)
      th_run_walk(run, lanes->stretch, lanes->counts);
    if (TH_UNLIKELY(run->backward) && (status = sort_run(lanes, run, false, failure)) != TH_OK)
      return status;
    if (TH_UNLIKELY(!th_run_waiting(run))) {
      lanes->unfilled = run->lane;
      leave(lanes, leaf);
      if ((status = fill(lanes, lanes->unfilled, failure)) != TH_OK)
        return status;
      lanes->unfilled = TH_NO_LANE;
    } else {
      leaf++; /* a run that came in behind it needs no look, one before it only moves it on */
    }
  }
  return TH_OK;
}

/* Finds the earliest run and the time of the one behind it; *ready is false when a run has no event
   waiting, NULL when one must not be taken as it stands. */
static const th_run *find_first(th_lanes *lanes, size_t *leaf, int64_t *limit, bool *ready) {
  int64_t best = INT64_MAX, second = INT64_MAX;
  size_t first = 0, count = lanes->leaves.count;
  *ready = count && lanes->unfilled == TH_NO_LANE;
  for (size_t i = 0; i < count && *ready; i++) {
    th_run *run = lanes->leaves.items[i];
    if (TH_UNLIKELY(run->at == run->events.count) && !run->done)
      th_run_walk(run, STRETCH_FEW, lanes->counts);
    if (TH_UNLIKELY(run->backward || run->careful || run->sorted))
      return NULL;
    *ready = run->at < run->events.count;
    int64_t time = *ready ? run->events.items[run->at].time : 0;
    if (!i || time < best) {
      second = i ? best : INT64_MAX;
      best = time;
      first = i;
    } else if (time < second) {
      second = time;
    }
  }
  /* At equal times the leaf before goes first, which is this one. */
  *limit = second > best || best == INT64_MAX ? second : best + 1;
  *leaf = first;
  return count ? lanes->leaves.items[first] : NULL;
}

th_status th_lanes_first(th_lanes *lanes, const th_run **run, size_t *leaf, int64_t *limit,
                         th_failure *failure) {
  bool ready = false;
  if (lanes->started == lanes->index.lanes.count)
    *run = find_first(lanes, leaf, limit, &ready);
  if (ready)
    return TH_OK;
  th_status status = th_lanes_ready(lanes, true, failure);
  if (status == TH_OK)
    *run = find_first(lanes, leaf, limit, &ready);
  return status;
}

void th_lanes_free(th_lanes *lanes) {
  th_readahead_stop(lanes->ahead);
  for (size_t i = 0; i < lanes->leaves.count; i++)
    th_run_free(lanes->leaves.items[i]);
  free_unused(lanes);
  th_mem_free(lanes->lanes);
  th_vec_free(&lanes->leaves);
  th_vec_free(&lanes->origins);
  th_vec_free(&lanes->cpus);
  th_buffer_tools_free(&lanes->tools);
  th_index_free(&lanes->index);
}
