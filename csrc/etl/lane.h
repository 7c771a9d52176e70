/* Lanes: what one processor wrote for one logger, buffer after buffer. A lane has one buffer in the
   merge and at least one more behind it, looked at already: so a lane that runs backwards is noticed
   before its events go out. Such a lane has several buffers in the merge at once, each put in order
   for itself: a window in which its events are sorted. */
#ifndef TH_ETL_LANE_H
#define TH_ETL_LANE_H

#include "etl/merge.h"
#include "etl/run.h"

/* Looked at behind the buffer in the merge: one buffer, and more while they are small. */
#define TH_LANE_AHEAD 65536
/* The window of a lane that runs backwards: at least this many buffers and bytes. */
#define TH_LANE_WINDOW_RUNS 4
#define TH_LANE_WINDOW 1048576

typedef struct th_lane {
  int64_t time;         /* of the last event walked over */
  uint32_t next_entry;  /* not read yet; TH_NO_ENTRY: none */
  uint32_t active;      /* runs in the merge */
  uint64_t active_bytes, coming_bytes;
  th_run *coming, *last_coming; /* walked, not in the merge */
  bool started, unordered;
} th_lane;

/* One place in the merge. */
typedef struct th_leaf {
  th_run *run; /* NULL: empty */
  const uint8_t *bytes;
  uint64_t offset; /* of the buffer in the file */
  uint32_t lane;
  uint16_t cpu, logger;
  bool packed;
} th_leaf;

typedef struct th_lanes {
  th_source source;
  th_index index;
  th_stream_counts *counts;
  unsigned format; /* of packed buffers */
  th_buffer_tools tools;
  th_lane *lanes; /* index.lanes.count */
  size_t started; /* lanes that are in the merge or through */
  TH_VEC(th_leaf) leaves;
  th_merge merge;
  th_run *unused;
  uint64_t held, held_max;
  uint32_t spent; /* a leaf whose run is through and not replaced yet; UINT32_MAX: none */
} th_lanes;

/* Makes the lanes of an index that is built; every event without a time stamp takes `zero` as long
   as its lane has none. */
th_status th_lanes_init(th_lanes *lanes, int64_t zero, th_failure *failure);
/* Brings the merge to where its winner is the next event: reads the first buffers, replaces a run
   that is through. After a failure it can be asked again. */
th_status th_lanes_ready(th_lanes *lanes, th_failure *failure);
void th_lanes_free(th_lanes *lanes);

#endif
