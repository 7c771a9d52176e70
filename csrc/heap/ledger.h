/* The ledger of heap blocks: what each event does to the set of live blocks, and the figures that
   follow from it. One pass, in order of time, readable at any moment. */
#ifndef TH_HEAP_LEDGER_H
#define TH_HEAP_LEDGER_H

#include "base/status.h"
#include "etl/heap_event.h"
#include "heap/filter.h"
#include "heap/histogram.h"
#include "heap/owner_table.h"
#include "heap/site_table.h"
#include "heap/timeline.h"

/* How a block ended; the labels of the `end` column. */
typedef enum th_block_end {
  TH_END_LIVE,
  TH_END_FREE,
  TH_END_REALLOC,
  TH_END_DESTROY,
  TH_END_OVERWRITTEN,
  TH_END_EXIT,
  TH_BLOCK_ENDS
} th_block_end;

/* Oddities, of all events whatever the filter. */
typedef struct th_oddities {
  uint64_t unmatched_frees; /* of blocks never seen before */
  uint64_t adopted_blocks;
  uint64_t realloc_repairs;
  uint64_t size_mismatches;
  uint64_t handle_mismatches;
  uint64_t heaps_reused;
  uint64_t unattributed;     /* heap events without a process */
  uint64_t stack_wanted;     /* Alloc and ReAlloc events ... */
  uint64_t stack_seen;       /* ... with a stack */
} th_oddities;

/* Blocks that are no longer live in a running process, at their last size. */
typedef struct th_ended {
  th_amount by_event[TH_LIFETIME_CLASSES][TH_SIZE_CLASSES];
  th_amount by_exit[TH_SIZE_CLASSES];
} th_ended;

typedef struct th_ledger th_ledger;

/* Told of every block that passes the filter when it ends. False: no memory. */
typedef bool (*th_block_sink)(void *context, const th_ledger *ledger, uint32_t block,
                              th_block_end end, int64_t end_ns);

typedef struct th_ledger_options {
  uint64_t rule_ns;     /* a block that lives less is temporary */
  uint32_t buckets;     /* of the timeline; at least 1 */
  int64_t duration_ns;  /* of the trace; negative: not known: no growth, an adaptive timeline */
  const th_block_filter *filter; /* NULL: every block; borrowed */
  th_block_sink sink;            /* may be NULL */
  void *sink_context;
  bool numbered; /* blocks have serial numbers, for the sink or the filter */
} th_ledger_options;

/* Places of the columns of a batch; all have the same length. */
typedef struct th_heap_columns {
  const int64_t *time_ns;
  const uint32_t *pid, *tid, *stack_id;
  const uint8_t *kind;
  const uint64_t *heap, *address, *size, *old_address, *old_size;
} th_heap_columns;

struct th_ledger {
  th_ledger_options options;
  th_block_map map;
  th_owner_table owners;
  th_site_table sites;
  th_ended ended;
  th_oddities oddities;
  th_moments moments;
  th_amount running, peak;
  int64_t peak_ns;
  int64_t half_ns; /* INT64_MAX: passed or not known */
  int64_t next_ns; /* earlier of half time and the next bucket */
  int64_t latest_ns; /* of all events and marks so far */
  uint64_t events;
  uint64_t births;
  th_timeline timeline;
};

th_status th_ledger_init(th_ledger *ledger, const th_ledger_options *options, th_failure *failure);
void th_ledger_free(th_ledger *ledger);
/* Enters rows [first, last). After a failure the ledger can only be freed. */
th_status th_ledger_add(th_ledger *ledger, const th_heap_columns *columns, size_t first,
                        size_t last, th_failure *failure);
/* The pid's process has ended, or a new one has taken its pid. Its blocks end `exit`. */
th_status th_ledger_end_process(th_ledger *ledger, uint32_t pid, int64_t time_ns,
                                th_failure *failure);
/* Gives every block that passed the filter and is still live to `sink`, heap by heap, with
   TH_END_LIVE and `end_ns`. False: the sink had no memory. */
TH_NODISCARD bool th_ledger_each_live(const th_ledger *ledger, th_block_sink sink, void *context,
                                      int64_t end_ns);

#endif
