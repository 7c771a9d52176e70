/* Several files of one recording as one stream: their events in the order of time. At equal times
   the file given first goes first, and within a file its own order holds. One file alone is passed
   on as it is.

   Whether the files belong together is for the caller to say: nothing here fails when not. */
#ifndef TH_ETL_STREAMS_H
#define TH_ETL_STREAMS_H

#include "etl/stream_inline.h"

/* A session that begins a new file every so many megabytes makes a few dozen. */
#define TH_MAX_STREAMS 256

typedef struct th_streams th_streams;

/* `count`: 1 to TH_MAX_STREAMS. Sources are copied; their memory or files must stay. The files
   share the helpers when there are more than a few. */
th_status th_streams_open(const th_source *sources, size_t count, const th_stream_options *options,
                          th_streams **streams, th_failure *failure);
/* The next events in order, all of one file, which is *stream; *count is 0 at the end only. Valid
   until the streams are asked again. Do not mix with th_streams_next. */
th_status th_streams_refs(th_streams *streams, th_stream **stream, const th_event_ref **refs,
                          size_t *count, th_failure *failure);
/* The next event; *more is false at the end. */
th_status th_streams_next(th_streams *streams, th_event *event, bool *more, th_failure *failure);

/* The file that is the only one; NULL when there are several. */
th_stream *th_streams_alone(const th_streams *streams);
size_t th_streams_count(const th_streams *streams);
/* In the order in which they were given. */
const th_stream *th_streams_at(const th_streams *streams, size_t number);
/* Of the recording: start of the earliest file and end of the latest, 0 and `buffers_written` 0
   when one was never finished; modes are united and losses added up, saturated; the rest as the
   first file has it. */
const th_logfile *th_streams_logfile(const th_streams *streams);
/* Added up over the files. */
void th_streams_counters(const th_streams *streams, th_stream_counts *sum);
uint64_t th_streams_bytes_read(const th_streams *streams);
/* The raw time of the last event of all files, as th_last_time guesses it; disturbs nothing. */
th_status th_streams_last_time(const th_streams *streams, int64_t *last, th_failure *failure);

/* Counts events of the file whose references were given last as damaged inside; and how many. */
void th_streams_blame(th_streams *streams, uint64_t events);
uint64_t th_streams_blamed(const th_streams *streams, size_t number);

void th_streams_close(th_streams *streams); /* NULL is fine */

#endif
