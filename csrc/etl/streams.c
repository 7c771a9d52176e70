#include "etl/streams.h"

#include "base/mem.h"

/* Helpers of all files together, however many are asked for each; a file alone has what was asked
   for. */
#define MOST_HELPERS 8

typedef struct th_feed {
  th_stream *stream;
  const th_event_ref *refs; /* events at hand */
  size_t at, count;         /* next and number */
  uint64_t blamed;
} th_feed;

struct th_streams {
  size_t count, primed; /* files, and those that were asked for their first events */
  size_t waiting;       /* files in `order`: those that have events left */
  size_t last;          /* file whose references were given last */
  th_logfile logfile;
  th_stream *stream; /* this and the next: for th_streams_next */
  const th_event_ref *refs;
  size_t ref, ref_count;
  uint32_t order[TH_MAX_STREAMS]; /* a heap: the file with the earliest event first */
  th_feed feeds[];
};

/* --- opening --------------------------------------------------------------------------------- */

static uint32_t add_u32(uint32_t a, uint32_t b) { return a > UINT32_MAX - b ? UINT32_MAX : a + b; }

static bool finished(const th_logfile *logfile) {
  return logfile->end_time != 0 && logfile->buffers_written != 0;
}

static void unite(th_logfile *all, const th_logfile *one) {
  if (!finished(all) || !finished(one)) {
    all->end_time = 0;
    all->buffers_written = 0;
  } else {
    all->end_time = one->end_time > all->end_time ? one->end_time : all->end_time;
    all->buffers_written = add_u32(all->buffers_written, one->buffers_written);
  }
  if (one->first_time < all->first_time) { /* the two go together: they say what the clock showed */
    all->first_time = one->first_time;
    all->start_time = one->start_time;
  }
  all->events_lost = add_u32(all->events_lost, one->events_lost);
  all->buffers_lost = add_u32(all->buffers_lost, one->buffers_lost);
  all->log_file_mode |= one->log_file_mode;
  if (!all->boot_time)
    all->boot_time = one->boot_time;
}

static unsigned helpers(unsigned asked, size_t number, size_t count) {
  size_t most = MOST_HELPERS / count ? MOST_HELPERS / count : number < MOST_HELPERS;
  return count == 1 || asked < most ? asked : (unsigned)most;
}

th_status th_streams_open(const th_source *sources, size_t count, const th_stream_options *options,
                          th_streams **streams, th_failure *failure) {
  th_status status = TH_OK;
  th_streams *made = NULL;
  if (count == 0 || count > TH_MAX_STREAMS)
    return th_fail(failure, TH_INVALID, "too many files");
  if (!(made = th_mem_zero(sizeof *made + count * sizeof(th_feed))))
    return th_fail_memory(failure);
  made->count = count;
  for (size_t i = 0; i < count; i++) {
    th_stream_options own = {.threads = helpers(options ? options->threads : 0, i, count)};
    if ((status = th_stream_open(&sources[i], &own, &made->feeds[i].stream, failure)))
      goto done;
    const th_logfile *logfile = th_stream_logfile(made->feeds[i].stream);
    if (i)
      unite(&made->logfile, logfile);
    else
      made->logfile = *logfile;
  }
  *streams = made;
  made = NULL;
done:
  th_streams_close(made);
  return status;
}

void th_streams_close(th_streams *streams) {
  if (!streams)
    return;
  for (size_t i = 0; i < streams->count; i++)
    th_stream_close(streams->feeds[i].stream);
  th_mem_free(streams);
}

/* --- merging --------------------------------------------------------------------------------- */

TH_INLINE int64_t time_of(const th_streams *streams, uint32_t number) {
  const th_feed *feed = &streams->feeds[number];
  return feed->refs[feed->at].time;
}

/* Whether the next event of file `a` comes before that of file `b`. */
TH_INLINE bool comes_before(const th_streams *streams, uint32_t a, uint32_t b) {
  int64_t first = time_of(streams, a), second = time_of(streams, b);
  return first < second || (first == second && a < b);
}

/* Moves the first of the heap down to its place. */
static void sift_down(th_streams *streams) {
  uint32_t *order = streams->order, moving = order[0];
  size_t at = 0;
  for (size_t child; (child = 2 * at + 1) < streams->waiting; at = child) {
    if (child + 1 < streams->waiting && comes_before(streams, order[child + 1], order[child]))
      child++;
    if (!comes_before(streams, order[child], moving))
      break;
    order[at] = order[child];
  }
  order[at] = moving;
}

/* Adds a file to the heap. */
static void sift_up(th_streams *streams, uint32_t number) {
  uint32_t *order = streams->order;
  size_t at = streams->waiting++;
  for (; at && comes_before(streams, number, order[(at - 1) / 2]); at = (at - 1) / 2)
    order[at] = order[(at - 1) / 2];
  order[at] = number;
}

static th_status fill(th_feed *feed, th_failure *failure) {
  feed->at = feed->count = 0;
  return th_stream_refs(feed->stream, &feed->refs, &feed->count, failure);
}

/* Makes the file with the earliest event the first of the heap. */
static th_status settle(th_streams *streams, th_failure *failure) {
  th_status status;
  for (; streams->primed < streams->count; streams->primed++) { /* the first time */
    th_feed *feed = &streams->feeds[streams->primed];
    if ((status = fill(feed, failure)))
      return status;
    if (feed->count)
      sift_up(streams, (uint32_t)streams->primed);
  }
  while (streams->waiting) {
    th_feed *first = &streams->feeds[streams->order[0]];
    if (first->at == first->count) {
      if ((status = fill(first, failure)))
        return status;
      if (!first->count) {
        streams->order[0] = streams->order[--streams->waiting];
        continue;
      }
    }
    sift_down(streams);
    break;
  }
  return TH_OK;
}

/* Events of the first file that come before those of every other; at least one. */
static size_t stretch(const th_streams *streams, const th_feed *feed) {
  const uint32_t *order = streams->order;
  size_t left = feed->count - feed->at, count = 1;
  if (streams->waiting == 1)
    return left;
  uint32_t rival = order[1];
  if (streams->waiting > 2 && comes_before(streams, order[2], rival))
    rival = order[2];
  const th_event_ref *ref = feed->refs + feed->at;
  int64_t limit = time_of(streams, rival);
  bool tie = order[0] < rival; /* equal times are still this file's */
  while (count < left && (ref[count].time < limit || (tie && ref[count].time == limit)))
    count++;
  return count;
}

th_status th_streams_refs(th_streams *streams, th_stream **stream, const th_event_ref **refs,
                          size_t *count, th_failure *failure) {
  th_status status;
  if (streams->count == 1) {
    if (!(status = th_stream_refs(streams->feeds[0].stream, refs, count, failure)))
      *stream = streams->feeds[0].stream;
    return status;
  }
  if ((status = settle(streams, failure)))
    return status;
  if (streams->waiting)
    streams->last = streams->order[0];
  th_feed *feed = &streams->feeds[streams->last];
  size_t found = streams->waiting ? stretch(streams, feed) : 0;
  *stream = feed->stream;
  *refs = feed->refs + feed->at;
  *count = found;
  feed->at += found;
  return TH_OK;
}

th_status th_streams_next(th_streams *streams, th_event *event, bool *more, th_failure *failure) {
  do {
    if (TH_UNLIKELY(streams->ref == streams->ref_count)) {
      streams->ref = streams->ref_count = 0;
      th_status status = th_streams_refs(streams, &streams->stream, &streams->refs,
                                         &streams->ref_count, failure);
      if (status != TH_OK)
        return status;
      if (!streams->ref_count) {
        *more = false;
        return TH_OK;
      }
    }
  } while (!th_stream_decode(streams->stream, &streams->refs[streams->ref++], event));
  *more = true;
  return TH_OK;
}

/* --- what is known --------------------------------------------------------------------------- */

th_stream *th_streams_alone(const th_streams *streams) {
  return streams->count == 1 ? streams->feeds[0].stream : NULL;
}

size_t th_streams_count(const th_streams *streams) { return streams->count; }

const th_stream *th_streams_at(const th_streams *streams, size_t number) {
  return streams->feeds[number].stream;
}

const th_logfile *th_streams_logfile(const th_streams *streams) { return &streams->logfile; }

uint64_t th_streams_bytes_read(const th_streams *streams) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < streams->count; i++)
    bytes += th_stream_counters(streams->feeds[i].stream)->bytes_read;
  return bytes;
}

th_status th_streams_last_time(const th_streams *streams, int64_t *last, th_failure *failure) {
  int64_t latest = 0, one;
  for (size_t i = 0; i < streams->count; i++) {
    th_status status = th_stream_last_time(streams->feeds[i].stream, &one, failure);
    if (status)
      return status;
    if (i == 0 || one > latest)
      latest = one;
  }
  *last = latest;
  return TH_OK;
}

void th_streams_counters(const th_streams *streams, th_stream_counts *sum) {
  *sum = *th_stream_counters(streams->feeds[0].stream);
  for (size_t i = 1; i < streams->count; i++) {
    const th_stream_counts *one = th_stream_counters(streams->feeds[i].stream);
    sum->buffers += one->buffers;
    sum->compressed_buffers += one->compressed_buffers;
    sum->events += one->events;
    for (unsigned kind = 0; kind < TH_HEADER_KINDS; kind++)
      sum->events_by_kind[kind] += one->events_by_kind[kind];
    sum->buffers_skipped += one->buffers_skipped;
    sum->bytes_skipped += one->bytes_skipped;
    sum->bad_events += one->bad_events;
    sum->unknown_headers += one->unknown_headers;
    sum->sequence_gaps += one->sequence_gaps;
    sum->reordered += one->reordered;
    sum->unordered_streams += one->unordered_streams;
    sum->flagged_event_loss += one->flagged_event_loss;
    sum->flagged_buffer_loss += one->flagged_buffer_loss;
    sum->flagged_loss += one->flagged_loss;
    sum->bytes_read += one->bytes_read;
    sum->truncated |= one->truncated;
  }
}

void th_streams_blame(th_streams *streams, uint64_t events) {
  streams->feeds[streams->last].blamed += events;
}

uint64_t th_streams_blamed(const th_streams *streams, size_t number) {
  return streams->feeds[number].blamed;
}
