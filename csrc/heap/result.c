#include "heap/result.h"

void th_summary_clear(th_summary *summary) {
  *summary = (th_summary){.first_ns = TH_NEVER, .last_ns = TH_NEVER};
}

static void amount_sum(th_amount *into, th_amount more) {
  th_amount_add(into, more.blocks, more.bytes);
}

void th_summary_add(th_summary *into, const th_summary *more) {
  amount_sum(&into->live, more->live);
  amount_sum(&into->at_peak, more->at_peak);
  amount_sum(&into->allocated, more->allocated);
  amount_sum(&into->temporary, more->temporary);
  into->growth_bytes += more->growth_bytes;
  into->age_ns += more->age_ns;
  if (more->last_ns == TH_NEVER)
    return;
  if (into->last_ns == TH_NEVER || more->first_ns < into->first_ns)
    into->first_ns = more->first_ns;
  if (more->last_ns > into->last_ns)
    into->last_ns = more->last_ns;
}

/* What a group shows now, with its figures kept up to the latest moment. */
static th_summary summary_of(const th_ledger *ledger, const th_figures *figures) {
  th_figures kept = *figures;
  th_figures_keep(&kept, &ledger->moments);
  th_amount live = kept.running;
  amount_sum(&live, kept.exited);
  bool past_half = ledger->moments.half != 0;
  return (th_summary){.live = live,
                      .at_peak = kept.at_peak,
                      .allocated = kept.allocated,
                      .temporary = kept.temporary,
                      .growth_bytes = past_half ? (int64_t)(live.bytes - kept.half_bytes) : 0,
                      .first_ns = kept.last_ns == TH_NEVER ? TH_NEVER : kept.first_ns,
                      .last_ns = kept.last_ns,
                      .age_ns = kept.exited_age};
}

static void totals_sum(th_totals *into, const th_totals *more) {
  amount_sum(&into->allocations, more->allocations);
  amount_sum(&into->frees, more->frees);
  amount_sum(&into->adopted, more->adopted);
  amount_sum(&into->overwritten, more->overwritten);
  amount_sum(&into->destroyed, more->destroyed);
  into->reallocations += more->reallocations;
  into->heaps_created += more->heaps_created;
  into->heaps_destroyed += more->heaps_destroyed;
}

/* A th_block_sink: what can only be seen from the blocks that are live in running processes. */
static bool add_block(void *context, const th_ledger *ledger, uint32_t index, th_block_end end,
                      int64_t end_ns) {
  th_result *result = context;
  const th_block *block = th_block_at(&ledger->map, index);
  const th_owner *owner = &ledger->owners.owners.items[block->owner];
  double age = 0;
  (void)end;
  if (end_ns > block->birth_ns)
    age = (double)((uint64_t)end_ns - (uint64_t)block->birth_ns);
  result->sites.items[block->site].figures.age_ns += age;
  result->heaps.items[owner->heap].figures.age_ns += age;
  result->threads.items[owner->thread].figures.age_ns += age;
  th_size_row *size = &result->sizes[th_size_class(block->size)];
  th_amount_add(&size->all, 1, block->size);
  th_amount_add(&size->live, 1, block->size);
  return true;
}

static bool take_timeline(const th_ledger *ledger, th_result *result) {
  th_timeline timeline;
  const th_timeline *from = &ledger->timeline;
  if (!th_timeline_init(&timeline, from->count, from->duration))
    return false;
  for (uint32_t i = 0; i < from->count; i++)
    timeline.points[i] = from->points[i];
  timeline.at = from->at;
  timeline.width = from->width;
  timeline.next = from->next;
  int64_t end = from->duration < 0 ? result->end_ns : INT64_MAX - 1;
  th_timeline_advance(&timeline, end, ledger->running);
  bool done = th_vec_reserve(&result->timeline, (size_t)timeline.at + 1);
  for (uint32_t i = 0; done && i <= timeline.at; i++)
    result->timeline.items[result->timeline.count++] = (th_timeline_point){
        .time_ns = th_timeline_start(&timeline, i), .running = timeline.points[i]};
  th_timeline_free(&timeline);
  return done;
}

static bool reserve_rows(const th_ledger *ledger, th_result *result) {
  return th_vec_reserve(&result->sites, ledger->sites.count) &&
         th_vec_reserve(&result->heaps, ledger->owners.heaps.count) &&
         th_vec_reserve(&result->threads, ledger->owners.threads.count) &&
         th_vec_reserve(&result->processes, ledger->owners.instances.count);
}

static void take_rows(const th_ledger *ledger, th_result *result) {
  th_summary none;
  th_summary_clear(&none);
  for (uint32_t i = 0; i < ledger->sites.count; i++) {
    const th_site *site = th_site_at(&ledger->sites, i);
    result->sites.items[result->sites.count++] =
        (th_site_row){.stack_id = site->stack_id,
                      .instance = site->instance,
                      .figures = summary_of(ledger, &site->figures)};
  }
  for (size_t i = 0; i < ledger->owners.heaps.count; i++) {
    const th_heap *heap = &ledger->owners.heaps.items[i];
    result->heaps.items[result->heaps.count++] =
        (th_heap_row){.handle = heap->handle, .instance = heap->instance, .figures = none};
  }
  for (size_t i = 0; i < ledger->owners.threads.count; i++) {
    const th_heap_thread *thread = &ledger->owners.threads.items[i];
    result->threads.items[result->threads.count++] =
        (th_thread_row){.tid = thread->tid, .instance = thread->instance, .figures = none};
  }
  for (size_t i = 0; i < ledger->owners.instances.count; i++) {
    const th_instance *instance = &ledger->owners.instances.items[i];
    result->processes.items[result->processes.count++] =
        (th_process_row){.pid = instance->pid,
                         .ended = instance->ended,
                         .first_ns = instance->first_ns,
                         .end_ns = instance->ended ? instance->end_ns : result->end_ns,
                         .peak = instance->peak,
                         .peak_ns = instance->peak_ns,
                         .totals = {.reallocations = instance->reallocations,
                                    .heaps_created = instance->heaps_created,
                                    .heaps_destroyed = instance->heaps_destroyed},
                         .figures = none};
  }
}

/* Heaps, threads and processes are sums over owners. */
static void add_owners(const th_ledger *ledger, th_result *result) {
  for (size_t i = 0; i < ledger->owners.owners.count; i++) {
    const th_owner *owner = &ledger->owners.owners.items[i];
    th_summary figures = summary_of(ledger, &owner->figures);
    th_summary_add(&result->heaps.items[owner->heap].figures, &figures);
    th_summary_add(&result->threads.items[owner->thread].figures, &figures);
    th_totals totals = {.allocations = figures.allocated,
                        .frees = owner->freed,
                        .adopted = owner->adopted,
                        .overwritten = owner->overwritten,
                        .destroyed = owner->destroyed};
    totals_sum(&result->processes.items[owner->instance].totals, &totals);
  }
}

static void take_classes(const th_ledger *ledger, th_result *result) {
  for (unsigned size = 0; size < TH_SIZE_CLASSES; size++) {
    result->sizes[size].live = ledger->ended.by_exit[size];
    result->sizes[size].all = ledger->ended.by_exit[size];
    for (unsigned lifetime = 0; lifetime < TH_LIFETIME_CLASSES; lifetime++) {
      th_amount ended = ledger->ended.by_event[lifetime][size];
      amount_sum(&result->sizes[size].all, ended);
      amount_sum(&result->lifetimes[lifetime], ended);
    }
  }
}

th_status th_result_take(const th_ledger *ledger, int64_t end_ns, th_result *result,
                         th_failure *failure) {
  th_result made = {.end_ns = end_ns,
                    .duration_ns = ledger->options.duration_ns,
                    .rule_ns = ledger->options.rule_ns,
                    .events = ledger->events,
                    .oddities = ledger->oddities,
                    .peak = ledger->peak,
                    .peak_ns = ledger->peak_ns};
  if (!reserve_rows(ledger, &made) || !take_timeline(ledger, &made))
    goto no_memory;
  take_rows(ledger, &made);
  add_owners(ledger, &made);
  take_classes(ledger, &made);
  if (!th_ledger_each_live(ledger, add_block, &made, end_ns))
    goto no_memory;
  for (size_t i = 0; i < made.heaps.count; i++)
    th_summary_add(&made.processes.items[made.heaps.items[i].instance].figures,
                   &made.heaps.items[i].figures);
  for (size_t i = 0; i < made.processes.count; i++) {
    const th_process_row *row = &made.processes.items[i];
    totals_sum(&made.totals, &row->totals);
    amount_sum(&made.live, row->figures.live);
    amount_sum(&made.temporary, row->figures.temporary);
  }
  *result = made;
  return TH_OK;

no_memory:
  th_result_free(&made);
  return th_fail_memory(failure);
}

void th_result_free(th_result *result) {
  th_vec_free(&result->sites);
  th_vec_free(&result->heaps);
  th_vec_free(&result->threads);
  th_vec_free(&result->processes);
  th_vec_free(&result->timeline);
}
