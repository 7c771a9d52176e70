#include "etl/event_batch.h"

#include "etl/image_id_event.h"
#include "etl/lost_event.h"

static const char *const class_names[TH_EVENT_CLASSES + 1] = {
    "heap.create",           "heap.alloc",           "heap.realloc",
    "heap.destroy",          "heap.free",            "heap.expand",
    "heap.snapshot",         "heap.create_snapshot", "heap.destroy_snapshot",
    "heap.extend_snapshot",  "heap.contract",        "heap.lock",
    "heap.unlock",           "heap.validate",        "heap.walk",
    "heap.other",            "stack",                "process",
    "thread",                "image",                "imageid",
    "lost",                  "other",                NULL,
};

/* By number of the kind; the numbers that are no kind are not used. */
static const char *const header_names[TH_HEADER_KINDS + 1] = {
    "",           "SYSTEM32", "SYSTEM64", "COMPACT32",  "COMPACT64", "",
    "",           "",         "",         "",           "FULL32",    "INSTANCE32",
    "TIMED",      "ERROR",    "WNODE",    "MESSAGE",    "PERFINFO32", "PERFINFO64",
    "EVENT32",    "EVENT64",  "FULL64",   "INSTANCE64", "LIVE",      NULL,
};

const th_schema th_trace_event_schema = {
    .name = "TraceEvent",
    .doc = "Header and payload of one event of any kind.",
    .field_count = 14,
    .fields =
        {
            {"time_ns", TH_TYPE_I64, false, "nanoseconds since the trace's start", NULL},
            {"cpu", TH_TYPE_U16, false, "processor whose buffer held the event", NULL},
            {"pid", TH_TYPE_U32, true, "process that logged it", NULL},
            {"tid", TH_TYPE_U32, true, "thread that logged it", NULL},
            {"kind", TH_TYPE_LABEL, false, "what it is about", class_names},
            {"header", TH_TYPE_LABEL, false, "kind of header it has in the file", header_names},
            {"provider", TH_TYPE_TEXT, true,
             "GUID of its provider or class; None: it is known by its hook alone", NULL},
            {"hook", TH_TYPE_U16, true, "group * 256 + opcode of a kernel class", NULL},
            {"id", TH_TYPE_U16, true, "event id (EVENT) or message number (MESSAGE)", NULL},
            {"opcode", TH_TYPE_U8, false, "opcode", NULL},
            {"version", TH_TYPE_U16, false, "version of the payload", NULL},
            {"level", TH_TYPE_U8, false, "level: 1 critical to 5 verbose, 0 always", NULL},
            {"pointer_size", TH_TYPE_U8, false, "bytes of a pointer in its payload", NULL},
            {"payload", TH_TYPE_BYTES, false, "its data, as in the file", NULL},
        },
};

const char *th_event_class_name(unsigned number) {
  return number < TH_EVENT_CLASSES ? class_names[number] : NULL;
}

static unsigned class_of_guid(const th_event *event) {
  th_lost_kind lost;
  if (th_parse_lost(event, &lost))
    return TH_EVENT_LOST;
  return th_is_image_id_provider(event) ? TH_EVENT_IMAGE_ID : TH_EVENT_OTHER;
}

unsigned th_event_class_of(const th_event *event) {
  if (event->kind == TH_HEADER_INSTANCE32 || event->kind == TH_HEADER_INSTANCE64)
    return TH_EVENT_OTHER;
  switch (event->hook >> 8) {
  case 0x03:
    return event->hook == 0x030a ? TH_EVENT_IMAGE : TH_EVENT_PROCESS;
  case 0x05:
    return TH_EVENT_THREAD;
  case 0x10:
    return th_heap_layouts[0][event->opcode].kind;
  case 0x14:
    return TH_EVENT_IMAGE;
  case 0x18:
    return TH_EVENT_STACK;
  default:
    return event->guid && event->hook == TH_NO_HOOK ? class_of_guid(event) : TH_EVENT_OTHER;
  }
}

/* The first three fields of a GUID are little-endian. */
static bool set_provider(th_table *rows, size_t row, const uint8_t *guid) {
  static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
  static const char digits[] = "0123456789abcdef";
  char text[37];
  size_t at = 0;
  for (size_t i = 0; i < 16; i++) {
    if (i == 4 || i == 6 || i == 8 || i == 10)
      text[at++] = '-';
    text[at++] = digits[guid[order[i]] >> 4];
    text[at++] = digits[guid[order[i]] & 15];
  }
  text[at] = 0;
  return th_table_set_ascii(rows, TH_TRACE_EVENT_PROVIDER, row, text);
}

static bool has_id(const th_event *event) {
  return event->kind == TH_HEADER_EVENT32 || event->kind == TH_HEADER_EVENT64 ||
         event->kind == TH_HEADER_MESSAGE;
}

static bool append(th_table *rows, const th_event *event, unsigned number, const th_clock *clock) {
  size_t row;
  if (!th_table_add(rows, &row))
    return false;
  TH_COLUMN(rows, TH_TRACE_EVENT_TIME_NS, int64_t)[row] = th_clock_ns(clock, event->time);
  TH_COLUMN(rows, TH_TRACE_EVENT_CPU, uint16_t)[row] = event->cpu;
  TH_COLUMN(rows, TH_TRACE_EVENT_PID, uint32_t)[row] = event->pid;
  TH_COLUMN(rows, TH_TRACE_EVENT_TID, uint32_t)[row] = event->tid;
  TH_COLUMN(rows, TH_TRACE_EVENT_KIND, uint8_t)[row] = (uint8_t)number;
  TH_COLUMN(rows, TH_TRACE_EVENT_HEADER, uint8_t)[row] = event->kind;
  TH_COLUMN(rows, TH_TRACE_EVENT_HOOK, uint16_t)[row] = (uint16_t)event->hook;
  TH_COLUMN(rows, TH_TRACE_EVENT_ID, uint16_t)[row] = event->id;
  TH_COLUMN(rows, TH_TRACE_EVENT_OPCODE, uint8_t)[row] = event->opcode;
  TH_COLUMN(rows, TH_TRACE_EVENT_VERSION, uint16_t)[row] = event->version;
  TH_COLUMN(rows, TH_TRACE_EVENT_LEVEL, uint8_t)[row] = event->level;
  TH_COLUMN(rows, TH_TRACE_EVENT_POINTER_SIZE, uint8_t)[row] = event->pointer_size;
  return (event->pid != TH_NO_ID || th_table_set_missing(rows, TH_TRACE_EVENT_PID, row)) &&
         (event->tid != TH_NO_ID || th_table_set_missing(rows, TH_TRACE_EVENT_TID, row)) &&
         (event->hook != TH_NO_HOOK || th_table_set_missing(rows, TH_TRACE_EVENT_HOOK, row)) &&
         (has_id(event) || th_table_set_missing(rows, TH_TRACE_EVENT_ID, row)) &&
         (event->guid ? set_provider(rows, row, event->guid)
                      : th_table_set_missing(rows, TH_TRACE_EVENT_PROVIDER, row)) &&
         th_table_set_pool(rows, TH_TRACE_EVENT_PAYLOAD, row, event->payload, event->size);
}

th_status th_event_batch_fill(th_streams *streams, const th_clock *clock, uint32_t filter,
                              size_t events, th_table *rows, bool *full, bool *more,
                              th_failure *failure) {
  th_event event;
  bool got = true, filled = false;
  for (; events > 0 && !filled; events--) {
    th_status status = th_streams_next(streams, &event, &got, failure);
    if (status)
      return status;
    if (!got)
      break;
    unsigned number = th_event_class_of(&event);
    if (!(filter >> number & 1))
      continue;
    if (!append(rows, &event, number, clock))
      return th_fail_memory(failure);
    filled = rows->count >= TH_EVENT_BATCH_ROWS ||
             rows->columns[TH_TRACE_EVENT_PAYLOAD].pool.count >= TH_EVENT_BATCH_BYTES;
  }
  *full = filled;
  *more = got;
  return TH_OK;
}
