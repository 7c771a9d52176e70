/* What the birth, the end and the change of one block do to the figures of all its groups. Births
   and ends are most of a ledger's work: they are part of whoever calls them, where much of them
   falls away. */
#ifndef TH_HEAP_CHARGE_H
#define TH_HEAP_CHARGE_H

#include "heap/ledger.h"

#include <assert.h>

/* To be called with the time of every event before it changes anything. */
void th_charge_pass_time(th_ledger *ledger, int64_t time_ns);
/* A ReAlloc in place; sets the block's size. */
void th_charge_resize(th_ledger *ledger, th_block *block, uint64_t size, int64_t time_ns);

/* The groups of a block. */
#define TH_BLOCK_GROUPS 2
typedef struct th_block_groups {
  th_figures *of[TH_BLOCK_GROUPS];
} th_block_groups;

TH_INLINE th_block_groups th_charge_groups(th_ledger *ledger, const th_block *block) {
  return (th_block_groups){{&th_site_at(&ledger->sites, block->site)->figures,
                            &ledger->owners.owners.items[block->owner].figures}};
}

/* The identity of the ledger, after every change. */
TH_INLINE void th_charge_check(const th_owner *owner) {
  assert(owner->figures.allocated.blocks + owner->adopted.blocks - owner->freed.blocks -
             owner->destroyed.blocks - owner->overwritten.blocks ==
         owner->figures.running.blocks + owner->figures.exited.blocks);
  assert(owner->figures.allocated.bytes + owner->adopted.bytes - owner->freed.bytes -
             owner->destroyed.bytes - owner->overwritten.bytes ==
         owner->figures.running.bytes + owner->figures.exited.bytes);
  (void)owner;
}

/* After the running sums have grown. */
TH_INLINE void th_charge_raise_peaks(th_ledger *ledger, th_instance *instance, int64_t time_ns) {
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

TH_INLINE void th_charge_birth(th_ledger *ledger, const th_block *block, bool adopted) {
  th_owner *owner = &ledger->owners.owners.items[block->owner];
  th_instance *instance = &ledger->owners.instances.items[owner->instance];
  uint64_t size = block->size;
  th_block_groups groups = th_charge_groups(ledger, block);
  for (unsigned i = 0; i < TH_BLOCK_GROUPS; i++) {
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
  th_charge_raise_peaks(ledger, instance, block->birth_ns);
  th_charge_check(owner);
}

/* False: the sink had no memory. The block is still live then. */
TH_INLINE TH_NODISCARD bool th_charge_end(th_ledger *ledger, uint32_t block_index,
                                          th_block_end end, int64_t time_ns) {
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
  th_block_groups groups = th_charge_groups(ledger, block);
  for (unsigned i = 0; i < TH_BLOCK_GROUPS; i++) {
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
  th_charge_check(owner);
  return true;
}

#endif
