/* A ledger that is fed with batches and owns its filter: for files from the first batch to the
   last, for live sessions as long as they run. */
#ifndef TH_HEAP_ANALYSIS_H
#define TH_HEAP_ANALYSIS_H

#include "etl/heap_batch.h"
#include "heap/result.h"

typedef struct th_analysis th_analysis;

/* `options.filter` and what it points to must stay as long as the analysis. */
th_status th_analysis_new(const th_ledger_options *options, th_analysis **analysis,
                          th_failure *failure);
void th_analysis_free(th_analysis *analysis); /* NULL is fine */
/* Enters the rows and the process marks of a batch, which stays the caller's. After a failure the
   analysis can only be freed: every further call fails in the same way. */
th_status th_analysis_add(th_analysis *analysis, const th_heap_batch *batch, th_failure *failure);
/* The figures up to now, at any time; the analysis goes on undisturbed. `end_ns` is the moment
   that ages are counted to; the latest event's time when that is later. */
th_status th_analysis_result(const th_analysis *analysis, int64_t end_ns, th_result *result,
                             th_failure *failure);
const th_ledger *th_analysis_ledger(const th_analysis *analysis);

#endif
