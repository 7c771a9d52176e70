/* Trace sessions of the scripted system: what runs, what was asked of it, and the events that it
   delivers. Modelled on what is documented of StartTrace, ControlTrace and ProcessTrace. */
#ifndef TH_TESTS_FAKE_ETW_H
#define TH_TESTS_FAKE_ETW_H

#include "fake_state.h"
#include "sys/etw.h"

#define FAKE_MAX_SESSIONS 64
#define FAKE_MAX_PIDS 256
#define FAKE_MAX_HOOKS 256

typedef struct fake_session {
  uint64_t handle; /* 0: free */
  bool running;
  fake_text name, file;
  uint8_t guid[16];
  uint32_t mode, buffer_kb, min_buffers, max_buffers, max_file, flush, clock, enable_flags;
  size_t pid_count, hook_count;
  uint32_t pids[FAKE_MAX_PIDS], hooks[FAKE_MAX_HOOKS];
  bool stack_caching;
  uint32_t cache_size, cache_buckets;
  uint32_t written, events_lost, log_lost, live_lost;
  uint32_t flushes, updates;
} fake_session;

/* One scripted event. */
typedef struct fake_event {
  int64_t time;
  uint8_t guid[16];
  uint32_t pid, tid;
  uint16_t flags, cpu, size;
  uint8_t version, opcode;
  uint8_t *payload;
} fake_event;

/* What the sessions of a kind (heap, or any other) deliver to their consumer. */
typedef struct fake_script {
  fake_event *events;
  size_t count, room;
  uint64_t flood;      /* made-up events after the script: pairs of Alloc and Free */
  uint32_t ring;       /* of the flood: events that wait, what comes on top is lost; 0: none is */
  uint32_t after;      /* begins once so many other sessions have delivered everything */
  uint32_t per_buffer; /* events between two calls of the buffer callback */
  uint32_t fail_after; /* ProcessTrace fails after so many events with ... */
  uint32_t fail_code;  /* ... this code; 0: never */
} fake_script;

typedef struct fake_etw_state {
  fake_session sessions[FAKE_MAX_SESSIONS];
  uint32_t max_sessions;
  uint64_t next_handle;
  fake_script scripts[2]; /* 0: of heap sessions, 1: of others */
  int64_t raw_clock;
  uint64_t frequency;
  int64_t start_time;
  uint32_t consumers; /* in ProcessTrace now */
  uint32_t delivered; /* sessions that have delivered everything */
  fake_text library;  /* where KernelTraceControl.dll lies; empty: nowhere */
  bool privilege_held, privilege_enabled;
} fake_etw_state;

/* To be touched with the lock held. */
extern fake_etw_state fake_etw;

bool fake_is_heap(const fake_session *session);
fake_session *fake_find_session(uint64_t handle);
fake_session *fake_find_session_named(const uint16_t *name);
/* Everything of this file and of launching and the registry, as it is at first. */
void fake_session_reset(void);
void fake_launch_reset(void);
void fake_registry_reset(void);
bool fake_text_is(const fake_text *text, const uint16_t *units);

/* A program that was created suspended; `text`s as CreateProcessW got them. */
typedef struct fake_child {
  uint32_t pid;
  bool suspended;
  th_handle thread;
  fake_text command_line, environment, directory;
} fake_child;

#define FAKE_MAX_CHILDREN 16
typedef struct fake_children {
  fake_child items[FAKE_MAX_CHILDREN];
  size_t count;
  uint32_t next_pid;
} fake_children;
extern fake_children fake_launched;

typedef struct fake_value {
  fake_text key, name, text;
  uint32_t number;
  bool is_text;
} fake_value;

#define FAKE_MAX_VALUES 64
typedef struct fake_registry_state {
  fake_value values[FAKE_MAX_VALUES];
  size_t count;
} fake_registry_state;
extern fake_registry_state fake_registry;

#endif
