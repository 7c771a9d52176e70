/* The events of a stream many at a time: for whoever looks at millions of them. A reference says
   where an event is, when it was and what it is; its header is decoded on demand. */
#ifndef TH_ETL_STREAM_INLINE_H
#define TH_ETL_STREAM_INLINE_H

#include "etl/stream.h"

typedef struct th_event_ref {
  int64_t time;      /* raw */
  const uint8_t *at; /* the event's header on disk; `size` bytes are there */
  uint32_t leaf;     /* which buffer it is in: equal within a batch means equal processor, logger */
  uint16_t size;
  uint8_t kind; /* th_header_kind; the header of that kind lies within `size` */
  uint8_t plain; /* TH_NOT_PLAIN ... (plain_event.h) */
} th_event_ref;

/* The next events in order; *count is 0 at the end only. They and all they point to are valid until
   the stream is asked again. Do not mix with th_stream_next. */
th_status th_stream_refs(th_stream *stream, const th_event_ref **refs, size_t *count,
                         th_failure *failure);
/* Bytes of a buffer that are the next events, one behind the other, in order as far as was looked:
   because it is alone in the merge, or its events come many at a time. For whoever knows what they
   are. */
typedef struct th_stream_span {
  const uint8_t *bytes; /* the buffer */
  size_t at, end;       /* the next event and the end of the valid bytes */
  int64_t latest;       /* time of the event before */
  int64_t limit;        /* from this time on it is not its turn */
  size_t leaf;
  uint16_t cpu;
  bool backward; /* to be set by whoever meets an event that is earlier than the one before */
} th_stream_span;

/* For when all references are used up; *some is false when there is none now. */
th_status th_stream_span_next(th_stream *stream, th_stream_span *span, bool *some,
                              th_failure *failure);
/* So many events with SYSTEM64 and PERFINFO64 heads were taken, in order of time; `at` and `latest`
   have moved on. */
void th_stream_span_taken(th_stream *stream, const th_stream_span *span, size_t systems,
                          size_t perfinfos);

/* The uniform event; false when its inside is wrong, which is counted: it is to be passed over.
   For each reference once. */
bool th_stream_decode(th_stream *stream, const th_event_ref *ref, th_event *event);
/* The processor of an event. */
uint16_t th_stream_cpu(const th_stream *stream, const th_event_ref *ref);
/* The same for every leaf of the references at hand. */
const uint16_t *th_stream_cpus(const th_stream *stream);

#endif
