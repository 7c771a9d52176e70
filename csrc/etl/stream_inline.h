/* The events of a stream many at a time: for whoever looks at millions of them. A reference says
   where an event is, when it was and what it is; its header is decoded on demand. */
#ifndef TH_ETL_STREAM_INLINE_H
#define TH_ETL_STREAM_INLINE_H

#include "etl/stream.h"

typedef struct th_event_ref {
  int64_t time;      /* raw */
  const uint8_t *at; /* the event's header on disk; its size is there */
  uint32_t origin;   /* which of the batch's origins it is from */
  uint32_t meta;     /* size and kind */
} th_event_ref;

/* Bytes of the event, its header included. */
TH_INLINE uint32_t th_event_ref_size(const th_event_ref *ref) { return ref->meta & 0xffff; }
/* th_header_kind; the header of that kind lies within the size. */
TH_INLINE unsigned th_event_ref_kind(const th_event_ref *ref) { return ref->meta >> 16; }

typedef struct th_event_origin {
  const uint8_t *bytes; /* of the buffer */
  uint64_t offset;      /* of the buffer in the file */
  uint16_t cpu, logger;
  bool packed;
} th_event_origin;

typedef struct th_event_batch {
  const th_event_ref *refs; /* `count` of them, in order of time */
  size_t count;             /* 0: there is no more */
  const th_event_origin *origins;
} th_event_batch;

/* The next events in order. They and all they point to are valid until the stream is asked again.
   Do not mix with th_stream_next. */
th_status th_stream_next_batch(th_stream *stream, th_event_batch *batch, th_failure *failure);
/* The uniform event of one of the batch; false when its inside is wrong, which is counted: such an
   event is to be passed over. Once for each event at most. */
bool th_stream_decode(th_stream *stream, const th_event_batch *batch, const th_event_ref *ref,
                      th_event *event);

#endif
