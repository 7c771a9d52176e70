#include "heap/charge.h"

#include <assert.h>

/* The groups of a block. */
#define GROUPS 2
typedef struct block_groups {
  th_figures *of[GROUPS];
} block_groups;

TH_INLINE block_groups groups_of(th_ledger *ledger, const th_block *block) {
  return (block_groups){{&th_site_at(&ledger->sites, block->site)->figures,
                         &ledger->owners.owners.items[block->owner].figures}};
}

/* The identity of the ledger, after every change. */
TH_INLINE void check(const th_owner *owner) {
  assert(owner->figures.allocated.blocks + owner->adopted.blocks - owner->freed.blocks -
             owner->destroyed.blocks - owner->overwritten.blocks ==
         owner->figures.running.blocks + owner->figures.exited.blocks);
  assert(owner->figures.allocated.bytes + owner->adopted.bytes - owner->freed.bytes -
             owner->destroyed.bytes - owner->overwritten.bytes ==
         owner->figures.running.bytes + owner->figures.exited.bytes);
  (void)owner;
}

TH_NOINLINE void th_charge_pass_time(th_ledger *ledger, int64_t time_ns) {
  if (time_ns >= ledger->timeline.next)
    th_timeline_advance(&ledger->timeline, time_ns, ledger->running);
  if (time_ns > ledger->half_ns) {
    ledger->moments.half = ++ledger->moments.now;
    ledger->half_ns = INT64_MAX;
  }
  ledger->next_ns = ledger->timeline.next;
  if (ledger->half_ns != INT64_MAX && ledger->half_ns + 1 < ledger->next_ns)
    ledger->next_ns = ledger->half_ns + 1;
}

/* After the running sums have grown. */
TH_INLINE void raise_peaks(th_ledger *ledger, th_instance *instance, int64_t time_ns) {
  if (ledger->running.bytes > ledger->peak.bytes) {
    ledger->peak = ledger->running;
    ledger->peak_ns = time_ns;
    ledger->moments.peak = ++ledger->moments.now;
  }
  th_timeline_raise(&ledger->timeline, ledger->running);
  if (instance->running.bytes > instance->peak.bytes) {
    instance->peak = instance->running;
    instance->peak_ns = time_ns;
  }
}

void th_charge_birth(th_ledger *ledger, const th_block *block, bool adopted) {
  th_owner *owner = &ledger->owners.owners.items[block->owner];
  th_instance *instance = &ledger->owners.instances.items[owner->instance];
  uint64_t size = block->size;
  block_groups groups = groups_of(ledger, block);
  for (unsigned i = 0; i < GROUPS; i++) {
    th_figures *figures = groups.of[i];
    th_figures_keep(figures, &ledger->moments);
    th_amount_add(&figures->running, 1, size);
    if (TH_UNLIKELY(figures->last_ns == TH_NEVER))
      figures->first_ns = block->birth_ns;
    figures->last_ns = block->birth_ns;
    if (TH_LIKELY(!adopted))
      th_amount_add(&figures->allocated, 1, size);
  }
  if (TH_UNLIKELY(adopted))
    th_amount_add(&owner->adopted, 1, size);
  th_amount_add(&instance->running, 1, size);
  th_amount_add(&ledger->running, 1, size);
  raise_peaks(ledger, instance, block->birth_ns);
  check(owner);
}

bool th_charge_end(th_ledger *ledger, uint32_t block_index, th_block_end end, int64_t time_ns) {
  const th_block *block = th_block_at(&ledger->map, block_index);
  if (TH_UNLIKELY(!th_block_counts(block)))
    return true;
  if (TH_UNLIKELY(ledger->options.sink != NULL) &&
      !ledger->options.sink(ledger->options.sink_context, ledger, block_index, end, time_ns))
    return false;
  th_owner *owner = &ledger->owners.owners.items[block->owner];
  th_instance *instance = &ledger->owners.instances.items[owner->instance];
  uint64_t size = block->size;
  /* Time may run backwards in a damaged trace. */
  uint64_t lifetime = 0;
  if (TH_LIKELY(time_ns > block->birth_ns))
    lifetime = (uint64_t)time_ns - (uint64_t)block->birth_ns;
  bool exits = end == TH_END_EXIT;
  bool temporary = !exits && end != TH_END_OVERWRITTEN && lifetime < ledger->options.rule_ns;
  block_groups groups = groups_of(ledger, block);
  for (unsigned i = 0; i < GROUPS; i++) {
    th_figures *figures = groups.of[i];
    th_figures_keep(figures, &ledger->moments);
    th_amount_take(&figures->running, 1, size);
    if (temporary)
      th_amount_add(&figures->temporary, 1, size);
    if (TH_UNLIKELY(exits)) {
      th_amount_add(&figures->exited, 1, size);
      figures->exited_age += (double)lifetime;
    }
  }
  th_amount_take(&ledger->running, 1, size);
  th_amount_take(&instance->running, 1, size);
  unsigned class = th_size_class(size);
  th_amount *ended = &ledger->ended.by_event[th_lifetime_class(lifetime)][class];
  if (TH_LIKELY(end == TH_END_FREE || end == TH_END_REALLOC))
    th_amount_add(&owner->freed, 1, size);
  else if (end == TH_END_DESTROY)
    th_amount_add(&owner->destroyed, 1, size);
  else if (end == TH_END_OVERWRITTEN)
    th_amount_add(&owner->overwritten, 1, size);
  else
    ended = &ledger->ended.by_exit[class];
  th_amount_add(ended, 1, size);
  check(owner);
  return true;
}

void th_charge_resize(th_ledger *ledger, th_block *block, uint64_t size, int64_t time_ns) {
  if (!th_block_counts(block)) {
    block->size = size;
    return;
  }
  th_owner *owner = &ledger->owners.owners.items[block->owner];
  th_instance *instance = &ledger->owners.instances.items[owner->instance];
  uint64_t growth = size > block->size ? size - block->size : 0;
  uint64_t change = size - block->size; /* modulo 2^64 */
  block_groups groups = groups_of(ledger, block);
  for (unsigned i = 0; i < GROUPS; i++) {
    th_figures *figures = groups.of[i];
    th_figures_keep(figures, &ledger->moments);
    figures->running.bytes += change;
    figures->allocated.bytes += growth;
  }
  owner->freed.bytes += growth - change;
  instance->running.bytes += change;
  ledger->running.bytes += change;
  block->size = size;
  raise_peaks(ledger, instance, time_ns);
  check(owner);
}
