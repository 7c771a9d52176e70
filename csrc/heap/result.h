/* The figures of a ledger at one moment, finished: copied out of it, so that it can go on. */
#ifndef TH_HEAP_RESULT_H
#define TH_HEAP_RESULT_H

#include "heap/ledger.h"

/* The five figures of a group, and the times that belong to them. */
typedef struct th_summary {
  th_amount live;
  th_amount at_peak;
  th_amount allocated;
  th_amount temporary;
  int64_t growth_bytes; /* live bytes at the end less those at half time */
  int64_t first_ns;     /* earliest and latest birth; TH_NEVER: no block at all */
  int64_t last_ns;
  double age_ns;        /* sum of the ages of the live blocks */
} th_summary;

typedef struct th_totals {
  th_amount allocations; /* bytes: with growth in place */
  th_amount frees;       /* bytes: with shrinkage in place */
  th_amount adopted;     /* first seen in a ReAlloc in place */
  th_amount overwritten; /* their address was given out again */
  th_amount destroyed;   /* gone with their heap */
  uint64_t reallocations;
  uint64_t heaps_created, heaps_destroyed;
} th_totals;

typedef struct th_site_row {
  uint32_t stack_id, instance;
  th_summary figures;
} th_site_row;

typedef struct th_heap_row {
  uint64_t handle;
  uint32_t instance;
  th_summary figures;
} th_heap_row;

typedef struct th_thread_row {
  uint32_t tid, instance;
  th_summary figures;
} th_thread_row;

typedef struct th_process_row {
  uint32_t pid;
  bool ended;
  int64_t first_ns; /* of its heap events */
  int64_t end_ns;   /* of the process when ended, else of the trace */
  th_amount peak;
  int64_t peak_ns;
  th_totals totals;
  th_summary figures;
} th_process_row;

/* Blocks of a class of sizes, by their last size. */
typedef struct th_size_row {
  th_amount all; /* adopted ones included */
  th_amount live;
} th_size_row;

typedef struct th_timeline_point {
  int64_t time_ns;
  th_amount running;
} th_timeline_point;

typedef struct th_result {
  int64_t end_ns;      /* the moment it shows */
  int64_t duration_ns; /* negative: was not known, so there is no growth */
  uint64_t rule_ns;
  uint64_t events; /* heap events seen */
  th_totals totals;
  th_oddities oddities;
  th_amount live, peak, temporary;
  int64_t peak_ns;
  /* These four have a row for each one of the ledger, in its order, empty ones included. */
  TH_VEC(th_site_row) sites;
  TH_VEC(th_heap_row) heaps;
  TH_VEC(th_thread_row) threads;
  TH_VEC(th_process_row) processes;
  th_size_row sizes[TH_SIZE_CLASSES];
  th_amount lifetimes[TH_LIFETIME_CLASSES]; /* of blocks that ended by an event */
  TH_VEC(th_timeline_point) timeline;
} th_result;

/* Takes the figures as of `end_ns`, not before the latest event. Does not disturb the ledger. */
th_status th_result_take(const th_ledger *ledger, int64_t end_ns, th_result *result,
                         th_failure *failure);
void th_result_free(th_result *result);

void th_summary_clear(th_summary *summary);
void th_summary_add(th_summary *into, const th_summary *more);

#endif
