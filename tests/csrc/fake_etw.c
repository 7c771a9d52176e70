/* Control of trace sessions, over the script. */
#include "fake_etw.h"

#include "session/properties.h"

#include <stdlib.h>
#include <string.h>

#define POINTER_SIZE ((unsigned)sizeof(void *))
#define FIRST_SESSION 0x21
#define START UINT64_C(133485408000000000) /* 2024-01-01 UTC */

fake_etw_state fake_etw;

/* ----- texts ----- */

static size_t units_of(const uint16_t *text) {
  size_t units = 0;
  while (text && text[units])
    units++;
  return units;
}

bool fake_text_is(const fake_text *text, const uint16_t *units) {
  return text->count == units_of(units) && memcmp(text->units, units, 2 * text->count) == 0;
}

static uint32_t load(const uint8_t *block, size_t at) {
  uint32_t value;
  memcpy(&value, block + at, sizeof value);
  return value;
}

static void store(uint8_t *block, size_t at, uint32_t value) {
  memcpy(block + at, &value, sizeof value);
}

static size_t file_at(void) { return POINTER_SIZE == 8 ? 0x70 : 0x6c; }
static size_t name_at(void) { return POINTER_SIZE == 8 ? 0x74 : 0x70; }

/* Writes a text where the block has room for it; false: there is too little. */
static bool write_text(uint8_t *block, size_t offset_at, const fake_text *text) {
  uint32_t offset = load(block, offset_at), size = load(block, TH_WNODE_SIZE);
  if (!offset)
    return true;
  if (offset + 2 * (text->count + 1) > size)
    return false;
  if (text->count)
    memcpy(block + offset, text->units, 2 * text->count);
  memset(block + offset + 2 * text->count, 0, 2);
  return true;
}

/* ----- sessions ----- */

bool fake_is_heap(const fake_session *session) {
  return memcmp(session->guid, th_heap_guid, 16) == 0;
}

fake_session *fake_find_session(uint64_t handle) {
  for (size_t i = 0; i < FAKE_MAX_SESSIONS; i++)
    if (handle && fake_etw.sessions[i].handle == handle && fake_etw.sessions[i].running)
      return &fake_etw.sessions[i];
  return NULL;
}

fake_session *fake_find_session_named(const uint16_t *name) {
  for (size_t i = 0; name && i < FAKE_MAX_SESSIONS; i++)
    if (fake_etw.sessions[i].running && fake_text_is(&fake_etw.sessions[i].name, name))
      return &fake_etw.sessions[i];
  return NULL;
}

static void free_session(fake_session *session) {
  fake_free_text(&session->name);
  fake_free_text(&session->file);
  memset(session, 0, sizeof *session);
}

void fake_session_reset(void) {
  fake_lock();
  for (size_t i = 0; i < FAKE_MAX_SESSIONS; i++)
    free_session(&fake_etw.sessions[i]);
  for (int kind = 0; kind < 2; kind++) {
    fake_script *script = &fake_etw.scripts[kind];
    for (size_t i = 0; i < script->count; i++)
      free(script->events[i].payload);
    free(script->events);
    *script = (fake_script){.per_buffer = 64};
  }
  fake_etw.max_sessions = FAKE_MAX_SESSIONS;
  fake_etw.next_handle = FIRST_SESSION;
  fake_etw.delivered = 0;
  fake_etw.raw_clock = 1000;
  fake_etw.frequency = 10000000;
  fake_etw.start_time = (int64_t)START;
  fake_free_text(&fake_etw.library);
  fake_etw.privilege_held = true;
  fake_etw.privilege_enabled = false;
  fake_launch_reset();
  fake_registry_reset();
  fake_unlock();
}

/* Reads the extension as the system would: inside of the block, lengths in DWORDs. */
static uint32_t read_extension(const uint8_t *block, fake_session *session) {
  uint32_t flags = load(block, TH_PROP_ENABLE_FLAGS), size = load(block, TH_WNODE_SIZE);
  if (flags >> 16 != 0x80ff) {
    session->enable_flags = flags;
    return 0;
  }
  uint32_t at = flags & 0xffff;
  if (at < TH_PROPERTIES_SIZE || at % 4 || at + 4 > size)
    return TH_ERROR_INVALID_PARAMETER;
  uint32_t head = load(block, at), words = head & 0xffff, items = head >> 16;
  uint32_t end = at + 4 * words;
  if (words == 0 || end > size)
    return TH_ERROR_INVALID_PARAMETER;
  session->pid_count = session->hook_count = 0;
  at += 4;
  for (; items; items--) {
    if (at + 4 > end)
      return TH_ERROR_INVALID_PARAMETER;
    uint32_t item = load(block, at), length = item & 0xffff, type = item >> 16;
    if (length == 0 || at + 4 * length > end)
      return TH_ERROR_INVALID_PARAMETER;
    for (uint32_t i = 1; i < length; i++) {
      uint32_t value = load(block, at + 4 * i);
      if (type == 2 && session->pid_count < FAKE_MAX_PIDS)
        session->pids[session->pid_count++] = value;
      else if (type == 3 && session->hook_count < FAKE_MAX_HOOKS)
        session->hooks[session->hook_count++] = value;
      else if (type == 5 && i == 1)
        session->cache_size = value, session->stack_caching = true;
      else if (type == 5 && i == 2)
        session->cache_buckets = value;
      else
        return TH_ERROR_INVALID_PARAMETER;
    }
    at += 4 * length;
  }
  return at == end ? 0 : TH_ERROR_INVALID_PARAMETER;
}

static fake_session *free_place(void) {
  uint32_t used = 0;
  fake_session *place = NULL;
  for (size_t i = 0; i < FAKE_MAX_SESSIONS; i++) {
    used += fake_etw.sessions[i].running;
    if (!fake_etw.sessions[i].running && !place)
      place = &fake_etw.sessions[i];
  }
  return used < fake_etw.max_sessions ? place : NULL;
}

static bool guid_runs(const uint8_t *guid) {
  for (size_t i = 0; i < FAKE_MAX_SESSIONS; i++)
    if (fake_etw.sessions[i].running && memcmp(fake_etw.sessions[i].guid, guid, 16) == 0)
      return true;
  return false;
}

/* What every call that answers with a session writes. False: a name had no room. */
static bool write_back(uint8_t *block, const fake_session *session) {
  memcpy(block + TH_WNODE_CONTEXT, &session->handle, 8);
  memcpy(block + TH_WNODE_GUID, session->guid, 16);
  store(block, TH_WNODE_CLOCK, session->clock);
  store(block, TH_PROP_BUFFER_KB, session->buffer_kb);
  store(block, TH_PROP_MIN_BUFFERS, session->min_buffers);
  store(block, TH_PROP_MAX_BUFFERS, session->max_buffers);
  store(block, TH_PROP_MAX_FILE, session->max_file);
  store(block, TH_PROP_MODE, session->mode);
  store(block, TH_PROP_FLUSH, session->flush);
  store(block, TH_PROP_BUFFERS, session->min_buffers);
  store(block, TH_PROP_FREE, session->min_buffers ? session->min_buffers - 1 : 0);
  store(block, TH_PROP_EVENTS_LOST, session->events_lost);
  store(block, TH_PROP_WRITTEN, session->written);
  store(block, TH_PROP_LOG_LOST, session->log_lost);
  store(block, TH_PROP_LIVE_LOST, session->live_lost);
  bool named = write_text(block, name_at(), &session->name);
  return write_text(block, file_at(), &session->file) && named;
}

static uint32_t start(const uint16_t *name, uint8_t *block, fake_session *made) {
  uint32_t size = load(block, TH_WNODE_SIZE), file_offset = load(block, file_at());
  *made = (fake_session){0};
  if (size < TH_PROPERTIES_SIZE)
    return TH_ERROR_BAD_LENGTH;
  if (!(load(block, TH_WNODE_FLAGS) & 0x00020000u) || !load(block, name_at()))
    return TH_ERROR_INVALID_PARAMETER;
  memcpy(made->guid, block + TH_WNODE_GUID, 16);
  made->mode = load(block, TH_PROP_MODE);
  if (!file_offset && !(made->mode & (TH_LOG_REAL_TIME | TH_LOG_BUFFERING)))
    return 161;
  if (made->mode & TH_LOG_CIRCULAR && !load(block, TH_PROP_MAX_FILE))
    return TH_ERROR_INVALID_PARAMETER;
  uint32_t code = read_extension(block, made);
  if (code)
    return code;
  if (made->hook_count && !fake_etw.privilege_enabled)
    return TH_ERROR_PRIVILEGE_NOT_HELD;
  if (fake_find_session_named(name) || guid_runs(made->guid))
    return TH_ERROR_ALREADY_EXISTS;
  if (!free_place())
    return TH_ERROR_NO_SYSTEM_RESOURCES;
  made->buffer_kb = load(block, TH_PROP_BUFFER_KB);
  made->min_buffers = load(block, TH_PROP_MIN_BUFFERS);
  made->max_buffers = load(block, TH_PROP_MAX_BUFFERS);
  made->max_file = load(block, TH_PROP_MAX_FILE);
  made->flush = load(block, TH_PROP_FLUSH);
  made->clock = load(block, TH_WNODE_CLOCK);
  if (!made->min_buffers)
    made->min_buffers = 2;
  made->name = fake_copy_text(name, units_of(name));
  if (file_offset) {
    const uint16_t *file = (const uint16_t *)(const void *)(block + file_offset);
    made->file = fake_copy_text(file, units_of(file));
  }
  return 0;
}

static uint32_t start_counted(const uint16_t *name, uint8_t *block, const uint32_t *pids,
                              uint32_t pid_count, const th_sys_stack_id *stacks,
                              uint32_t stack_count, uint64_t *handle) {
  fake_session made;
  uint32_t code = start(name, block, &made);
  if (code)
    return code;
  for (uint32_t i = 0; i < pid_count; i++)
    made.pids[made.pid_count++] = pids[i];
  for (uint32_t i = 0; i < stack_count; i++)
    made.hooks[made.hook_count++] = 0x1000u | stacks[i].type;
  fake_session *place = free_place();
  free_session(place);
  *place = made;
  place->handle = fake_etw.next_handle++;
  place->running = true;
  *handle = place->handle;
  (void)write_back(block, place);
  return 0;
}

uint32_t th_sys_start_trace(const uint16_t *name, uint8_t *properties, uint64_t *session) {
  FAKE_CALL(call, "StartTraceW");
  uint32_t code = fake_begin(&call, FAKE_NO_PID);
  if (code == 0 && fake.wine)
    *session = 0xcafe4242u; /* all that Wine does */
  else if (code == 0)
    code = start_counted(name, properties, NULL, 0, NULL, 0, session);
  fake_end();
  return code;
}

/* ----- control ----- */

static uint32_t update(fake_session *session, const uint8_t *block) {
  fake_session fresh = *session;
  uint32_t code = read_extension(block, &fresh);
  if (code == 0 && fresh.hook_count && !fake_etw.privilege_enabled)
    code = TH_ERROR_PRIVILEGE_NOT_HELD;
  if (code)
    return code;
  *session = fresh;
  if (load(block, TH_PROP_MODE) & TH_LOG_REAL_TIME)
    session->mode |= TH_LOG_REAL_TIME;
  else
    session->mode &= ~TH_LOG_REAL_TIME;
  session->updates++;
  return 0;
}

static uint32_t flush(fake_session *session, const uint8_t *block) {
  session->flushes++;
  if (!(session->mode & TH_LOG_BUFFERING))
    return 0;
  uint32_t offset = load(block, file_at());
  const uint16_t *file = offset ? (const uint16_t *)(const void *)(block + offset) : NULL;
  if (!units_of(file))
    return 161;
  fake_free_text(&session->file);
  session->file = fake_copy_text(file, units_of(file));
  return 0;
}

static uint32_t control(uint64_t handle, const uint16_t *name, uint8_t *block, uint32_t what) {
  fake_session *session = handle ? fake_find_session(handle) : fake_find_session_named(name);
  if (load(block, TH_WNODE_SIZE) < TH_PROPERTIES_SIZE)
    return TH_ERROR_BAD_LENGTH;
  if (!session)
    return TH_ERROR_SESSION_NOT_FOUND;
  uint32_t code = 0;
  if (what == TH_TRACE_UPDATE)
    code = update(session, block);
  else if (what == TH_TRACE_FLUSH)
    code = flush(session, block);
  if (code)
    return code;
  if (what == TH_TRACE_STOP)
    session->running = false;
  return write_back(block, session) ? 0 : TH_ERROR_MORE_DATA;
}

/* A name for each kind, so that tests can make one of them fail. */
uint32_t th_sys_control_trace(uint64_t session, const uint16_t *name, uint8_t *properties,
                              uint32_t what) {
  static fake_call calls[] = {{"ControlTraceW.QUERY", 0, NULL, false},
                              {"ControlTraceW.STOP", 0, NULL, false},
                              {"ControlTraceW.UPDATE", 0, NULL, false},
                              {"ControlTraceW.FLUSH", 0, NULL, false}};
  uint32_t code = fake_begin(&calls[what & 3], FAKE_NO_PID);
  if (code == 0 && !fake.wine)
    code = control(session, name, properties, what);
  fake_end();
  return code;
}

uint32_t th_sys_query_all_traces(uint8_t *const *blocks, uint32_t capacity, uint32_t *count) {
  FAKE_CALL(call, "QueryAllTracesW");
  uint32_t code = fake_begin(&call, FAKE_NO_PID), found = 0;
  for (size_t i = 0; code == 0 && !fake.wine && i < FAKE_MAX_SESSIONS; i++)
    if (fake_etw.sessions[i].running) {
      if (found < capacity)
        (void)write_back(blocks[found], &fake_etw.sessions[i]);
      found++;
    }
  if (code == 0) {
    *count = found; /* 0 under Wine */
    code = found > capacity ? TH_ERROR_MORE_DATA : 0;
  }
  fake_end();
  return code;
}

/* ----- KernelTraceControl.dll ----- */

uint32_t th_sys_heap_library_load(const uint16_t *path, th_handle *library) {
  FAKE_CALL(call, "LoadLibraryExW");
  uint32_t code = fake_begin(&call, FAKE_NO_PID);
  if (code == 0 && (!fake_etw.library.count || !fake_text_is(&fake_etw.library, path)))
    code = 126;
  if (code == 0)
    *library = fake_open(FAKE_OTHER, 0)->value;
  fake_end();
  return code;
}

void th_sys_heap_library_free(th_handle library) { (void)th_sys_close(library); }

uint32_t th_sys_start_heap_trace(th_handle library, const uint16_t *name, uint8_t *properties,
                                 const uint32_t *pids, uint32_t pid_count,
                                 const th_sys_stack_id *stacks, uint32_t stack_count,
                                 uint64_t *session) {
  FAKE_CALL(call, "StartHeapTrace");
  fake_handle *handle;
  uint32_t code = fake_begin_handle(&call, library, FAKE_OTHER, &handle);
  if (code == 0 && load(properties, TH_PROP_ENABLE_FLAGS))
    code = TH_ERROR_INVALID_PARAMETER;
  if (code == 0 && stack_count && !fake_etw.privilege_enabled)
    code = TH_ERROR_PRIVILEGE_NOT_HELD;
  if (code == 0)
    code = start_counted(name, properties, pids, pid_count, stacks, stack_count, session);
  fake_end();
  return code;
}

uint32_t th_sys_update_heap_trace(th_handle library, const uint16_t *name, uint8_t *properties,
                                  const uint32_t *pids, uint32_t pid_count,
                                  const th_sys_stack_id *stacks, uint32_t stack_count) {
  FAKE_CALL(call, "UpdateHeapTrace");
  fake_handle *handle;
  uint32_t code = fake_begin_handle(&call, library, FAKE_OTHER, &handle);
  fake_session *session = fake_find_session_named(name);
  if (code == 0 && !session)
    code = TH_ERROR_SESSION_NOT_FOUND;
  if (code == 0)
    code = update(session, properties);
  if (code == 0) {
    session->pid_count = session->hook_count = 0;
    for (uint32_t i = 0; i < pid_count; i++)
      session->pids[session->pid_count++] = pids[i];
    for (uint32_t i = 0; i < stack_count; i++)
      session->hooks[session->hook_count++] = 0x1000u | stacks[i].type;
  }
  fake_end();
  return code;
}
