#include "heap/grouping.h"

#include "heap/id_map.h"

typedef struct work {
  th_grouping *grouping;
  const th_stack_table *stacks;
  const th_module_model *modules;
  th_id_map frame_of_address; /* (instance, address) to the first frame */
  th_id_map stack_of_id;      /* (0, stack number) to the first stack */
} work;

static bool covers(const th_module_model *modules, uint32_t module, int64_t time_ns) {
  const th_span *span = &modules->lives.spans.items[module];
  return (span->start_ns == TH_UNKNOWN_TIME || span->start_ns <= time_ns) &&
         (span->end_ns == TH_UNKNOWN_TIME || span->end_ns >= time_ns);
}

/* The number of an address in a process at a time. */
static bool find_frame(work *work, uint32_t instance, uint32_t pid, uint64_t address,
                       int64_t time_ns, uint32_t *found) {
  th_grouping *grouping = work->grouping;
  uint32_t first = th_id_map_get(&work->frame_of_address, instance, address);
  if (first != UINT32_MAX) {
    uint32_t module = grouping->frames.items[first].module;
    if (module != TH_NO_MODULE && covers(work->modules, module, time_ns)) {
      *found = first;
      return true;
    }
  }
  uint32_t module = th_module_model_find(work->modules, pid, time_ns, address);
  uint32_t last = UINT32_MAX;
  for (uint32_t at = first; at != UINT32_MAX; at = grouping->frames.items[at].next) {
    if (grouping->frames.items[at].module == module) {
      *found = at;
      return true;
    }
    last = at;
  }
  uint32_t made = (uint32_t)grouping->frames.count;
  uint64_t base = module == TH_NO_MODULE ? 0 : work->modules->modules.items[module].base;
  th_frame_row row = {.address = address,
                      .instance = instance,
                      .module = module,
                      .offset = address - base,
                      .next = UINT32_MAX};
  if (made >= UINT32_MAX - 1 || !th_vec_push(&grouping->frames, row) ||
      (first == UINT32_MAX && !th_id_map_set(&work->frame_of_address, instance, address, made)))
    return false;
  if (last != UINT32_MAX)
    grouping->frames.items[last].next = made;
  *found = made;
  return true;
}

static bool add_frames(work *work, const th_site_row *site, uint32_t stack_id) {
  th_grouping *grouping = work->grouping;
  size_t count = 0;
  const uint64_t *frames = NULL;
  if (stack_id != TH_NO_STACK && site->figures.last_ns != TH_NEVER)
    frames = th_stack_table_frames(work->stacks, stack_id, &count);
  if (!th_vec_reserve(&grouping->site_frames, grouping->site_frames.count + count))
    return false;
  uint32_t pid = grouping->result->processes.items[site->instance].pid;
  for (size_t i = 0; i < count; i++) {
    uint32_t frame;
    if (!find_frame(work, site->instance, pid, frames[i], site->figures.first_ns, &frame))
      return false;
    grouping->site_frames.items[grouping->site_frames.count++] = frame;
  }
  return th_vec_push(&grouping->site_ends, grouping->site_frames.count);
}

/* Whether two sites with equal addresses show the same modules. */
static bool same_modules(const th_grouping *grouping, uint32_t a, uint32_t b) {
  size_t a_count, b_count;
  const uint32_t *a_frames = th_grouping_frames(grouping, a, &a_count);
  const uint32_t *b_frames = th_grouping_frames(grouping, b, &b_count);
  const th_frame_row *frames = grouping->frames.items;
  /* Rows of one image in several processes differ; what tells is where its base is. */
  for (size_t i = 0; i < a_count && i < b_count; i++)
    if (frames[a_frames[i]].offset != frames[b_frames[i]].offset)
      return false;
  return a_count == b_count;
}

static bool same_names(const th_module_model *modules, const th_grouping *grouping, uint32_t a,
                       uint32_t b) {
  size_t count, ignored;
  const uint32_t *a_frames = th_grouping_frames(grouping, a, &count);
  const uint32_t *b_frames = th_grouping_frames(grouping, b, &ignored);
  for (size_t i = 0; i < count; i++) {
    uint32_t left = grouping->frames.items[a_frames[i]].module;
    uint32_t right = grouping->frames.items[b_frames[i]].module;
    if (left == right)
      continue;
    if (left == TH_NO_MODULE || right == TH_NO_MODULE ||
        modules->modules.items[left].name != modules->modules.items[right].name)
      return false;
  }
  return true;
}

/* Joins a site to the stack it belongs to, or begins one. */
static bool join(work *work, uint32_t site, uint32_t stack_id) {
  th_grouping *grouping = work->grouping;
  th_site_row *rows = grouping->result->sites.items;
  uint32_t first = th_id_map_get(&work->stack_of_id, 0, stack_id);
  uint32_t last = UINT32_MAX;
  for (uint32_t at = first; at != UINT32_MAX; at = grouping->stacks.items[at].next) {
    uint32_t other = grouping->stacks.items[at].site;
    if (same_modules(grouping, other, site) &&
        same_names(work->modules, grouping, other, site)) {
      th_summary_add(&rows[other].figures, &rows[site].figures);
      return true;
    }
    last = at;
  }
  uint32_t made = (uint32_t)grouping->stacks.count;
  th_stack_row row = {.stack_id = stack_id, .site = site, .next = UINT32_MAX};
  if (!th_vec_push(&grouping->stacks, row) ||
      (first == UINT32_MAX && !th_id_map_set(&work->stack_of_id, 0, stack_id, made)))
    return false;
  if (last != UINT32_MAX)
    grouping->stacks.items[last].next = made;
  return true;
}

th_status th_grouping_make(th_result *result, const th_stack_table *stacks,
                           const th_module_model *modules, th_grouping *grouping,
                           th_failure *failure) {
  th_grouping made = {.result = result};
  work work = {.grouping = &made, .stacks = stacks, .modules = modules};
  bool done = true;
  for (uint32_t i = 0; done && i < result->sites.count; i++) {
    th_site_row *site = &result->sites.items[i];
    uint32_t stack_id = site->stack_id;
    if (stack_id != TH_NO_STACK)
      stack_id = th_stack_table_same_as(stacks, stack_id);
    done = add_frames(&work, site, stack_id) &&
           (site->figures.last_ns == TH_NEVER || join(&work, i, stack_id));
  }
  th_id_map_free(&work.frame_of_address);
  th_id_map_free(&work.stack_of_id);
  if (!done) {
    th_grouping_free(&made);
    return th_fail_memory(failure);
  }
  *grouping = made;
  return TH_OK;
}

void th_grouping_free(th_grouping *grouping) {
  th_vec_free(&grouping->frames);
  th_vec_free(&grouping->site_frames);
  th_vec_free(&grouping->site_ends);
  th_vec_free(&grouping->stacks);
}

bool th_grouping_inclusive(const th_grouping *grouping, const uint32_t *classes,
                           uint32_t class_count, th_summary *sums) {
  /* Which stack a class was last counted in: recursion counts once. */
  uint32_t *counted_in = th_mem_zero_array(class_count, sizeof *counted_in);
  if (!counted_in)
    return false;
  for (uint32_t i = 0; i < grouping->stacks.count; i++) {
    uint32_t site = grouping->stacks.items[i].site;
    size_t count;
    const uint32_t *frames = th_grouping_frames(grouping, site, &count);
    for (size_t k = 0; k < count; k++) {
      uint32_t class = classes[frames[k]];
      if (class >= class_count || counted_in[class] == i + 1)
        continue;
      counted_in[class] = i + 1;
      th_summary_add(&sums[class], &grouping->result->sites.items[site].figures);
    }
  }
  th_mem_free(counted_in);
  return true;
}

void th_grouping_own(const th_grouping *grouping, const uint32_t *classes, th_summary *sums) {
  for (size_t i = 0; i < grouping->stacks.count; i++) {
    uint32_t site = grouping->stacks.items[i].site;
    size_t count;
    const uint32_t *frames = th_grouping_frames(grouping, site, &count);
    for (size_t k = 0; k < count; k++)
      if (classes[frames[k]] != UINT32_MAX) {
        th_summary_add(&sums[classes[frames[k]]], &grouping->result->sites.items[site].figures);
        break;
      }
  }
}

void th_grouping_mark_sites(const th_grouping *grouping, const uint32_t *classes, uint8_t *bits) {
  for (uint32_t site = 0; site < grouping->site_ends.count; site++) {
    size_t count;
    const uint32_t *frames = th_grouping_frames(grouping, site, &count);
    for (size_t k = 0; k < count; k++)
      if (classes[frames[k]] != UINT32_MAX) {
        bits[site >> 3] |= (uint8_t)(1u << (site & 7));
        break;
      }
  }
}
