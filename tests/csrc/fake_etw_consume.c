/* Consumption of trace sessions, over the script. */
#include "fake_etw.h"

#include "host/host.h"
#include "session/properties.h"

#include <stdlib.h>
#include <string.h>

#define MAX_OPEN 16
#define POLL_NS UINT64_C(1000000)
#define FLAGS_64 (0x0100u | TH_RECORD_64_BIT | TH_RECORD_CPU_INDEX)

typedef struct open_trace {
  uint64_t handle;
  uint64_t session;
  bool heap, processing, closing;
  const th_sys_consumer *consumer;
} open_trace;

static open_trace traces[MAX_OPEN];
static uint64_t next_trace = 1;

static open_trace *find_trace(uint64_t handle) {
  for (size_t i = 0; i < MAX_OPEN; i++)
    if (handle && traces[i].handle == handle)
      return &traces[i];
  return NULL;
}

uint32_t th_sys_open_trace(const uint16_t *name, const th_sys_consumer *consumer, uint64_t *trace,
                           th_sys_trace_header *header) {
  FAKE_CALL(call, "OpenTraceW");
  uint32_t code = fake_begin(&call, FAKE_NO_PID);
  const fake_session *session = fake_find_session_named(name);
  open_trace *place = NULL;
  for (size_t i = 0; i < MAX_OPEN && !place; i++)
    if (!traces[i].handle)
      place = &traces[i];
  if (code == 0 && (!session || !(session->mode & TH_LOG_REAL_TIME)))
    code = TH_ERROR_SESSION_NOT_FOUND;
  if (code == 0 && !place)
    code = TH_ERROR_NO_SYSTEM_RESOURCES;
  if (code == 0) {
    *place = (open_trace){.handle = next_trace++,
                          .session = session->handle,
                          .heap = fake_is_heap(session),
                          .consumer = consumer};
    *header = (th_sys_trace_header){.buffer_size = session->buffer_kb << 10,
                                    .os_build = 19041,
                                    .processors = 1,
                                    .pointer_size = 8,
                                    .cpu_mhz = 3000,
                                    .timer_resolution = 156250,
                                    .clock = session->clock,
                                    .os_major = 10,
                                    .perf_frequency = fake_etw.frequency,
                                    .start_time = fake_etw.start_time};
    *trace = place->handle;
  }
  fake_end();
  return code;
}

/* ----- what is delivered ----- */

typedef struct delivery {
  const th_sys_consumer *consumer;
  fake_script script; /* a copy: its events stay */
  uint64_t handle, session;
  uint64_t delivered;
  bool go_on;
} delivery;

static void deliver(delivery *to, const th_sys_record *record) {
  to->consumer->record(to->consumer->context, record);
  to->delivered++;
  if (to->script.per_buffer && to->delivered % to->script.per_buffer == 0)
    to->go_on = to->consumer->buffer(to->consumer->context);
  if (to->script.fail_code && to->delivered >= to->script.fail_after)
    to->go_on = false;
}

static void deliver_script(delivery *to) {
  for (size_t i = 0; i < to->script.count && to->go_on; i++) {
    const fake_event *event = &to->script.events[i];
    th_sys_record record = {.time = event->time,
                            .guid = event->guid,
                            .payload = event->payload,
                            .pid = event->pid,
                            .tid = event->tid,
                            .size = event->size,
                            .flags = event->flags,
                            .cpu = event->cpu,
                            .version = event->version,
                            .opcode = event->opcode};
    deliver(to, &record);
  }
}

/* Number `i` of the flood: even ones allocate a block of 16 + (i / 2) % 100 bytes at one of 4096
   addresses in turn, odd ones free it. */
static void deliver_flood(delivery *to, uint64_t i, int64_t start) {
  uint8_t payload[28] = {0};
  uint64_t heap = 0x10000, pair = i / 2, size = 16 + pair % 100;
  uint64_t address = 0x20000000 + pair % 4096 * 128;
  uint32_t source = 2;
  bool frees = i & 1;
  memcpy(payload, &heap, 8);
  memcpy(payload + 8, frees ? &address : &size, 8);
  memcpy(payload + 16, frees ? (const void *)&source : &address, frees ? 4 : 8);
  if (!frees)
    memcpy(payload + 24, &source, 4);
  th_sys_record record = {.time = start + (int64_t)i,
                          .guid = th_heap_guid,
                          .payload = payload,
                          .pid = 10,
                          .tid = 11,
                          .size = frees ? 20 : 28,
                          .flags = FLAGS_64,
                          .version = 2,
                          .opcode = frees ? 36 : 33};
  deliver(to, &record);
}

/* The one who logs, beside the one who delivers: what does not fit into the ring is lost. */
typedef struct flood {
  th_mutex lock;
  uint64_t *ring;
  uint64_t count, capacity, head, tail, lost;
  bool over;
} flood;

static void log_flood(void *argument) {
  flood *of = argument;
  for (uint64_t i = 0; i < of->count; i++) {
    th_mutex_lock(&of->lock);
    if (of->tail - of->head == of->capacity)
      of->lost++;
    else
      of->ring[of->tail++ % of->capacity] = i;
    th_mutex_unlock(&of->lock);
  }
  th_mutex_lock(&of->lock);
  of->over = true;
  th_mutex_unlock(&of->lock);
}

static void deliver_ring(delivery *to, int64_t start) {
  flood of = {.count = to->script.flood, .capacity = to->script.ring};
  th_thread thread;
  bool over = false;
  of.ring = fake_memory_of(NULL, of.capacity * sizeof *of.ring);
  if (!th_mutex_init(&of.lock) || !th_thread_start(&thread, log_flood, &of))
    abort();
  while (!over && to->go_on) {
    uint64_t number = 0;
    th_mutex_lock(&of.lock);
    bool some = of.head != of.tail;
    if (some)
      number = of.ring[of.head++ % of.capacity];
    over = !some && of.over;
    th_mutex_unlock(&of.lock);
    if (some)
      deliver_flood(to, number, start);
  }
  th_thread_join(&thread);
  fake_lock();
  fake_session *session = fake_find_session(to->session);
  if (session)
    session->events_lost += (uint32_t)of.lost;
  fake_unlock();
  th_mutex_destroy(&of.lock);
  free(of.ring);
}

/* Until the session ends or the trace is closed; with `others`, also until so many others have
   delivered everything. */
static void wait_for(uint64_t handle, uint64_t session, uint32_t others) {
  th_mutex lock;
  th_condition never;
  if (!th_mutex_init(&lock) || !th_condition_init(&never))
    abort();
  for (bool over = false; !over;) {
    fake_lock();
    const open_trace *trace = find_trace(handle);
    over = !trace || trace->closing || !fake_find_session(session) ||
           (others && fake_etw.delivered >= others);
    fake_unlock();
    if (!over) {
      th_mutex_lock(&lock);
      th_condition_wait_ns(&never, &lock, POLL_NS);
      th_mutex_unlock(&lock);
    }
  }
  th_condition_destroy(&never);
  th_mutex_destroy(&lock);
}

uint32_t th_sys_process_trace(uint64_t handle) {
  FAKE_CALL(call, "ProcessTrace");
  uint32_t code = fake_begin(&call, FAKE_NO_PID);
  open_trace *trace = find_trace(handle);
  delivery to = {.go_on = true};
  int64_t start = fake_etw.raw_clock;
  if (!trace)
    code = TH_ERROR_INVALID_HANDLE;
  if (code == 0) {
    trace->processing = true;
    fake_etw.consumers++;
    to.consumer = trace->consumer;
    to.script = fake_etw.scripts[!trace->heap];
    to.handle = handle;
    to.session = trace->session;
  }
  fake_end();
  if (code)
    return code;

  if (to.script.after)
    wait_for(handle, to.session, to.script.after);
  deliver_script(&to);
  if (to.script.ring)
    deliver_ring(&to, start);
  else
    for (uint64_t i = 0; i < to.script.flood && to.go_on; i++)
      deliver_flood(&to, i, start);
  if (to.script.fail_code && to.delivered >= to.script.fail_after)
    code = to.script.fail_code;
  else if (!to.go_on)
    code = TH_ERROR_CANCELLED;
  else if (!to.consumer->buffer(to.consumer->context))
    code = TH_ERROR_CANCELLED;
  else {
    fake_lock();
    fake_etw.delivered++;
    fake_unlock();
    wait_for(handle, to.session, 0);
  }

  fake_lock();
  fake_etw.consumers--;
  if ((trace = find_trace(handle))) {
    if (trace->closing)
      trace->handle = 0;
    trace->processing = false;
  }
  fake_unlock();
  return code;
}

uint32_t th_sys_close_trace(uint64_t handle) {
  FAKE_CALL(call, "CloseTrace");
  uint32_t code = fake_begin(&call, FAKE_NO_PID);
  open_trace *trace = find_trace(handle);
  if (!trace) {
    fake_fault("CloseTrace: %llu is not open", (unsigned long long)handle);
    code = TH_ERROR_INVALID_HANDLE;
  } else if (trace->processing) {
    trace->closing = true;
    code = TH_ERROR_CLOSE_PENDING;
  } else {
    trace->handle = 0;
  }
  fake_end();
  return code;
}

uint32_t th_sys_raw_clock(uint32_t clock, int64_t *raw, uint64_t *frequency) {
  FAKE_CALL(call, "QueryPerformanceCounter");
  uint32_t code = fake_begin(&call, FAKE_NO_PID);
  if (code == 0 && clock != TH_CLOCK_QPC && clock != TH_CLOCK_SYSTEM)
    code = TH_ERROR_NOT_SUPPORTED;
  if (code == 0) {
    *raw = fake_etw.raw_clock;
    *frequency = fake_etw.frequency;
  }
  fake_end();
  return code;
}
