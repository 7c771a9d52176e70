#include "etl/lane.h"

#include "etl/layout.h"

#define NO_LEAF UINT32_MAX

static th_lane *lane_of(th_lanes *lanes, uint32_t lane) { return &lanes->lanes[lane]; }

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

/* Reads the lane's next buffer and walks it. */
static th_status read_next(th_lanes *lanes, th_lane *lane, th_failure *failure) {
  const th_index_entry *entry = &lanes->index.entries.items[lane->next_entry];
  if (lanes->held > lanes->held_max - entry->full) {
    free_unused(lanes);
    if (lanes->held > lanes->held_max - entry->full)
      return th_fail_corrupt(failure, entry->offset,
                             "the packed buffers expand to more than any sound trace has at once");
  }
  th_run *run = take_run(lanes);
  if (!run)
    return th_fail_memory(failure);
  size_t held = th_run_held(run);
  th_status status =
      th_buffer_read(&lanes->source, entry, lanes->format, &lanes->tools, &run->buffer, failure);
  run->events.count = run->at = 0;
  run->entry = lane->next_entry;
  uint64_t backwards = 0;
  if (status == TH_OK && run->buffer.state == TH_BUFFER_READY) {
    th_walk walk = {.bytes = run->buffer.bytes,
                    .end = run->buffer.end,
                    .cut = (entry->flags & TH_ENTRY_CUT) || run->buffer.shrunk,
                    .first = !lane->started};
    if (!th_walk_buffer(&walk, &lane->time, &run->events, lanes->counts, &backwards))
      status = th_fail_memory(failure);
  }
  lanes->held += th_run_held(run) - held;
  if (status != TH_OK) {
    give_back(lanes, run);
    return status;
  }
  lane->next_entry = entry->next;
  lanes->counts->bytes_read += entry->size;
  lanes->counts->truncated |= run->buffer.shrunk;
  if (run->buffer.state != TH_BUFFER_READY) {
    lanes->counts->buffers_skipped++;
    lanes->counts->bytes_skipped += entry->size - TH_BUFFER_HEAD;
  }
  if (!run->events.count) {
    give_back(lanes, run);
    return TH_OK;
  }
  lane->started = true;
  if (backwards) {
    lanes->counts->reordered += backwards;
    lanes->counts->unordered_streams += !lane->unordered;
    lane->unordered = true;
    th_run_sort(run);
  }
  run->next = NULL;
  if (lane->coming)
    lane->last_coming->next = run;
  else
    lane->coming = run;
  lane->last_coming = run;
  lane->coming_bytes += entry->full;
  return TH_OK;
}

static bool wants_more(const th_lane *lane) {
  if (lane->next_entry == TH_NO_ENTRY)
    return false;
  if (!lane->coming || lane->coming_bytes < TH_LANE_AHEAD)
    return true;
  return false;
}

/* --- the merge ------------------------------------------------------------------------------- */

static th_merge_key key_of(const th_leaf *leaf, uint32_t number) {
  const th_run *run = leaf->run;
  return run ? th_merge_key_of(run->events.items[run->at].time, run->entry, number)
             : TH_MERGE_EMPTY;
}

/* The lane's first coming run enters the merge at `leaf`, which is empty. */
static void enter(th_lanes *lanes, uint32_t number, uint32_t leaf) {
  th_lane *lane = lane_of(lanes, number);
  th_run *run = lane->coming;
  const th_index_entry *entry = &lanes->index.entries.items[run->entry];
  lane->coming = run->next;
  lane->coming_bytes -= entry->full;
  lane->active++;
  lane->active_bytes += entry->full;
  lanes->leaves.items[leaf] = (th_leaf){.run = run,
                                        .bytes = run->buffer.bytes,
                                        .offset = entry->offset,
                                        .lane = number,
                                        .cpu = entry->cpu,
                                        .logger = entry->logger,
                                        .packed = (entry->flags & TH_ENTRY_PACKED) != 0};
}

static bool window_open(const th_lane *lane) {
  return lane->active < TH_LANE_WINDOW_RUNS || lane->active_bytes < TH_LANE_WINDOW;
}

/* An empty leaf: `preferred` when it is one, any other, a new one; false: no memory. */
static bool empty_leaf(th_lanes *lanes, uint32_t preferred, uint32_t *leaf) {
  *leaf = preferred;
  if (!lanes->leaves.items[preferred].run)
    return true;
  for (*leaf = 0; *leaf < lanes->leaves.count; ++*leaf)
    if (!lanes->leaves.items[*leaf].run)
      return true;
  return th_vec_push(&lanes->leaves, (th_leaf){0});
}

/* Everything the lane should have in the merge goes there. `leaf` is the lane's own. *others: a
   leaf besides that one changed, the tree has to be built anew. */
static th_status fill_lane(th_lanes *lanes, uint32_t number, uint32_t leaf, bool *others,
                           th_failure *failure) {
  th_lane *lane = lane_of(lanes, number);
  th_status status;
  while (true) {
    while (wants_more(lane))
      if ((status = read_next(lanes, lane, failure)) != TH_OK)
        return status;
    if (!lane->coming || (lane->active && !(lane->unordered && window_open(lane))))
      return TH_OK;
    uint32_t place;
    if (!empty_leaf(lanes, leaf, &place))
      return th_fail_memory(failure);
    *others |= place != leaf;
    enter(lanes, number, place);
  }
}

static th_status build(th_lanes *lanes, th_failure *failure) {
  if (!th_merge_grow(&lanes->merge, (uint32_t)lanes->leaves.count))
    return th_fail_memory(failure);
  for (uint32_t leaf = 0; leaf < lanes->leaves.count; leaf++)
    lanes->merge.leaves[leaf] = key_of(&lanes->leaves.items[leaf], leaf);
  th_merge_build(&lanes->merge);
  return TH_OK;
}

/* --- from outside ---------------------------------------------------------------------------- */

th_status th_lanes_init(th_lanes *lanes, int64_t zero, th_failure *failure) {
  size_t count = lanes->index.lanes.count;
  lanes->spent = NO_LEAF;
  lanes->held_max = UINT64_C(1) << 30;
  if (lanes->source.size < UINT64_C(1) << 58)
    lanes->held_max += lanes->source.size * 16;
  lanes->lanes = th_mem_zero_array(count, sizeof *lanes->lanes);
  if (!lanes->lanes || !th_vec_reserve(&lanes->leaves, count))
    return th_fail_memory(failure);
  for (size_t i = 0; i < count; i++) {
    lanes->lanes[i].time = zero;
    lanes->lanes[i].next_entry = lanes->index.lanes.items[i].first;
    lanes->leaves.items[lanes->leaves.count++] = (th_leaf){.lane = (uint32_t)i};
  }
  return TH_OK;
}

th_status th_lanes_ready(th_lanes *lanes, th_failure *failure) {
  th_status status;
  bool others = false;
  size_t count = lanes->index.lanes.count;
  if (lanes->started < count || !lanes->merge.width) {
    for (; lanes->started < count; lanes->started++) {
      uint32_t lane = (uint32_t)lanes->started;
      if ((status = fill_lane(lanes, lane, lane, &others, failure)) != TH_OK)
        return status;
    }
    return build(lanes, failure);
  }
  if (lanes->spent == NO_LEAF)
    return TH_OK;
  th_leaf *leaf = &lanes->leaves.items[lanes->spent];
  uint32_t number = leaf->lane;
  if (leaf->run && leaf->run->at == leaf->run->events.count) {
    th_lane *lane = lane_of(lanes, number);
    lane->active--;
    lane->active_bytes -= lanes->index.entries.items[leaf->run->entry].full;
    give_back(lanes, leaf->run);
    leaf->run = NULL;
  }
  if ((status = fill_lane(lanes, number, lanes->spent, &others, failure)) != TH_OK)
    return status;
  if (others) {
    if ((status = build(lanes, failure)) != TH_OK)
      return status;
  } else {
    th_merge_key key = key_of(&lanes->leaves.items[lanes->spent], lanes->spent);
    th_merge_replace(&lanes->merge, lanes->spent, key);
  }
  lanes->spent = NO_LEAF;
  return TH_OK;
}

void th_lanes_free(th_lanes *lanes) {
  for (size_t i = 0; i < lanes->leaves.count; i++)
    th_run_free(lanes->leaves.items[i].run);
  for (size_t i = 0; lanes->lanes && i < lanes->index.lanes.count; i++)
    while (lanes->lanes[i].coming) {
      th_run *run = lanes->lanes[i].coming;
      lanes->lanes[i].coming = run->next;
      th_run_free(run);
    }
  free_unused(lanes);
  th_mem_free(lanes->lanes);
  th_vec_free(&lanes->leaves);
  th_merge_free(&lanes->merge);
  th_buffer_tools_free(&lanes->tools);
  th_index_free(&lanes->index);
}
