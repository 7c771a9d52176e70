/* A whole trace from any bytes: the stream of events to its end, then the decoder above it. Run by
   libFuzzer, or by replay_main.c over the files of a folder. */
#include "etl/stream.h"
#include "etl/trace.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Gives the bytes in pieces that end anywhere, as a file object may. */
static th_status read_some(void *context, uint64_t offset, void *buffer, size_t size, size_t *read,
                           th_failure *failure) {
  (void)failure;
  memcpy(buffer, (const uint8_t *)context + offset, size);
  *read = size;
  return TH_OK;
}

/* Looks at every byte that an event points to, so that a sanitizer sees one that is not there. */
static uint64_t touch(const uint8_t *bytes, size_t size) {
  uint64_t sum = 0;
  for (size_t i = 0; i < size; i++)
    sum += bytes[i];
  return sum;
}

static uint64_t stream_all(const th_source *source, uint64_t *events) {
  th_stream *stream;
  th_failure failure = {0};
  uint64_t sum = 0;
  if (th_stream_open(source, NULL, &stream, &failure) != TH_OK)
    return failure.status;
  th_event event;
  bool more = true;
  while (th_stream_next(stream, &event, &more, &failure) == TH_OK && more) {
    sum = sum * 31 + touch(event.payload, event.size) + (uint64_t)event.time;
    sum += touch(event.extended, event.extended_size);
    if (event.guid)
      sum += touch(event.guid, 16);
    ++*events;
  }
  const th_stream_counts *counts = th_stream_counters(stream);
  if (!more && *events + counts->bad_events < counts->events)
    abort(); /* an event was neither given out nor counted as bad */
  th_stream_close(stream);
  return sum;
}

static void decode_all(const th_source *source) {
  th_trace *trace;
  th_failure failure = {0};
  if (th_trace_open(source, 1, NULL, &trace, &failure) != TH_OK)
    return;
  bool more = true;
  while (more) {
    th_heap_batch batch;
    if (th_trace_next(trace, &batch, &more, &failure) != TH_OK)
      break;
    if (more)
      th_heap_batch_free(&batch);
  }
  th_trace_close(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  th_source memory = {.memory = data, .size = size};
  th_source reader = {.reader = read_some, .context = (void *)(uintptr_t)data, .size = size};
  uint64_t events = 0, again = 0;
  if (stream_all(&memory, &events) != stream_all(&reader, &again) || events != again)
    abort(); /* what is read must not depend on how */
  decode_all(&memory);
  return 0;
}
