#include "reader.h"

#include "etl/trace.h"

#include <stdlib.h>

/* All values of a batch, as the bare loops sum them up. */
static void look_at_all(digest *d, const th_table *rows, const th_trace *trace) {
  static columns c;
  for (size_t i = 0; i < rows->count; i++) {
    c.time[0] = TH_COLUMN(rows, TH_HEAP_EVENT_TIME_NS, int64_t)[i];
    c.cpu[0] = TH_COLUMN(rows, TH_HEAP_EVENT_CPU, uint16_t)[i];
    c.pid[0] = TH_COLUMN(rows, TH_HEAP_EVENT_PID, uint32_t)[i];
    c.tid[0] = TH_COLUMN(rows, TH_HEAP_EVENT_TID, uint32_t)[i];
    c.kind[0] = TH_COLUMN(rows, TH_HEAP_EVENT_KIND, uint8_t)[i];
    c.heap[0] = TH_COLUMN(rows, TH_HEAP_EVENT_HEAP, uint64_t)[i];
    c.address[0] = TH_COLUMN(rows, TH_HEAP_EVENT_ADDRESS, uint64_t)[i];
    c.size[0] = TH_COLUMN(rows, TH_HEAP_EVENT_SIZE, uint64_t)[i];
    c.source[0] = TH_COLUMN(rows, TH_HEAP_EVENT_SOURCE, uint32_t)[i];
    c.stack[0] = TH_COLUMN(rows, TH_HEAP_EVENT_STACK_ID, uint32_t)[i];
    bool has = th_table_is_valid(rows, TH_HEAP_EVENT_STACK_ID, i);
    size_t count;
    const uint64_t *frames =
        has ? th_stack_table_frames(th_trace_stacks(trace), c.stack[0], &count) : NULL;
    if (has != (c.stack[0] != NO_STACK) || (has && !frames))
      exit(6);
    DIGEST_ROW(d, &c, 0, frames ? frames[0] : 0);
  }
}

digest read_all(const made_trace *made, unsigned threads, int every) {
  digest d = {.every = every, .last_time = INT64_MIN};
  th_source source = {.memory = made->bytes, .size = made->size};
  th_stream_options options = {.threads = threads};
  th_trace *trace;
  th_failure failure;
  if (th_trace_open(&source, 1, &options, &trace, &failure) != TH_OK)
    exit(3);
  th_heap_batch batch;
  bool more;
  while (th_trace_next(trace, &batch, &more, &failure) == TH_OK && more) {
    const uint64_t *address = TH_COLUMN(batch.rows, TH_HEAP_EVENT_ADDRESS, uint64_t);
    if (every)
      look_at_all(&d, batch.rows, trace);
    else
      for (size_t i = 0; i < batch.rows->count; i += 1024)
        d.sum += address[i];
    d.rows += batch.rows->count;
    th_heap_batch_free(&batch);
  }
  th_trace_close(trace);
  return d;
}
