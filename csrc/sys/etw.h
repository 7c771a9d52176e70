/* The door to Event Tracing for Windows: control and consumption of sessions. As in sys.h, each
   function is one call and returns its Win32 code; outputs are untouched when it fails. */
#ifndef TH_SYS_ETW_H
#define TH_SYS_ETW_H

#include "sys/sys.h"

#define TH_ERROR_NOT_ENOUGH_MEMORY 8u
#define TH_ERROR_ALREADY_EXISTS 183u
#define TH_ERROR_MORE_DATA 234u
#define TH_ERROR_CANCELLED 1223u
#define TH_ERROR_NO_SYSTEM_RESOURCES 1450u
#define TH_ERROR_SESSION_NOT_FOUND 4201u
#define TH_ERROR_CLOSE_PENDING 7007u

/* --- control (evntrace.h) -------------------------------------------------------------------- */

/* Wnode.ClientContext: the clock of the time stamps. */
#define TH_CLOCK_QPC 1u
#define TH_CLOCK_SYSTEM 2u
#define TH_CLOCK_CYCLES 3u

/* Where the fields of EVENT_TRACE_PROPERTIES stand. The offsets of the names are the last two, and
   they move with the width of a pointer: 0x70 and 0x74, or 0x6c and 0x70. */
enum {
  TH_PROPERTIES_SIZE = 0x78, /* of the structure itself, at either width */
  TH_WNODE_SIZE = 0x00,      /* u32: the whole block */
  TH_WNODE_CONTEXT = 0x08,   /* u64: HistoricalContext, the session's handle on output */
  TH_WNODE_GUID = 0x18,
  TH_WNODE_CLOCK = 0x28,
  TH_WNODE_FLAGS = 0x2c,
  TH_PROP_BUFFER_KB = 0x30,
  TH_PROP_MIN_BUFFERS = 0x34,
  TH_PROP_MAX_BUFFERS = 0x38,
  TH_PROP_MAX_FILE = 0x3c,
  TH_PROP_MODE = 0x40,
  TH_PROP_FLUSH = 0x44,
  TH_PROP_ENABLE_FLAGS = 0x48,
  TH_PROP_BUFFERS = 0x50,
  TH_PROP_FREE = 0x54,
  TH_PROP_EVENTS_LOST = 0x58,
  TH_PROP_WRITTEN = 0x5c,
  TH_PROP_LOG_LOST = 0x60,
  TH_PROP_LIVE_LOST = 0x64
};

#define TH_TRACE_QUERY 0u
#define TH_TRACE_STOP 1u
#define TH_TRACE_UPDATE 2u
#define TH_TRACE_FLUSH 3u

/* `properties` is EVENT_TRACE_PROPERTIES and what belongs behind it; the calls write into it, also
   when they fail. `name` is zero-terminated. */
uint32_t th_sys_start_trace(const uint16_t *name, uint8_t *properties, uint64_t *session);
/* By handle, or by name when `session` is 0. */
uint32_t th_sys_control_trace(uint64_t session, const uint16_t *name, uint8_t *properties,
                              uint32_t control);
/* QueryAllTracesW: fills the blocks; *count is how many there are. */
uint32_t th_sys_query_all_traces(uint8_t *const *blocks, uint32_t capacity, uint32_t *count);

/* --- KernelTraceControl.dll ------------------------------------------------------------------ */

/* CLASSIC_EVENT_ID: an event whose stack is wanted. */
typedef struct th_sys_stack_id {
  uint8_t guid[16];
  uint8_t type;
  uint8_t reserved[7];
} th_sys_stack_id;

/* Loads the library at a full path, with System32 for what it needs itself, and finds the two
   functions. ERROR_PROC_NOT_FOUND when it has them not. */
uint32_t th_sys_heap_library_load(const uint16_t *path, th_handle *library);
void th_sys_heap_library_free(th_handle library);
uint32_t th_sys_start_heap_trace(th_handle library, const uint16_t *name, uint8_t *properties,
                                 const uint32_t *pids, uint32_t pid_count,
                                 const th_sys_stack_id *stacks, uint32_t stack_count,
                                 uint64_t *session);
uint32_t th_sys_update_heap_trace(th_handle library, const uint16_t *name, uint8_t *properties,
                                  const uint32_t *pids, uint32_t pid_count,
                                  const th_sys_stack_id *stacks, uint32_t stack_count);

/* --- consumption (evntcons.h) ---------------------------------------------------------------- */

/* EventHeader.Flags that are told apart. */
#define TH_RECORD_32_BIT 0x0020u
#define TH_RECORD_64_BIT 0x0040u
#define TH_RECORD_CPU_INDEX 0x0200u

/* What an EVENT_RECORD says; pointers are valid inside the call only. */
typedef struct th_sys_record {
  int64_t time;           /* raw */
  const uint8_t *guid;    /* 16 bytes */
  const uint8_t *payload; /* `size` bytes */
  uint32_t pid, tid;      /* UINT32_MAX: none */
  uint16_t size;
  uint16_t flags;
  uint16_t cpu, logger;
  uint16_t id;
  uint8_t version, opcode, level;
} th_sys_record;

/* Called on the thread that is in th_sys_process_trace. */
typedef struct th_sys_consumer {
  void *context;
  void (*record)(void *context, const th_sys_record *record);
  /* After every buffer; false ends the processing. */
  bool (*buffer)(void *context);
} th_sys_consumer;

/* What OpenTraceW says of a session (LogfileHeader). */
typedef struct th_sys_trace_header {
  uint32_t buffer_size, os_build, processors, pointer_size, cpu_mhz, timer_resolution, clock;
  uint8_t os_major, os_minor;
  uint64_t perf_frequency;
  int64_t boot_time, start_time; /* FILETIME */
} th_sys_trace_header;

/* Opens a real-time session by name: raw time stamps, event records. `consumer` must stay. */
uint32_t th_sys_open_trace(const uint16_t *name, const th_sys_consumer *consumer, uint64_t *trace,
                           th_sys_trace_header *header);
/* Blocks until the session ends or `buffer` said so. */
uint32_t th_sys_process_trace(uint64_t trace);
/* TH_ERROR_CLOSE_PENDING while th_sys_process_trace is at work: it will end. */
uint32_t th_sys_close_trace(uint64_t trace);

/* The clock of TH_CLOCK_QPC (1) or TH_CLOCK_SYSTEM (2) now, and its ticks per second. */
uint32_t th_sys_raw_clock(uint32_t clock, int64_t *raw, uint64_t *frequency);

#endif
