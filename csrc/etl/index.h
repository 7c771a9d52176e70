/* Where the buffers of a file are, and in what order they belong: a few bytes for each, so that the
   file itself is never in memory. */
#ifndef TH_ETL_INDEX_H
#define TH_ETL_INDEX_H

#include "base/vec.h"
#include "etl/source.h"
#include "etl/stream.h"

#define TH_NO_ENTRY UINT32_MAX

enum { TH_ENTRY_PACKED = 1, TH_ENTRY_CUT = 2 };

/* One buffer that can be read. */
typedef struct th_index_entry {
  uint64_t offset;  /* in the file */
  int64_t sequence;
  uint32_t size;    /* bytes in the file that are really there */
  uint32_t full;    /* bytes when expanded; the same as `size` when it is not packed */
  uint32_t end;     /* of the valid bytes, within `full` */
  uint32_t next;    /* the next buffer of the same lane, or TH_NO_ENTRY */
  uint16_t cpu, logger;
  uint8_t flags;
} th_index_entry;

/* A lane is what one processor wrote for one logger: its buffers hold its events in order. */
typedef struct th_lane_start {
  uint32_t first; /* entry */
  uint16_t cpu, logger;
} th_lane_start;

/* Entries are in order of (sequence, offset): an entry's number is its rank among equals. */
typedef struct th_index {
  TH_VEC(th_index_entry) entries;
  TH_VEC(th_lane_start) lanes;
} th_index;

/* Walks the file from buffer to buffer; counts what it meets (all of th_stream_counts that is about
   buffers). `index` must be zeroed, and freed in any case. */
th_status th_index_build(const th_source *source, th_index *index, th_stream_counts *counts,
                         th_failure *failure);
/* The end of the valid bytes of a buffer of `limit` bytes with this head; at least the head's. */
uint32_t th_buffer_valid_end(const uint8_t *head, uint32_t limit);
void th_index_free(th_index *index);

#endif
