/* Lanes: what one processor wrote for one logger, buffer after buffer. A lane has one buffer, as a
   run, in the merge. One that runs backwards, or whose buffers all processors shared, has several
   at once, each put in order for itself: a window in which its events are sorted. */
#ifndef TH_ETL_LANE_H
#define TH_ETL_LANE_H

#include "etl/readahead.h"
#include "etl/run.h"

/* The window of a lane that may run backwards: at least this many buffers and bytes. */
#define TH_WINDOW_RUNS 4
#define TH_WINDOW_BYTES 1048576

typedef struct th_lane {
  int64_t time;        /* of the last event of the buffers that were begun */
  uint32_t next_entry; /* not begun; TH_NO_ENTRY: none */
  uint32_t active;     /* runs in the merge */
  uint64_t active_bytes;
  bool started;  /* it had an event */
  bool windowed; /* sorted in a window */
  bool backward; /* it did run backwards */
} th_lane;

/* Where the events of one leaf are from. */
typedef struct th_event_origin {
  const uint8_t *bytes; /* of the buffer */
  uint64_t offset;      /* of the buffer in the file */
  uint16_t cpu, logger;
  bool packed;
} th_event_origin;

/* No machine has more processors than 2048; this is those of two sessions. */
#define TH_MAX_LANES 4096
/* With lanes in windows. */
#define TH_MAX_LEAVES (TH_MAX_LANES * 4)

typedef struct th_lanes {
  th_source source;
  th_index index;
  th_stream_counts *counts;
  unsigned format; /* of packed buffers */
  bool shared;     /* all processors wrote into the same buffers */
  th_buffer_tools tools;
  th_readahead *ahead; /* NULL: none */
  th_lane *lanes;   /* index.lanes.count */
  uint32_t started; /* lanes that are in the merge, or through */
  TH_VEC(th_run *) leaves; /* the runs in the merge, in order of their entries' ranks */
  TH_VEC(th_event_origin) origins; /* of each */
  TH_VEC(uint16_t) cpus;           /* of each */
  th_run *unused;
  uint64_t held, held_max;
  size_t stretch;    /* events of each run that are walked over at a time */
  uint32_t unfilled; /* a lane that lacks a run; TH_NO_LANE: none */
} th_lanes;

#define TH_NO_LANE UINT32_MAX

/* Makes the lanes of an index that is built; an event without a time stamp takes `zero` as long as
   its lane has had none. `threads` read ahead. */
th_status th_lanes_init(th_lanes *lanes, int64_t zero, unsigned threads, th_failure *failure);
/* Brings the runs to where each has an event waiting: reads first and next buffers, walks on. After
   a failure it can be asked again. `few`: no more events than must be known, for a run that is
   taken as it stands; else as many as a slice wants. */
th_status th_lanes_ready(th_lanes *lanes, bool few, th_failure *failure);
/* Whether the lane of a run has buffers that are not begun. */
TH_INLINE bool th_lanes_has_more(const th_lanes *lanes, const th_run *run) {
  return lanes->lanes[run->lane].next_entry != TH_NO_ENTRY;
}
/* The run with the next event, when all can be taken as they stand: its events before `*limit` come
   before those of every other. *run is NULL when some cannot, or all are through. */
th_status th_lanes_first(th_lanes *lanes, const th_run **run, size_t *leaf, int64_t *limit,
                         th_failure *failure);
void th_lanes_free(th_lanes *lanes);

#endif
