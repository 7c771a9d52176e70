/* The next events of many runs in one order: all that are earlier than the time up to which every
   run is known. They are counted into narrow intervals of time, put in their places, and what is
   left out of order within an interval is moved: a few steps for each event, however many runs
   there are. */
#ifndef TH_ETL_SLICE_H
#define TH_ETL_SLICE_H

#include "etl/lane.h"
#include "etl/stream_inline.h"

#define TH_SLICE_INTERVALS 512

typedef struct th_slicer {
  uint32_t places[TH_SLICE_INTERVALS + 1];
  TH_VEC(th_event_ref) refs; /* what was made last */
} th_slicer;

/* Makes references to the next events; none when all runs are through. False: no memory, nothing
   changed. The lanes must be ready. */
TH_NODISCARD bool th_slice_next(th_slicer *slicer, th_lanes *lanes);
void th_slicer_free(th_slicer *slicer);

#endif
