/* Feeds an analysis from a thread of its own, so that the trace is decoded while the ledger works.
   What the analysis says is the same as without: it gets the same batches in the same order. */
#ifndef TH_HEAP_FEEDER_H
#define TH_HEAP_FEEDER_H

#include "heap/analysis.h"
#include "host/host.h"

/* Batches that may wait. */
#define TH_FEEDER_BATCHES 3

typedef struct th_feeder {
  th_analysis *analysis;
  bool wanted;  /* a thread, as soon as it is worth it: with the second batch */
  bool begun;   /* the first one came */
  bool started; /* then all below is there, and the analysis is the thread's */
  th_thread thread;
  th_mutex mutex; /* everything below */
  th_condition filled, emptied;
  th_heap_batch batches[TH_FEEDER_BATCHES]; /* a ring */
  size_t first, count;
  bool ending;
  th_failure failure; /* of the analysis; its status is TH_OK when there was none */
} th_feeder;

/* With `threaded` all but the first batch go to a thread, when the system has one to give. `feeder`
   stays where it is until `th_feeder_end`, and so does the analysis. */
void th_feeder_begin(th_feeder *feeder, th_analysis *analysis, bool threaded);
/* As th_analysis_add, but takes the batch, in any case; a failure may be that of an earlier one. */
th_status th_feeder_put(th_feeder *feeder, th_heap_batch *batch, th_failure *failure);
/* Waits until every batch is entered; with `drop` those that wait are thrown away. From then on the
   analysis is the caller's. To be called once after `begin`, whatever failed. */
th_status th_feeder_end(th_feeder *feeder, bool drop, th_failure *failure);

#endif
