#include "heap/ledger.h"

#include "heap/charge.h"
#include "host/host.h"

/* Rows are worked on in groups, in rounds over the group: each round asks for one more pointer's
   worth of what the rows need from memory, so that the loads overlap and are done in time. */
#define GROUP_ROWS 64

/* Who did an event. */
typedef struct origin {
  int64_t time_ns;
  uint32_t instance, thread, stack_id;
  uint32_t tag; /* of the instance and the event's address */
} origin;

th_status th_ledger_init(th_ledger *ledger, const th_ledger_options *options,
                         th_failure *failure) {
  /* Where blocks lie in the table shows in no result, so the seed may be any number. */
  uint64_t seed = th_hash_u64(th_host_now_ns() ^ (uint64_t)(uintptr_t)ledger);
  th_timeline timeline;
  th_block_map map;
  if (!th_timeline_init(&timeline, options->buckets, options->duration_ns))
    return th_fail_memory(failure);
  if (!th_block_map_init(&map, seed, options->numbered)) {
    th_timeline_free(&timeline);
    return th_fail_memory(failure);
  }
  *ledger = (th_ledger){.options = *options,
                        .map = map,
                        .sites = {.others = {.seed = seed}},
                        .timeline = timeline,
                        .half_ns = options->duration_ns < 0 ? INT64_MAX : options->duration_ns / 2,
                        .next_ns = INT64_MIN};
  th_owner_table_init(&ledger->owners, seed);
  return TH_OK;
}

void th_ledger_free(th_ledger *ledger) {
  th_block_map_free(&ledger->map);
  th_owner_table_free(&ledger->owners);
  th_site_table_free(&ledger->sites);
  th_timeline_free(&ledger->timeline);
}

/* --- what events do ----------------------------------------------------------------------- */

/* True and the place of the live block at an address of the process, or false. */
TH_INLINE bool find(const th_ledger *ledger, uint32_t instance, uint32_t tag, uint64_t address,
                    th_block_place *place) {
  const th_block_map *map = &ledger->map;
  for (size_t at = tag & map->mask;; at = (at + 1) & map->mask) {
    th_block_bucket *bucket = &map->buckets[at];
    for (uint32_t left = th_block_matches(bucket, tag); left; left &= left - 1) {
      const th_block *block = th_block_at(map, bucket->blocks[th_low_bit(left)]);
      if (TH_LIKELY(block->address == address &&
                    ledger->owners.owners.items[block->owner].instance == instance)) {
        *place = (th_block_place){.bucket = bucket, .slot = th_low_bit(left)};
        return true;
      }
    }
    if (TH_LIKELY(bucket->spilled == 0))
      return false;
  }
}

TH_INLINE bool end_block(th_ledger *ledger, th_block_place place, th_block_end end,
                         int64_t time_ns) {
  uint32_t index = th_block_in(place);
  uint32_t owner = th_block_at(&ledger->map, index)->owner;
  if (!th_charge_end(ledger, index, end, time_ns))
    return false;
  th_heap *heap = &ledger->owners.heaps.items[ledger->owners.owners.items[owner].heap];
  th_block_remove(&ledger->map, &heap->blocks, place);
  return true;
}

/* The block's address is given out again. */
static TH_NOINLINE bool overwrite(th_ledger *ledger, th_block_place place, int64_t time_ns) {
  return end_block(ledger, place, TH_END_OVERWRITTEN, time_ns);
}

static TH_NOINLINE bool filter_refuses(const th_ledger *ledger, const th_owner *owner,
                                       int64_t birth_ns, uint32_t site, uint64_t serial) {
  return !th_filter_birth(ledger->options.filter,
                          ledger->owners.instances.items[owner->instance].pid,
                          ledger->owners.threads.items[owner->thread].tid, owner->handle,
                          birth_ns, site, serial);
}

TH_INLINE bool birth(th_ledger *ledger, const origin *origin, uint64_t handle, uint64_t address,
                     uint64_t size, bool adopted) {
  uint32_t owner_index, site;
  uint64_t now = ledger->moments.now;
  if (!th_owner_find(&ledger->owners, origin->thread, handle, now, &owner_index) ||
      !th_site_find(&ledger->sites, origin->instance, origin->stack_id, now, &site))
    return false;
  const th_owner *owner = &ledger->owners.owners.items[owner_index];
  th_block_list *list = &ledger->owners.heaps.items[owner->heap].blocks;
  th_block_place place;
  if (!th_block_reserve(&ledger->map, list) ||
      (TH_UNLIKELY(find(ledger, origin->instance, origin->tag, address, &place)) &&
       !overwrite(ledger, place, origin->time_ns)))
    return false;
  uint32_t index = th_block_insert(&ledger->map, list, origin->tag);
  th_block *block = th_block_at(&ledger->map, index);
  uint64_t serial = ledger->births++;
  *block = (th_block){.address = address,
                      .size = size,
                      .birth_ns = origin->time_ns,
                      .owner = owner_index,
                      .site = site};
  if (TH_UNLIKELY(ledger->map.numbered))
    *th_block_serial(&ledger->map, index) = serial;
  if (TH_UNLIKELY(ledger->options.filter != NULL) &&
      filter_refuses(ledger, owner, origin->time_ns, site, serial))
    block->site |= TH_UNCOUNTED;
  else
    th_charge_birth(ledger, block, adopted);
  return true;
}

/* Ends the block at the address, which another heap may own, if there is one. */
TH_INLINE bool release(th_ledger *ledger, const origin *origin, uint32_t tag, uint64_t handle,
                       uint64_t address, th_block_end end) {
  th_block_place place;
  if (!find(ledger, origin->instance, tag, address, &place)) {
    ledger->oddities.unmatched_frees++;
    return true;
  }
  uint32_t owner = th_block_at(&ledger->map, th_block_in(place))->owner;
  ledger->oddities.handle_mismatches += ledger->owners.owners.items[owner].handle != handle;
  return end_block(ledger, place, end, origin->time_ns);
}

static th_block *block_at(const th_ledger *ledger, uint32_t instance, uint64_t address) {
  th_block_place place;
  if (!find(ledger, instance, th_block_tag(&ledger->map, instance, address), address, &place))
    return NULL;
  return th_block_at(&ledger->map, th_block_in(place));
}

/* The same two, for events that are rare. */
static TH_NOINLINE bool birth_apart(th_ledger *ledger, const origin *origin, uint64_t handle,
                                    uint64_t address, uint64_t size, bool adopted) {
  return birth(ledger, origin, handle, address, size, adopted);
}
static TH_NOINLINE bool release_apart(th_ledger *ledger, const origin *origin, uint64_t handle,
                                      uint64_t address) {
  uint32_t tag = th_block_tag(&ledger->map, origin->instance, address);
  return release(ledger, origin, tag, handle, address, TH_END_REALLOC);
}

static TH_NOINLINE bool reallocate(th_ledger *ledger, const origin *origin, uint64_t handle,
                                   uint64_t new_at, uint64_t old_at, uint64_t size,
                                   uint64_t old_size) {
  bool do_alloc, do_free;
  th_pairing_realloc(&ledger->owners.threads.items[origin->thread].pairing, new_at, old_at,
                     &do_alloc, &do_free);
  bool in_place = new_at != 0 && new_at == old_at;
  th_block *old = NULL;
  if (in_place || do_free) {
    old = block_at(ledger, origin->instance, old_at);
    ledger->oddities.size_mismatches += old && old->size != old_size;
  }
  if (in_place && old) {
    th_charge_resize(ledger, old, size, origin->time_ns);
  } else if (in_place) {
    ledger->oddities.adopted_blocks++;
    if (!birth_apart(ledger, origin, handle, new_at, size, true))
      return false;
  }
  if (do_free) {
    ledger->oddities.realloc_repairs++;
    if (!release_apart(ledger, origin, handle, old_at))
      return false;
  }
  if (do_alloc) {
    ledger->oddities.realloc_repairs++;
    if (!birth_apart(ledger, origin, handle, new_at, size, false))
      return false;
  }
  /* Under a filter a reallocation belongs to the block it made, changed or failed to change. */
  if (ledger->options.filter) {
    const th_block *subject = block_at(ledger, origin->instance, new_at ? new_at : old_at);
    if (!subject || !th_block_counts(subject))
      return true;
  }
  ledger->owners.instances.items[origin->instance].reallocations++;
  return true;
}

/* All blocks of a heap end. */
static bool end_heap(th_ledger *ledger, th_heap *heap, th_block_end end, int64_t time_ns) {
  for (size_t i = 0; i < heap->blocks.ranges.count && heap->blocks.live; i++) {
    th_block_range range = heap->blocks.ranges.items[i];
    for (uint32_t k = 0; k < range.count && heap->blocks.live; k++) {
      const th_block *block = th_block_at(&ledger->map, range.first + k);
      if (block->owner == TH_NO_OWNER)
        continue;
      th_block_place place;
      uint32_t tag = th_block_tag(&ledger->map, heap->instance, block->address);
      if (find(ledger, heap->instance, tag, block->address, &place) &&
          !end_block(ledger, place, end, time_ns))
        return false;
    }
  }
  th_block_give_back(&ledger->map, &heap->blocks);
  heap->created = false;
  return true;
}

static bool create_or_destroy(th_ledger *ledger, const origin *origin, uint64_t handle,
                              bool create) {
  uint32_t index;
  if (!th_owner_heap(&ledger->owners, origin->instance, handle, &index))
    return false;
  th_heap *heap = &ledger->owners.heaps.items[index];
  th_instance *instance = &ledger->owners.instances.items[origin->instance];
  const th_block_filter *filter = ledger->options.filter;
  if (!filter || th_filter_heap(filter, instance->pid, handle))
    ++*(create ? &instance->heaps_created : &instance->heaps_destroyed);
  if (create)
    ledger->oddities.heaps_reused += heap->created || heap->blocks.live > 0;
  if (!end_heap(ledger, heap, TH_END_DESTROY, origin->time_ns))
    return false;
  heap->created = create;
  return true;
}

/* --- rows --------------------------------------------------------------------------------- */

typedef struct row_work {
  size_t row;
  uint32_t thread;
  uint32_t tag;
  uint32_t block; /* probably the one at the address */
} row_work;

/* First round: which rows matter, and whose they are; loads where the search for the block
   begins, and where the site of the stack is named. */
static bool identify(th_ledger *ledger, const th_heap_columns *columns, size_t first, size_t last,
                     row_work *work, size_t *count) {
  const th_first_site *of_stack = ledger->sites.of_stack.items;
  size_t stacks = ledger->sites.of_stack.count, found = 0;
  for (size_t row = first; row < last; row++) {
    if (columns->kind[row] > TH_HEAP_FREE)
      continue;
    uint32_t pid = columns->pid[row];
    if (TH_UNLIKELY(pid == UINT32_MAX)) {
      ledger->oddities.unattributed++;
      continue;
    }
    uint32_t thread, stack = columns->stack_id[row] + 1;
    if (!th_owner_thread(&ledger->owners, pid, columns->tid[row], columns->time_ns[row], &thread))
      return false;
    uint32_t tag = th_block_tag(&ledger->map, ledger->owners.threads.items[thread].instance,
                                columns->address[row]);
    th_block_prefetch(&ledger->map, tag);
    if (stack < stacks)
      TH_PREFETCH(&of_stack[stack]);
    work[found++] = (row_work){.row = row, .thread = thread, .tag = tag};
  }
  *count = found;
  return true;
}

/* Second round: loads the block, and the site of an Alloc. All this is a hint: the events before
   the row may change it. */
TH_INLINE void load_blocks(const th_ledger *ledger, const th_heap_columns *columns, row_work *work,
                        size_t count) {
  const th_first_site *of_stack = ledger->sites.of_stack.items;
  size_t stacks = ledger->sites.of_stack.count;
  for (size_t i = 0; i < count; i++) {
    uint32_t block = th_block_guess(&ledger->map, work[i].tag);
    work[i].block = block;
    if (block != TH_NO_BLOCK)
      TH_PREFETCH(th_block_at(&ledger->map, block));
    uint32_t stack = columns->stack_id[work[i].row] + 1;
    if (columns->kind[work[i].row] == TH_HEAP_ALLOC && stack < stacks && of_stack[stack].site)
      TH_PREFETCH(th_site_at(&ledger->sites, of_stack[stack].site - 1));
  }
}

/* Third round: loads the sites of blocks that end. (Never a function of its own in the machine code:
   gcc takes one that only prefetches for one that does nothing, and drops the call.) */
TH_INLINE void load_sites(const th_ledger *ledger, const row_work *work, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (work[i].block == TH_NO_BLOCK)
      continue;
    uint32_t site = th_block_at(&ledger->map, work[i].block)->site;
    if (site < ledger->sites.count)
      TH_PREFETCH(th_site_at(&ledger->sites, site));
  }
}

TH_INLINE origin origin_of(const th_ledger *ledger, const th_heap_columns *columns,
                           const row_work *work) {
  return (origin){.time_ns = columns->time_ns[work->row],
                  .stack_id = columns->stack_id[work->row],
                  .thread = work->thread,
                  .instance = ledger->owners.threads.items[work->thread].instance,
                  .tag = work->tag};
}

/* ReAlloc, Create, Destroy. */
static TH_NOINLINE bool enter_rare(th_ledger *ledger, const th_heap_columns *columns,
                                   const row_work *work) {
  origin origin = origin_of(ledger, columns, work);
  size_t row = work->row;
  if (columns->kind[row] != TH_HEAP_REALLOC)
    return create_or_destroy(ledger, &origin, columns->heap[row],
                             columns->kind[row] == TH_HEAP_CREATE);
  ledger->oddities.stack_wanted++;
  ledger->oddities.stack_seen += origin.stack_id != TH_NO_STACK;
  return reallocate(ledger, &origin, columns->heap[row], columns->address[row],
                    columns->old_address[row], columns->size[row], columns->old_size[row]);
}

/* Last round: what the event does. */
TH_INLINE bool enter(th_ledger *ledger, const th_heap_columns *columns, const row_work *work) {
  size_t row = work->row;
  origin origin = origin_of(ledger, columns, work);
  if (TH_UNLIKELY(origin.time_ns >= ledger->next_ns))
    th_charge_pass_time(ledger, origin.time_ns);
  uint8_t kind = columns->kind[row];
  if (TH_UNLIKELY(kind != TH_HEAP_ALLOC && kind != TH_HEAP_FREE))
    return enter_rare(ledger, columns, work);
  th_pairing *pairing = &ledger->owners.threads.items[work->thread].pairing;
  uint64_t heap = columns->heap[row], address = columns->address[row];
  if (kind == TH_HEAP_FREE)
    return !address || th_pairing_free(pairing, address) ||
           release(ledger, &origin, origin.tag, heap, address, TH_END_FREE);
  ledger->oddities.stack_wanted++;
  ledger->oddities.stack_seen += origin.stack_id != TH_NO_STACK;
  return !address || th_pairing_alloc(pairing, address) ||
         birth(ledger, &origin, heap, address, columns->size[row], false);
}

th_status th_ledger_add(th_ledger *ledger, const th_heap_columns *columns, size_t first,
                        size_t last, th_failure *failure) {
  row_work work[GROUP_ROWS];
  for (size_t row = first; row < last; row += GROUP_ROWS) {
    size_t count;
    size_t end = last - row < GROUP_ROWS ? last : row + GROUP_ROWS;
    if (!identify(ledger, columns, row, end, work, &count))
      return th_fail_memory(failure);
    load_blocks(ledger, columns, work, count);
    load_sites(ledger, work, count);
    for (size_t i = 0; i < count; i++)
      if (!enter(ledger, columns, &work[i]))
        return th_fail_memory(failure);
  }
  ledger->events += last - first;
  if (last > first && columns->time_ns[last - 1] > ledger->latest_ns)
    ledger->latest_ns = columns->time_ns[last - 1];
  return TH_OK;
}

th_status th_ledger_end_process(th_ledger *ledger, uint32_t pid, int64_t time_ns,
                                th_failure *failure) {
  if (time_ns > ledger->latest_ns)
    ledger->latest_ns = time_ns;
  uint32_t index = th_owner_running(&ledger->owners, pid);
  if (index == UINT32_MAX)
    return TH_OK;
  if (time_ns >= ledger->next_ns)
    th_charge_pass_time(ledger, time_ns);
  th_heap *heaps = ledger->owners.heaps.items;
  for (uint32_t at = ledger->owners.instances.items[index].first_heap; at != UINT32_MAX;
       at = heaps[at].next)
    if (!end_heap(ledger, &heaps[at], TH_END_EXIT, time_ns))
      return th_fail_memory(failure);
  th_owner_end(&ledger->owners, index, time_ns);
  return TH_OK;
}

bool th_ledger_each_live(const th_ledger *ledger, th_block_sink sink, void *context,
                         int64_t end_ns) {
  for (size_t i = 0; i < ledger->owners.heaps.count; i++) {
    const th_block_list *list = &ledger->owners.heaps.items[i].blocks;
    uint64_t left = list->live;
    for (size_t r = 0; r < list->ranges.count && left; r++)
      for (uint32_t k = 0; k < list->ranges.items[r].count && left; k++) {
        uint32_t index = list->ranges.items[r].first + k;
        const th_block *block = th_block_at(&ledger->map, index);
        if (block->owner == TH_NO_OWNER)
          continue;
        left--;
        if (th_block_counts(block) && !sink(context, ledger, index, TH_END_LIVE, end_ns))
          return false;
      }
  }
  return true;
}
