#include "etl/trace.h"

#include "base/cursor.h"
#include "etl/heap_fill.h"
#include "etl/lost_event.h"
#include "etl/side_queue.h"

/* How long an event waits for its stack: the longest seen in real files was 52 ms. While it has not
   left it can still get one, up to a limit. */
#define WINDOW_NS 100000000u
/* Live, buffers that are not full are delivered once a second. */
#define LIVE_WINDOW_NS 1000000000u
#define LIMIT_NS 1000000000u

#define BIT(kind) (UINT32_C(1) << (kind))
#define HOOK_KINDS                                                                                 \
  (BIT(TH_HEADER_SYSTEM32) | BIT(TH_HEADER_SYSTEM64) | BIT(TH_HEADER_COMPACT32) |                  \
   BIT(TH_HEADER_COMPACT64) | BIT(TH_HEADER_PERFINFO32) | BIT(TH_HEADER_PERFINFO64))

#define STACK_PAYLOAD 0x10
#define STACK_HEAD 0x20 /* header, then time, pid and tid of the event it belongs to */

/* The class of these is not known to mean anything here. */
#define INSTANCE_KINDS (BIT(TH_HEADER_INSTANCE32) | BIT(TH_HEADER_INSTANCE64))

/* Notes are small: even thousands of modules are far below this. */
#define NOTE_BYTES ((size_t)256 << 20)

struct th_trace {
  th_streams *streams;
  th_stream *stream; /* that the events at hand are of */
  th_clock clock;
  th_dictionary *texts;
  th_heap_queue queue;
  th_stack_table stacks;
  th_stack_join join;
  th_process_model processes;
  th_module_model modules;
  th_volume_map volumes;
  th_trace_counts counts;
  th_heap_refs refs; /* events at hand */
  uint64_t blamed; /* bad payloads that were put down to a file */
  int64_t now; /* raw time of the latest event */
  th_side_queue notes;
  int64_t next_note; /* time of the first of them; INT64_MAX */
  bool ended;  /* no more events */
  bool final;  /* and the tables are made */
};

/* At least `ns` nanoseconds, up to 10^9, in raw time; saturated. */
static int64_t ticks_of(const th_clock *clock, uint64_t ns) {
  if (clock->denominator > (uint64_t)INT64_MAX / LIMIT_NS)
    return INT64_MAX;
  return (int64_t)(ns * clock->denominator / clock->numerator) + 1;
}

static void begin(th_trace *trace, const th_logfile *logfile) {
  th_clock_init(&trace->clock, logfile);
  trace->processes.texts = trace->modules.texts = trace->texts;
  trace->queue.times = th_row_clock_of(&trace->clock);
  trace->queue.window = ticks_of(&trace->clock, WINDOW_NS);
  trace->join.limit = ticks_of(&trace->clock, LIMIT_NS);
  trace->join.queue = &trace->queue;
  trace->join.stacks = &trace->stacks;
  trace->join.system_pointers = logfile->pointer_size;
  trace->counts.last_time = trace->now = trace->clock.zero;
  trace->notes.limit = NOTE_BYTES;
  trace->next_note = INT64_MAX;
}

th_status th_trace_open(const th_source *sources, size_t count, const th_stream_options *options,
                        th_trace **trace, th_failure *failure) {
  th_trace *made = th_mem_zero(sizeof *made);
  th_status status = TH_OK;
  if (!made)
    return th_fail_memory(failure);
  if (!(made->texts = th_dictionary_new())) {
    status = th_fail_memory(failure);
    goto done;
  }
  if ((status = th_streams_open(sources, count, options, &made->streams, failure)))
    goto done;
  begin(made, th_streams_logfile(made->streams));
  *trace = made;
  made = NULL;
done:
  th_trace_close(made);
  return status;
}

th_status th_trace_open_live(const th_logfile *logfile, th_trace **trace, th_failure *failure) {
  th_trace *made = th_mem_zero(sizeof *made);
  if (!made || !(made->texts = th_dictionary_new())) {
    th_mem_free(made);
    return th_fail_memory(failure);
  }
  begin(made, logfile);
  made->queue.window = ticks_of(&made->clock, LIVE_WINDOW_NS);
  *trace = made;
  return TH_OK;
}

static th_moment moment_of(const th_trace *trace, const th_event *event) {
  return (th_moment){.raw = event->time, .ns = th_clock_ns(&trace->clock, event->time)};
}

static bool take_process(th_trace *trace, const th_event *event) {
  th_process_event process;
  bool replaced;
  if (event->hook - 0x0301 > 3)
    return true; /* performance counters, defunct objects ... */
  if (!th_parse_process(event, &process)) {
    trace->counts.bad_payloads++;
    return true;
  }
  th_moment when = moment_of(trace, event);
  int64_t now = when.ns;
  if (!th_process_model_process(&trace->processes, &process, when, &replaced))
    return false;
  if (process.life != TH_LIFE_START && process.life != TH_LIFE_END)
    return true;
  if (!th_module_model_clear(&trace->modules, process.pid, now))
    return false;
  bool ends = process.life == TH_LIFE_END || replaced;
  return (!ends || th_heap_queue_mark(&trace->queue, TH_PROCESS_ENDS, process.pid, now)) &&
         (process.life == TH_LIFE_END ||
          th_heap_queue_mark(&trace->queue, TH_PROCESS_STARTS, process.pid, now));
}

static bool take_thread(th_trace *trace, const th_event *event) {
  th_thread_event thread;
  if (!th_is_thread(event))
    return true;
  if (th_parse_thread(event, &thread))
    return th_process_model_thread(&trace->processes, &thread, moment_of(trace, event));
  trace->counts.bad_payloads++;
  return true;
}

static bool take_image(th_trace *trace, const th_event *event) {
  th_image_event image;
  if (event->hook != 0x030a && event->hook - 0x1402 > 2)
    return true; /* the kernel's base, the hypercall page ... */
  if (th_parse_image(event, &image))
    return th_module_model_image(&trace->modules, &image, moment_of(trace, event));
  trace->counts.bad_payloads++;
  return true;
}

/* Classes that are not the kernel's. */
static bool take_other(th_trace *trace, const th_event *event) {
  th_image_id_event image_id;
  th_volume_event volume;
  th_lost_kind lost;
  if (!event->guid)
    return true;
  if (th_is_image_id(event)) {
    if (th_parse_image_id(event, &image_id))
      return th_module_model_identity(&trace->modules, &image_id, event->time);
    trace->counts.bad_payloads++;
  } else if (th_parse_volume(event, &volume)) {
    return th_volume_map_add(&trace->volumes, trace->texts, &volume);
  } else if (th_parse_lost(event, &lost)) {
    trace->counts.lost_events++;
  }
  return true;
}

/* Everything but heap events. */
static TH_NOINLINE bool take_event(th_trace *trace, const th_event *event) {
  bool valid, done;
  switch (event->hook >> 8) {
  case 0x18:
    done = th_stack_join_event(&trace->join, event, NULL, &valid);
    trace->counts.bad_payloads += !valid;
    return done;
  case 0x03:
    return event->hook == 0x030a ? take_image(trace, event) : take_process(trace, event);
  case 0x05:
    return take_thread(trace, event);
  case 0x14:
    return take_image(trace, event);
  default:
    return event->hook == TH_NO_HOOK ? take_other(trace, event) : true;
  }
}

/* What was noted up to `time`. */
static TH_NOINLINE bool take_notes(th_trace *trace, int64_t time) {
  const th_event *event;
  bool done = true;
  while (done && (event = th_side_queue_next(&trace->notes, time)) != NULL) {
    done = take_event(trace, event);
    th_side_queue_drop(&trace->notes);
  }
  const th_side_queue *notes = &trace->notes;
  trace->next_note =
      notes->first < notes->events.count ? notes->events.items[notes->first].event.time : INT64_MAX;
  return done;
}

th_status th_trace_note(th_trace *trace, const th_event *event, th_failure *failure) {
  if (!th_side_queue_add(&trace->notes, event))
    return trace->notes.bytes > NOTE_BYTES - UINT16_MAX - 1
               ? th_fail(failure, TH_INVALID, "too much was noted beside the trace")
               : th_fail_memory(failure);
  trace->next_note = trace->notes.events.items[trace->notes.first].event.time;
  return TH_OK;
}

th_status th_trace_settle_modules(th_trace *trace, th_failure *failure) {
  bool done = take_notes(trace, trace->now) &&
              th_module_model_finish(&trace->modules, &trace->volumes);
  return done ? TH_OK : th_fail_memory(failure);
}

TH_INLINE bool take_heap(th_trace *trace, th_heap_header header, th_heap_payload payload) {
  trace->counts.heap_events[payload.kind]++;
  trace->counts.unattributed += header.pid == TH_NO_ID;
  return th_heap_queue_add(&trace->queue, header, payload);
}

/* Heap events in headers of every kind. */
static bool take_heap_event(th_trace *trace, const th_event *event) {
  th_heap_payload payload;
  if (th_parse_heap_odd(event, &payload))
    return take_heap(trace, (th_heap_header){event->time, event->pid, event->tid, event->cpu},
                     payload);
  trace->counts.bad_payloads++;
  return true;
}

/* Whatever is not in the common form. */
static TH_NOINLINE bool take_any(th_trace *trace, const th_event_ref *ref) {
  th_event event;
  if (!th_stream_decode(trace->stream, ref, &event) || INSTANCE_KINDS >> ref->kind & 1)
    return true;
  return th_is_heap_event(&event) ? take_heap_event(trace, &event) : take_event(trace, &event);
}

/* Heap events as they nearly all are: a SYSTEM header of 32 bytes, then a known payload. */
TH_INLINE bool take_plain_heap(th_trace *trace, const th_event_ref *ref, unsigned opcode) {
  const uint8_t *at = ref->at;
  th_heap_payload payload;
  if (TH_UNLIKELY(!th_parse_heap_payload(at + 0x20, ref->size - 0x20u, opcode, at[0],
                                         ref->kind == TH_HEADER_SYSTEM64, &payload))) {
    trace->counts.bad_payloads++;
    return true;
  }
  return take_heap(trace,
                   (th_heap_header){.time = ref->time,
                                    .pid = th_load_u32(at + 0x0c),
                                    .tid = th_load_u32(at + 0x08),
                                    .cpu = trace->refs.cpus[ref->leaf]},
                   payload);
}

TH_INLINE bool is_plain_stack(const th_event_ref *ref) {
  return ref->kind == TH_HEADER_PERFINFO64 && th_load_u16(ref->at + 6) == 0x1820 &&
         ref->at[1] == 0 && ref->size >= STACK_HEAD;
}

static TH_NOINLINE bool take_plain_stack(th_trace *trace, const th_event_ref *ref) {
  th_event event = {.time = ref->time,
                    .payload = ref->at + STACK_PAYLOAD,
                    .pid = TH_NO_ID,
                    .tid = TH_NO_ID,
                    .hook = 0x1820,
                    .size = ref->size - STACK_PAYLOAD,
                    .cpu = th_stream_cpu(trace->stream, ref),
                    .kind = ref->kind,
                    .pointer_size = 8};
  bool valid;
  return th_stack_join_event(&trace->join, &event, NULL, &valid);
}

TH_INLINE bool take_ref(th_trace *trace, const th_event_ref *ref) {
  if (TH_UNLIKELY(ref->time >= trace->next_note) && !take_notes(trace, ref->time))
    return false;
  trace->now = ref->time;
  if (ref->time > trace->counts.last_time)
    trace->counts.last_time = ref->time;
  if (TH_UNLIKELY(!(HOOK_KINDS >> ref->kind & 1)))
    return take_any(trace, ref);
  uint32_t hook = th_load_u16(ref->at + 6);
  trace->counts.events_by_hook[hook]++;
  /* A second byte that is not 0 says that the header is longer. */
  if (TH_LIKELY(hook >> 8 == 0x10 && ref->kind <= TH_HEADER_SYSTEM64 && ref->at[1] == 0 &&
                th_is_heap_opcode(hook & 0xff)))
    return take_plain_heap(trace, ref, hook & 0xff);
  if (TH_LIKELY(is_plain_stack(ref)))
    return take_plain_stack(trace, ref);
  return take_any(trace, ref);
}

/* Plain events that were taken, the last of them at `time`. */
TH_INLINE void note_plain(th_trace *trace, th_heap_filled filled, int64_t time) {
  th_heap_queue_close(&trace->queue);
  trace->now = time;
  if (time > trace->counts.last_time)
    trace->counts.last_time = time;
  size_t frees = filled.rows - filled.allocs;
  trace->counts.heap_events[TH_HEAP_ALLOC] += filled.allocs;
  trace->counts.heap_events[TH_HEAP_FREE] += frees;
  trace->counts.events_by_hook[0x1020 + TH_HEAP_ALLOC] += filled.allocs;
  trace->counts.events_by_hook[0x1020 + TH_HEAP_FREE] += frees;
  trace->counts.events_by_hook[0x1820] += filled.stacks;
}

/* Plain events are taken up to here: no note comes between, and their times can be multiplied. */
TH_INLINE int64_t plain_limit(const th_trace *trace) {
  int64_t high = trace->queue.times.high;
  return trace->next_note < high ? trace->next_note : high;
}

/* The plain events that are next among the references, up to `events`; *taken: how many. */
static bool take_plain_refs(th_trace *trace, size_t events, size_t *taken) {
  th_heap_refs *refs = &trace->refs;
  th_heap_filled filled;
  *taken = 0;
  if (!trace->queue.open || refs->refs[refs->count - 1].time >= plain_limit(trace))
    return true;
  bool done = th_heap_fill(&trace->join, refs, events, &filled);
  *taken = filled.rows + filled.stacks;
  if (*taken)
    note_plain(trace, filled, refs->refs[refs->at - 1].time);
  return done;
}

/* The same from bytes, where that can be. */
static th_status take_plain_span(th_trace *trace, size_t events, size_t *taken,
                                 th_failure *failure) {
  th_stream *stream = th_streams_alone(trace->streams);
  th_stream_span span;
  th_heap_filled filled;
  bool some = false;
  *taken = 0;
  if (!stream || !trace->queue.open)
    return TH_OK;
  th_status status = th_stream_span_next(stream, &span, &some, failure);
  if (status != TH_OK || !some)
    return status;
  int64_t limit = plain_limit(trace);
  bool done = th_heap_fill_span(&trace->join, &span, events,
                                span.limit < limit ? span.limit : limit, &filled);
  th_stream_span_taken(stream, &span, filled.rows, filled.stacks);
  *taken = filled.rows + filled.stacks;
  if (*taken)
    note_plain(trace, filled, span.latest);
  return done ? TH_OK : th_fail_memory(failure);
}

th_status th_trace_step(th_trace *trace, size_t events, bool *more, th_failure *failure) {
  while (events > 0 && !trace->ended) {
    /* Between two batches: look whether the oldest one can go before another is begun. */
    if (TH_UNLIKELY(!trace->queue.open) &&
        th_heap_queue_ready(&trace->queue, trace->now, false))
      break;
    size_t taken;
    if (TH_UNLIKELY(trace->refs.at == trace->refs.count)) {
      th_streams_blame(trace->streams, trace->counts.bad_payloads - trace->blamed);
      trace->blamed = trace->counts.bad_payloads;
      th_status status = take_plain_span(trace, events, &taken, failure);
      if (status)
        return status;
      events -= taken;
      if (taken)
        continue;
      th_heap_refs next = {0};
      status =
          th_streams_refs(trace->streams, &trace->stream, &next.refs, &next.count, failure);
      if (status)
        return status;
      next.cpus = th_stream_cpus(trace->stream);
      trace->refs = next;
      trace->ended = next.count == 0;
      if (trace->ended && !take_notes(trace, INT64_MAX))
        return th_fail_memory(failure);
      continue;
    }
    if (!take_plain_refs(trace, events, &taken))
      return th_fail_memory(failure);
    events -= taken;
    if (taken)
      continue;
    events--;
    const th_event_ref *ref = &trace->refs.refs[trace->refs.at++];
    if (TH_UNLIKELY(!take_ref(trace, ref)))
      return th_fail_memory(failure);
  }
  *more = !trace->ended;
  return TH_OK;
}

th_status th_trace_push(th_trace *trace, const th_event *event, th_failure *failure) {
  if (event->time >= trace->next_note && !take_notes(trace, event->time))
    return th_fail_memory(failure);
  if (event->time > trace->now)
    trace->now = event->time;
  if (event->time > trace->counts.last_time)
    trace->counts.last_time = event->time;
  if (event->hook != TH_NO_HOOK)
    trace->counts.events_by_hook[event->hook & (TH_HOOKS - 1)]++;
  bool done = th_is_heap_event(event) ? take_heap_event(trace, event) : take_event(trace, event);
  return done ? TH_OK : th_fail_memory(failure);
}

bool th_trace_ready(const th_trace *trace) {
  return th_heap_queue_ready(&trace->queue, trace->now, trace->ended);
}

void th_trace_cut(th_trace *trace, bool idle) {
  th_heap_queue_cut(&trace->queue);
  if (idle && trace->now < INT64_MAX - trace->queue.window)
    trace->now += trace->queue.window + 1;
}

bool th_trace_end(th_trace *trace) {
  trace->ended = true;
  return take_notes(trace, INT64_MAX);
}

int64_t th_trace_now(const th_trace *trace) { return trace->now; }

/* Nothing can be added any more: put together what waited for that. */
static bool finish(th_trace *trace) {
  if (!th_stack_table_finish(&trace->stacks) ||
      !th_module_model_finish(&trace->modules, &trace->volumes))
    return false;
  trace->counts.unresolved_keys = th_stack_keys_unresolved(&trace->stacks.keys);
  trace->final = true;
  return true;
}

th_status th_trace_take(th_trace *trace, th_heap_batch *batch, bool *taken, th_failure *failure) {
  bool ready = th_heap_queue_ready(&trace->queue, trace->now, trace->ended);
  if (ready) {
    if (!th_heap_queue_take(&trace->queue, trace->now, trace->ended, &trace->stacks, batch))
      return th_fail_memory(failure);
    trace->counts.with_stack = trace->queue.with_stack;
  } else if (trace->ended && !trace->final && !finish(trace)) {
    return th_fail_memory(failure);
  }
  trace->counts.stack_parts = trace->join.seen;
  trace->counts.stacks_joined = trace->join.joined;
  trace->counts.stacks_unmatched = trace->join.unmatched;
  trace->counts.forced_rows = trace->queue.forced;
  *taken = ready;
  return TH_OK;
}

th_status th_trace_next(th_trace *trace, th_heap_batch *batch, bool *more, th_failure *failure) {
  bool got = true, taken;
  for (;;) {
    th_status status = th_trace_take(trace, batch, &taken, failure);
    if (status)
      return status;
    if (taken || trace->ended) {
      *more = taken;
      return TH_OK;
    }
    if ((status = th_trace_step(trace, SIZE_MAX, &got, failure)))
      return status;
  }
}

const th_streams *th_trace_streams(const th_trace *trace) { return trace->streams; }
const th_clock *th_trace_clock(const th_trace *trace) { return &trace->clock; }
const th_trace_counts *th_trace_counters(const th_trace *trace) { return &trace->counts; }
const th_process_model *th_trace_processes(const th_trace *trace) { return &trace->processes; }
const th_module_model *th_trace_modules(const th_trace *trace) { return &trace->modules; }
const th_stack_table *th_trace_stacks(const th_trace *trace) { return &trace->stacks; }

void th_trace_close(th_trace *trace) {
  if (!trace)
    return;
  th_streams_close(trace->streams);
  th_heap_queue_free(&trace->queue);
  th_stack_join_free(&trace->join);
  th_stack_table_free(&trace->stacks);
  th_process_model_free(&trace->processes);
  th_module_model_free(&trace->modules);
  th_volume_map_free(&trace->volumes);
  th_side_queue_free(&trace->notes);
  th_dictionary_drop(trace->texts);
  th_mem_free(trace);
}
