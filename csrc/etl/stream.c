#include "etl/stream.h"

#include "etl/header.h"
#include "etl/lane.h"
#include "etl/last_time.h"
#include "etl/logfile.h"
#include "etl/slice.h"

/* The first event is shorter than that, wherever it ends. */
#define FIRST_READ (TH_BUFFER_HEAD + 65536)

/* EVENT_TRACE_NO_PER_PROCESSOR_BUFFERING */
#define MODE_SHARED_BUFFERS UINT32_C(0x10000000)

struct th_stream {
  th_lanes lanes;
  th_logfile logfile;
  th_stream_counts counts;
  uint16_t *session_name;
  size_t ref, ref_count; /* next and number, for th_stream_next */
  th_slicer slicer;
  bool in_spans; /* with many runs in the merge */
  size_t slices, spans, span_events; /* for note_slice and note_span */
};

/* Spans are worth it when a buffer has more events in turn than the good number, and no longer when
   less than the bad one; every so many slices that is looked at, and of as many events or spans. */
#define SPAN_GOOD 8
#define SPAN_BAD 5
#define SPAN_LEAVES 32
#define SLICES_LOOKED 8
#define LOOK_AT 64

/* --- opening --------------------------------------------------------------------------------- */

/* Reads the start of the file and says what the log header in it holds. */
static th_status read_logfile(th_stream *stream, uint8_t *bytes, th_failure *failure) {
  const th_source *source = &stream->lanes.source;
  size_t got;
  th_status status = th_source_read(source, 0, bytes, FIRST_READ, &got, failure);
  if (status != TH_OK)
    return status;
  if (got < TH_BUFFER_HEAD)
    return th_fail_corrupt(failure, 0, "this is not an event trace: it is too short");
  uint32_t size = th_load_u32(bytes + TH_BUFFER_SIZE);
  if (size < TH_BUFFER_HEAD || size > TH_MAX_BUFFER)
    return th_fail_corrupt(failure, 0,
                           "this is not an event trace: it does not begin with a buffer");
  uint32_t limit = size < source->size ? size : (uint32_t)source->size;
  size_t end = th_buffer_valid_end(bytes, limit);
  const uint8_t *name;
  status = th_logfile_read(bytes, end < got ? end : got, &stream->logfile, &name, failure);
  if (status != TH_OK)
    return status;
  size_t name_size = stream->logfile.session_name_units * 2;
  stream->session_name = th_mem_alloc(name_size);
  if (!stream->session_name)
    return th_fail_memory(failure);
  memcpy(stream->session_name, name, name_size);
  stream->logfile.session_name = stream->session_name;
  return TH_OK;
}

static th_status open_stream(th_stream *stream, const th_stream_options *options,
                             th_failure *failure) {
  uint8_t *bytes = th_mem_alloc(FIRST_READ);
  if (!bytes)
    return th_fail_memory(failure);
  th_status status = read_logfile(stream, bytes, failure);
  th_mem_free(bytes);
  if (status != TH_OK)
    return status;
  th_lanes *lanes = &stream->lanes;
  status = th_index_build(&lanes->source, &lanes->index, &stream->counts, failure);
  if (status != TH_OK)
    return status;
  lanes->format = stream->logfile.compression ? stream->logfile.compression : TH_PACKED_XPRESS;
  lanes->shared = stream->logfile.log_file_mode & MODE_SHARED_BUFFERS;
  return th_lanes_init(lanes, stream->logfile.first_time, options ? options->threads : 0, failure);
}

th_status th_stream_open(const th_source *source, const th_stream_options *options,
                         th_stream **stream, th_failure *failure) {
  th_stream *opened = th_mem_zero(sizeof *opened);
  if (!opened)
    return th_fail_memory(failure);
  opened->lanes.source = *source;
  opened->lanes.counts = &opened->counts;
  th_status status = open_stream(opened, options, failure);
  if (status != TH_OK) {
    th_stream_close(opened);
    return status;
  }
  *stream = opened;
  return TH_OK;
}

void th_stream_close(th_stream *stream) {
  if (!stream)
    return;
  th_lanes_free(&stream->lanes);
  th_slicer_free(&stream->slicer);
  th_mem_free(stream->session_name);
  th_mem_free(stream);
}

const th_logfile *th_stream_logfile(const th_stream *stream) { return &stream->logfile; }
const th_stream_counts *th_stream_counters(const th_stream *stream) { return &stream->counts; }

th_status th_stream_last_time(const th_stream *stream, int64_t *last, th_failure *failure) {
  const th_lanes *lanes = &stream->lanes;
  return th_last_time(&lanes->source, &lanes->index, lanes->format, stream->logfile.first_time,
                      last, failure);
}

/* --- events ---------------------------------------------------------------------------------- */

/* Whether events of one buffer come many at a time shows in the references, and in the spans. */
static void note_slice(th_stream *stream) {
  size_t count = stream->slicer.refs.count, changes = 1;
  const th_event_ref *refs = stream->slicer.refs.items;
  if (stream->slices++ % SLICES_LOOKED || count < LOOK_AT ||
      stream->lanes.leaves.count > SPAN_LEAVES)
    return;
  for (size_t i = 1; i < count; i++)
    changes += refs[i].leaf != refs[i - 1].leaf;
  stream->in_spans = count > changes * SPAN_GOOD;
  stream->spans = stream->span_events = 0;
}

static void note_span(th_stream *stream, size_t events) {
  stream->span_events += events;
  if (++stream->spans < LOOK_AT)
    return;
  stream->in_spans = stream->span_events > (size_t)LOOK_AT * SPAN_BAD;
  stream->spans = stream->span_events = 0;
}

th_status th_stream_refs(th_stream *stream, const th_event_ref **refs, size_t *count,
                         th_failure *failure) {
  th_lanes *lanes = &stream->lanes;
  th_status status = th_lanes_ready(lanes, false, failure);
  if (status != TH_OK)
    return status;
  if (!th_slice_next(&stream->slicer, lanes))
    return th_fail_memory(failure);
  note_slice(stream);
  *refs = stream->slicer.refs.items;
  *count = stream->slicer.refs.count;
  stream->counts.events += *count;
  return TH_OK;
}

th_status th_stream_span_next(th_stream *stream, th_stream_span *span, bool *some,
                              th_failure *failure) {
  th_lanes *lanes = &stream->lanes;
  *some = false;
  if (lanes->index.lanes.count != 1 && !stream->in_spans)
    return TH_OK;
  size_t leaf;
  int64_t limit;
  const th_run *run = NULL;
  th_status status = th_lanes_first(lanes, &run, &leaf, &limit, failure);
  if (status != TH_OK || !run)
    return status;
  *span = (th_stream_span){.bytes = run->buffer.bytes,
                           .at = run->events.items[run->at].at,
                           .end = run->end,
                           .latest = run->begun || run->at ? th_run_given(run) : INT64_MIN,
                           .limit = limit,
                           .leaf = leaf,
                           .cpu = lanes->cpus.items[leaf]};
  *some = true;
  return TH_OK;
}

void th_stream_span_taken(th_stream *stream, const th_stream_span *span, size_t systems,
                          size_t perfinfos) {
  th_run *run = stream->lanes.leaves.items[span->leaf];
  th_stream_counts *counts = &stream->counts;
  size_t events = systems + perfinfos;
  run->careful |= span->backward;
  if (stream->in_spans)
    note_span(stream, events);
  if (!events)
    return;
  counts->events += events;
  counts->events_by_kind[TH_HEADER_SYSTEM64] += systems;
  counts->events_by_kind[TH_HEADER_PERFINFO64] += perfinfos;
  th_run_pass(run, span->at, span->latest, events, counts);
}

bool th_stream_decode(th_stream *stream, const th_event_ref *ref, th_event *event) {
  const th_event_origin *origin = &stream->lanes.origins.items[ref->leaf];
  event->time = ref->time;
  event->offset = origin->offset + (origin->packed ? 0 : (uint64_t)(ref->at - origin->bytes));
  event->cpu = origin->cpu;
  event->logger = origin->logger;
  if (TH_LIKELY(th_header_decode(ref->at, ref->size, ref->kind, event)))
    return true;
  stream->counts.bad_events++;
  return false;
}

uint16_t th_stream_cpu(const th_stream *stream, const th_event_ref *ref) {
  return stream->lanes.origins.items[ref->leaf].cpu;
}

const uint16_t *th_stream_cpus(const th_stream *stream) { return stream->lanes.cpus.items; }

th_status th_stream_next(th_stream *stream, th_event *event, bool *more, th_failure *failure) {
  do {
    if (TH_UNLIKELY(stream->ref == stream->ref_count)) {
      stream->ref = stream->ref_count = 0;
      const th_event_ref *refs;
      th_status status = th_stream_refs(stream, &refs, &stream->ref_count, failure);
      if (status != TH_OK)
        return status;
      if (!stream->ref_count) {
        *more = false;
        return TH_OK;
      }
    }
  } while (!th_stream_decode(stream, &stream->slicer.refs.items[stream->ref++], event));
  *more = true;
  return TH_OK;
}
