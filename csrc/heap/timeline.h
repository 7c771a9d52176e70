/* The largest running sum in each of a number of equal spans of time. */
#ifndef TH_HEAP_TIMELINE_H
#define TH_HEAP_TIMELINE_H

#include "base/mem.h"
#include "heap/figures.h"

/* With a known duration D bucket k begins at D * k / count and the last one ends with the trace.
   Without one the buckets begin at width * k, and the width doubles whenever they run out: the
   maxima of joined buckets are still exact. */
typedef struct th_timeline {
  th_amount *points; /* `count` of them */
  uint32_t count;
  uint32_t at;       /* bucket of the latest event */
  int64_t duration;  /* negative: not known */
  int64_t width;     /* when it is not known */
  int64_t next;      /* when the next bucket begins */
} th_timeline;

/* False: no memory. `count` >= 1. */
TH_NODISCARD bool th_timeline_init(th_timeline *timeline, uint32_t count, int64_t duration_ns);
void th_timeline_free(th_timeline *timeline);
int64_t th_timeline_start(const th_timeline *timeline, uint32_t bucket);
/* To be called when `time_ns` >= next and before the sum changes then. */
void th_timeline_advance(th_timeline *timeline, int64_t time_ns, th_amount running);
/* To be called after every growth of the sum. */
TH_INLINE void th_timeline_raise(th_timeline *timeline, th_amount running) {
  th_amount *point = &timeline->points[timeline->at];
  if (running.bytes > point->bytes)
    *point = running;
}

#endif
