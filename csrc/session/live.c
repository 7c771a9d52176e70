#include "session/live.h"

#include "base/mem.h"
#include "etl/guid_hook.h"
#include "etl/side_queue.h"
#include "host/host.h"

/* Events of the companion that wait for the heap session. More go ahead of their turn. */
#define SIDE_BYTES ((size_t)8 << 20)

/* When nothing has come for so long, no stack of an earlier event is on its way any more. */
#define QUIET_NS UINT64_C(2000000000)

typedef struct feed {
  th_live *live;
  th_sys_consumer consumer;
  th_thread thread;
  uint64_t trace;
  bool main, done;
} feed;

struct th_live {
  th_mutex lock;
  th_condition filled, emptied; /* of the queue */
  th_trace *trace;
  feed feeds[TH_LIVE_FEEDS];
  size_t feed_count;
  th_side_queue side;
  th_heap_batch *queue; /* a ring */
  size_t first, count, capacity;
  th_live_sink sink;
  th_live_counts counts;
  uint64_t last_ns; /* host time of the latest buffer */
  bool wanted;   /* somebody takes batches */
  bool taken;    /* and has taken one */
  bool handing;  /* a batch is on its way into the queue */
  bool quit;     /* nothing is wanted any more */
  bool ended;    /* nothing will come any more */
  bool failed;
  th_failure failure;
};

static void end_feed(feed *of, uint32_t code);

th_status th_live_new(uint32_t clock, size_t batches, th_live **live, th_failure *failure) {
  th_logfile logfile = {.clock = clock, .pointer_size = sizeof(void *)};
  uint32_t code = th_sys_raw_clock(clock, &logfile.first_time, &logfile.perf_frequency);
  if (code)
    return th_fail_system(failure, "QueryPerformanceCounter", code);
  logfile.start_time = (int64_t)th_host_file_time();
  th_live *made = th_mem_zero(sizeof *made);
  if (!made)
    return th_fail_memory(failure);
  bool locks = th_mutex_init(&made->lock);
  if (!locks || !th_condition_init(&made->filled)) {
    if (locks)
      th_mutex_destroy(&made->lock);
    th_mem_free(made);
    return th_fail_memory(failure);
  }
  if (!th_condition_init(&made->emptied)) {
    th_condition_destroy(&made->filled);
    th_mutex_destroy(&made->lock);
    th_mem_free(made);
    return th_fail_memory(failure);
  }
  made->capacity = batches;
  made->side.limit = SIDE_BYTES;
  made->last_ns = th_host_now_ns();
  made->queue = th_mem_zero_array(batches, sizeof *made->queue);
  th_status status = made->queue ? th_trace_open_live(&logfile, &made->trace, failure)
                                 : th_fail_memory(failure);
  if (status) {
    th_live_free(made);
    return status;
  }
  *live = made;
  return TH_OK;
}

static void fail(th_live *live, const th_failure *failure) {
  if (!live->failed) {
    live->failed = true;
    live->failure = *failure;
  }
}

/* ----- batches on their way; all with the lock held ------------------------------------------ */

static void put(th_live *live, th_heap_batch *batch) {
  live->queue[(live->first + live->count++) % live->capacity] = *batch;
  th_condition_signal(&live->filled);
}

/* One batch to the sink and into the queue. `wait`: until there is room for it. */
static void hand_on(th_live *live, th_heap_batch *batch, bool wait) {
  th_failure failure;
  uint64_t rows = batch->rows->count;
  live->counts.rows += rows;
  if (live->sink.add && live->sink.add(live->sink.context, batch, &failure) != TH_OK)
    fail(live, &failure);
  bool had_sink = live->sink.add != NULL;
  bool queued = !had_sink || live->wanted;
  if (queued && live->count == live->capacity && wait) {
    live->counts.waits++;
    live->handing = true;
    while (live->count == live->capacity && !live->quit)
      th_condition_wait(&live->emptied, &live->lock);
    live->handing = false;
    /* A sink that came meanwhile has had the queue; this one is next. */
    if (live->sink.add && !had_sink) {
      queued = live->wanted;
      if (!live->quit && live->sink.add(live->sink.context, batch, &failure) != TH_OK)
        fail(live, &failure);
    }
  }
  if (queued && !live->quit && live->count < live->capacity) {
    put(live, batch);
    return;
  }
  if (queued)
    live->counts.discarded += rows;
  th_heap_batch_free(batch);
}

static void take_ready(th_live *live, bool wait) {
  while (!live->failed && th_trace_ready(live->trace) &&
         (wait || live->count < live->capacity || (live->sink.add && !live->wanted))) {
    th_heap_batch batch = {0};
    th_failure failure;
    bool taken;
    if (th_trace_take(live->trace, &batch, &taken, &failure) != TH_OK)
      fail(live, &failure);
    else if (taken)
      hand_on(live, &batch, wait);
  }
}

static void push(th_live *live, const th_event *event) {
  th_failure failure;
  if (live->failed)
    return;
  if (th_trace_push(live->trace, event, &failure) != TH_OK)
    fail(live, &failure);
}

static void push_side(th_live *live, int64_t time) {
  const th_event *event;
  while ((event = th_side_queue_next(&live->side, time)) != NULL) {
    push(live, event);
    th_side_queue_drop(&live->side);
    take_ready(live, true);
  }
}

/* ----- what ETW calls ------------------------------------------------------------------------- */

static void on_record(void *context, const th_sys_record *record) {
  feed *of = context;
  th_live *live = of->live;
  th_event event = {.time = record->time,
                    .payload = record->payload,
                    .guid = record->guid,
                    .pid = record->pid,
                    .tid = record->tid,
                    .hook = th_guid_hook(record->guid, record->opcode),
                    .size = record->size,
                    .cpu = record->cpu,
                    .logger = record->logger,
                    .id = record->id,
                    .version = record->version,
                    .kind = TH_HEADER_LIVE,
                    .opcode = record->opcode,
                    .level = record->level,
                    .pointer_size = record->flags & TH_RECORD_32_BIT   ? 4
                                    : record->flags & TH_RECORD_64_BIT ? 8
                                                                       : sizeof(void *)};
  th_mutex_lock(&live->lock);
  if (!live->quit && !live->failed && !live->ended) {
    live->counts.records++;
    if (of->main) {
      push_side(live, event.time);
      push(live, &event);
      take_ready(live, true);
    } else if (live->feeds[0].done || event.time <= th_trace_now(live->trace) ||
               !th_side_queue_add(&live->side, &event)) {
      push(live, &event);
      take_ready(live, true);
    }
  }
  th_mutex_unlock(&live->lock);
}

static bool on_buffer(void *context) {
  th_live *live = ((feed *)context)->live;
  th_mutex_lock(&live->lock);
  bool go_on = !live->quit && !live->failed;
  live->last_ns = th_host_now_ns();
  th_mutex_unlock(&live->lock);
  return go_on;
}

static void run_feed(void *argument) {
  feed *of = argument;
  end_feed(of, th_sys_process_trace(of->trace));
}

/* Everything that came is handed on, and what the tables need is put together. */
static void end_trace(th_live *live) {
  th_heap_batch batch = {0};
  th_failure failure;
  bool taken = false;
  push_side(live, INT64_MAX);
  if (!th_trace_end(live->trace)) {
    th_fail_memory(&failure);
    fail(live, &failure);
  }
  take_ready(live, true);
  /* The call that finds nothing makes the tables final. */
  if (!live->failed && !th_trace_ready(live->trace) &&
      th_trace_take(live->trace, &batch, &taken, &failure) != TH_OK)
    fail(live, &failure);
}

static void end_feed(feed *of, uint32_t code) {
  th_live *live = of->live;
  th_failure failure;
  bool all = true;
  th_mutex_lock(&live->lock);
  of->done = true;
  for (size_t i = 0; i < live->feed_count; i++)
    all = all && live->feeds[i].done;
  if (of->main && !all)
    push_side(live, INT64_MAX);
  /* One that fails ends it all: without the other, the events are not what they seem. */
  bool broken = code && !live->quit && !live->failed && !live->ended;
  if ((all || broken) && !live->failed && !live->quit && !live->ended)
    end_trace(live);
  if (broken && !live->failed) {
    th_fail_system(&failure, "ProcessTrace", code);
    fail(live, &failure);
  }
  live->ended = live->ended || all || live->failed;
  th_condition_broadcast(&live->filled);
  th_mutex_unlock(&live->lock);
}

th_status th_live_open(th_live *live, const uint16_t *name, th_failure *failure) {
  feed *of = &live->feeds[live->feed_count];
  th_sys_trace_header header;
  *of = (feed){.live = live, .main = live->feed_count == 0};
  of->consumer = (th_sys_consumer){of, on_record, on_buffer};
  uint32_t code = th_sys_open_trace(name, &of->consumer, &of->trace, &header);
  if (code)
    return th_fail_system(failure, "OpenTraceW", code);
  th_mutex_lock(&live->lock);
  live->feed_count++; /* before its thread can end */
  th_mutex_unlock(&live->lock);
  if (th_thread_start(&of->thread, run_feed, of))
    return TH_OK;
  (void)th_sys_close_trace(of->trace);
  th_mutex_lock(&live->lock);
  live->feed_count--;
  th_mutex_unlock(&live->lock);
  return th_fail_memory(failure);
}

/* ----- whoever takes --------------------------------------------------------------------------- */

/* Hands on what lies in unfilled batches. */
static void settle(th_live *live) {
  if (live->handing || live->ended || live->failed || live->quit)
    return;
  bool quiet = th_host_now_ns() - live->last_ns >= QUIET_NS;
  if (quiet)
    push_side(live, INT64_MAX);
  th_trace_cut(live->trace, quiet);
  take_ready(live, false);
}

th_status th_live_next(th_live *live, uint64_t timeout_ns, th_heap_batch *batch,
                       th_live_answer *answer, th_failure *failure) {
  th_status status = TH_OK;
  th_mutex_lock(&live->lock);
  live->wanted = true;
  if (!live->count && !live->ended && timeout_ns) {
    th_condition_wait_ns(&live->filled, &live->lock, timeout_ns);
    if (!live->count)
      settle(live);
  }
  if (live->count) {
    live->taken = true;
    *batch = live->queue[live->first];
    live->first = (live->first + 1) % live->capacity;
    live->count--;
    th_condition_signal(&live->emptied);
    *answer = TH_LIVE_BATCH;
  } else if (live->ended && live->failed) {
    *failure = live->failure;
    status = failure->status;
  } else {
    *answer = live->ended ? TH_LIVE_END : TH_LIVE_NOTHING;
  }
  th_mutex_unlock(&live->lock);
  return status;
}

th_status th_live_attach(th_live *live, const th_live_sink *sink, th_failure *failure) {
  th_status status = TH_OK;
  th_mutex_lock(&live->lock);
  if (live->taken || live->sink.add || live->counts.discarded) {
    status = th_fail(failure, TH_INVALID,
                     live->sink.add ? "the events are being analyzed already"
                                    : "events have been taken already: the analysis would miss "
                                      "them; ask for it first");
  } else {
    for (size_t i = 0; i < live->count && status == TH_OK; i++)
      status = sink->add(sink->context, &live->queue[(live->first + i) % live->capacity], failure);
    if (status == TH_OK) {
      live->sink = *sink;
      for (; !live->wanted && live->count; live->count--) {
        th_heap_batch_free(&live->queue[live->first]);
        live->first = (live->first + 1) % live->capacity;
      }
      th_condition_broadcast(&live->emptied);
    }
  }
  th_mutex_unlock(&live->lock);
  return status;
}

th_trace *th_live_hold(th_live *live) {
  th_mutex_lock(&live->lock);
  settle(live);
  return live->trace;
}

void th_live_release(th_live *live) { th_mutex_unlock(&live->lock); }

bool th_live_ended(const th_live *live) { return live->ended; }

void th_live_counters(th_live *live, th_live_counts *counts) {
  th_mutex_lock(&live->lock);
  *counts = live->counts;
  th_mutex_unlock(&live->lock);
}

/* The queue is full, and a batch waits for room. */
static bool is_stuck(const th_live *live) {
  return live->handing && live->count == live->capacity;
}

bool th_live_wait_end(th_live *live, uint64_t timeout_ns) {
  th_mutex_lock(&live->lock);
  if (!live->ended && !is_stuck(live))
    th_condition_wait_ns(&live->filled, &live->lock, timeout_ns);
  bool over = live->ended || is_stuck(live);
  th_mutex_unlock(&live->lock);
  return over;
}

void th_live_close(th_live *live) {
  th_mutex_lock(&live->lock);
  bool was_open = !live->quit;
  live->quit = true;
  th_condition_broadcast(&live->emptied);
  th_condition_broadcast(&live->filled);
  th_mutex_unlock(&live->lock);
  /* Each ends after the buffer it is at; one that is still at work answers "close pending". */
  for (size_t i = 0; was_open && i < live->feed_count; i++)
    (void)th_sys_close_trace(live->feeds[i].trace);
  for (size_t i = 0; was_open && i < live->feed_count; i++)
    th_thread_join(&live->feeds[i].thread);
  th_mutex_lock(&live->lock);
  live->ended = true;
  for (; live->count; live->count--) {
    live->counts.discarded += live->queue[live->first].rows->count;
    th_heap_batch_free(&live->queue[live->first]);
    live->first = (live->first + 1) % live->capacity;
  }
  th_mutex_unlock(&live->lock);
}

void th_live_free(th_live *live) {
  if (!live)
    return;
  th_live_close(live);
  th_trace_close(live->trace);
  th_side_queue_free(&live->side);
  th_mem_free(live->queue);
  th_condition_destroy(&live->emptied);
  th_condition_destroy(&live->filled);
  th_mutex_destroy(&live->lock);
  th_mem_free(live);
}
