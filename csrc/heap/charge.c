#include "heap/charge.h"

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

void th_charge_resize(th_ledger *ledger, th_block *block, uint64_t size, int64_t time_ns) {
  if (!th_block_counts(block)) {
    block->size = size;
    return;
  }
  th_owner *owner = &ledger->owners.owners.items[block->owner];
  th_instance *instance = &ledger->owners.instances.items[owner->instance];
  uint64_t growth = size > block->size ? size - block->size : 0;
  uint64_t change = size - block->size; /* modulo 2^64 */
  th_block_groups groups = th_charge_groups(ledger, block);
  for (unsigned i = 0; i < TH_BLOCK_GROUPS; i++) {
    th_figures *figures = groups.of[i];
    th_figures_keep(figures, &ledger->moments);
    figures->running.bytes += change;
    figures->allocated.bytes += growth;
  }
  owner->freed.bytes += growth - change;
  instance->running.bytes += change;
  ledger->running.bytes += change;
  block->size = size;
  th_charge_raise_peaks(ledger, instance, time_ns);
  th_charge_check(owner);
}
