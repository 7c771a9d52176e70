/* Events of a whole file in the order of their time: the container behind one `next`. */
#ifndef TH_ETL_STREAM_H
#define TH_ETL_STREAM_H

#include "base/status.h"
#include "etl/event.h"
#include "etl/source.h"

/* What the recorder wrote into the first event of the file. */
typedef struct th_logfile {
  uint32_t buffer_size; /* nominal, bytes */
  uint8_t os_major, os_minor;
  uint32_t os_build;
  uint32_t processors;
  uint32_t pointer_size; /* of the recorder: a default, every event says its own */
  uint32_t log_file_mode;
  uint32_t buffers_written; /* 0: the session was never finished */
  uint32_t events_lost, buffers_lost;
  uint32_t cpu_mhz;
  uint32_t timer_resolution; /* 100 ns */
  uint32_t clock;            /* 1 QPC, 2 system time, 3 CPU cycles; 0 is read as 1 */
  uint64_t perf_frequency;   /* Hz */
  int64_t boot_time, start_time, end_time; /* FILETIME */
  int64_t first_time;        /* raw time of the first event: the trace's start */
  uint16_t compression;      /* 0 none, 2 LZNT1, 3 XPRESS, 4 XPRESS-Huffman, as declared */
  const uint16_t *session_name; /* UTF-16, owned by the stream */
  size_t session_name_units;
} th_logfile;

/* What the reader met and could not use. */
typedef struct th_stream_counts {
  uint64_t buffers, compressed_buffers;
  uint64_t events, events_by_kind[TH_HEADER_KINDS];
  uint64_t buffers_skipped, bytes_skipped, bad_events, unknown_headers, sequence_gaps;
  uint64_t reordered;          /* events earlier than the one before them in their lane */
  uint64_t unordered_streams;  /* lanes (logger, cpu) with such events */
  uint64_t flagged_event_loss, flagged_buffer_loss; /* buffers that carry these flags */
  uint64_t flagged_loss;       /* buffers that carry one of the two, or both */
  uint64_t bytes_read;         /* progress, of source.size */
  uint64_t first_events;       /* hash of where events begin: tells a copy from another part */
  bool truncated;
} th_stream_counts;

typedef struct th_stream th_stream;

typedef struct th_stream_options {
  unsigned threads; /* that read and unpack ahead besides the caller's; 0: none */
} th_stream_options;

/* Reads the header and the index of buffers. `source` is copied; its memory or file must stay. */
th_status th_stream_open(const th_source *source, const th_stream_options *options,
                         th_stream **stream, th_failure *failure);
/* The next event in order of time; *more is false at the end. Damage inside the file is counted,
   not an error. */
th_status th_stream_next(th_stream *stream, th_event *event, bool *more, th_failure *failure);
const th_logfile *th_stream_logfile(const th_stream *stream);
/* The raw time of the last event as th_last_time guesses it; disturbs nothing. */
th_status th_stream_last_time(const th_stream *stream, int64_t *last, th_failure *failure);
/* Complete once `next` has said that there is no more. */
const th_stream_counts *th_stream_counters(const th_stream *stream);
void th_stream_close(th_stream *stream); /* NULL is fine */

#endif
