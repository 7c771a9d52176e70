#include "session/session_list.h"

#include "base/cursor.h"
#include "base/mem.h"

#define POINTER_SIZE ((unsigned)sizeof(void *))
/* The largest table of sessions that Windows can be set to (EtwMaxLoggers). */
#define MOST_SESSIONS 256u

const th_schema th_trace_session_schema = {
    .name = "TraceSession",
    .doc = "A trace session that runs on this machine.",
    .field_count = 13,
    .fields = {
        {"name", TH_TYPE_TEXT, false, "name of the session", NULL},
        {"is_heap", TH_TYPE_BOOL, false, "whether it traces heaps", NULL},
        {"owner_pid", TH_TYPE_U32, true, "process that started it, if toolhelp did", NULL},
        {"stale", TH_TYPE_BOOL, false, "whether toolhelp started it in a process that is gone",
         NULL},
        {"log_file", TH_TYPE_TEXT, true, "path of its log file", NULL},
        {"mode", TH_TYPE_U32, false, "LogFileMode, EVENT_TRACE_*_MODE bits", NULL},
        {"buffer_kb", TH_TYPE_U32, false, "size of a buffer, KB", NULL},
        {"buffers", TH_TYPE_U32, false, "buffers it has now", NULL},
        {"free_buffers", TH_TYPE_U32, false, "buffers with nothing in them", NULL},
        {"buffers_written", TH_TYPE_U32, false, "buffers written or delivered", NULL},
        {"events_lost", TH_TYPE_U32, false, "events for which no buffer had room", NULL},
        {"log_buffers_lost", TH_TYPE_U32, false, "buffers that could not be written", NULL},
        {"live_buffers_lost", TH_TYPE_U32, false, "buffers that were not delivered live", NULL},
    }};

static bool set_text(th_table *table, size_t field, size_t row, const uint8_t *block,
                     bool log_file) {
  size_t units;
  uint16_t text[TH_MAX_SESSION_NAME + 1];
  const uint8_t *bytes =
      th_properties_text(block, TH_PROPERTIES_BLANK_SIZE, log_file, POINTER_SIZE, &units);
  if (!bytes && log_file)
    return th_table_set_missing(table, field, row);
  if (units > TH_MAX_SESSION_NAME)
    units = TH_MAX_SESSION_NAME;
  if (bytes)
    memcpy(text, bytes, 2 * units);
  return th_table_set_text(table, field, row, text, units);
}

/* The pid in the name of a session of ours. */
static bool owner_of(const uint8_t *name, size_t units, uint32_t *pid) {
  static const char prefix[] = TH_SESSION_PREFIX;
  size_t at = sizeof prefix - 1;
  uint64_t value = 0;
  if (units <= at)
    return false;
  for (size_t i = 0; i < at; i++)
    if (th_load_u16(name + 2 * i) != (uint8_t)prefix[i])
      return false;
  for (; at < units; at++) {
    unsigned digit = th_load_u16(name + 2 * at) - '0';
    if (digit > 9)
      break;
    value = 10 * value + digit;
    if (value > UINT32_MAX)
      return false;
  }
  *pid = (uint32_t)value;
  return at > sizeof prefix - 1;
}

static bool is_gone(uint32_t pid) {
  th_handle process;
  uint32_t exit_code = TH_STILL_ACTIVE;
  uint32_t code = th_sys_open_process(TH_PROCESS_QUERY_LIMITED, pid, &process);
  if (code)
    return code == TH_ERROR_INVALID_PARAMETER;
  if (th_sys_exit_code(process, &exit_code))
    exit_code = TH_STILL_ACTIVE;
  (void)th_sys_close(process);
  return exit_code != TH_STILL_ACTIVE;
}

static bool add_row(th_table *table, const uint8_t *block, bool all) {
  static const struct {
    uint8_t field, offset;
  } numbers[] = {
      {TH_TRACE_SESSION_MODE, TH_PROP_MODE},
      {TH_TRACE_SESSION_BUFFER_KB, TH_PROP_BUFFER_KB},
      {TH_TRACE_SESSION_BUFFERS, TH_PROP_BUFFERS},
      {TH_TRACE_SESSION_FREE_BUFFERS, TH_PROP_FREE},
      {TH_TRACE_SESSION_BUFFERS_WRITTEN, TH_PROP_WRITTEN},
      {TH_TRACE_SESSION_EVENTS_LOST, TH_PROP_EVENTS_LOST},
      {TH_TRACE_SESSION_LOG_BUFFERS_LOST, TH_PROP_LOG_LOST},
      {TH_TRACE_SESSION_LIVE_BUFFERS_LOST, TH_PROP_LIVE_LOST},
  };
  size_t row, units;
  uint32_t owner = 0;
  const uint8_t *name =
      th_properties_text(block, TH_PROPERTIES_BLANK_SIZE, false, POINTER_SIZE, &units);
  bool heap = memcmp(block + TH_WNODE_GUID, th_heap_guid, sizeof th_heap_guid) == 0;
  bool ours = name && owner_of(name, units, &owner);
  if (!heap && !ours && !all)
    return true;
  if (!th_table_add(table, &row))
    return false;
  TH_COLUMN(table, TH_TRACE_SESSION_IS_HEAP, uint8_t)[row] = heap;
  TH_COLUMN(table, TH_TRACE_SESSION_OWNER_PID, uint32_t)[row] = owner;
  if (!ours && !th_table_set_missing(table, TH_TRACE_SESSION_OWNER_PID, row))
    return false;
  TH_COLUMN(table, TH_TRACE_SESSION_STALE, uint8_t)[row] = ours && is_gone(owner);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    TH_COLUMN(table, numbers[i].field, uint32_t)[row] = th_load_u32(block + numbers[i].offset);
  return set_text(table, TH_TRACE_SESSION_NAME, row, block, false) &&
         set_text(table, TH_TRACE_SESSION_LOG_FILE, row, block, true);
}

/* No session at all may be the truth, or the answer of a system that does nothing. That one also
   finds a session that does not exist. */
static bool is_pretence(void) {
  static const uint16_t nobody[] = {'t', 'o', 'o', 'l', 'h', 'e', 'l', 'p', '-', 'n',
                                    'o', 'b', 'o', 'd', 'y', 0};
  uint8_t block[TH_PROPERTIES_BLANK_SIZE];
  th_properties_blank(block, POINTER_SIZE);
  return th_sys_control_trace(0, nobody, block, TH_TRACE_QUERY) == 0 &&
         th_properties_untouched(block, sizeof block, POINTER_SIZE);
}

th_status th_session_list(bool all, th_table **table, th_failure *failure) {
  uint8_t *blocks[MOST_SESSIONS];
  uint32_t count = 0;
  th_table *made = NULL;
  th_status status = TH_OK;
  uint8_t *memory = th_mem_array(MOST_SESSIONS, TH_PROPERTIES_BLANK_SIZE);
  if (!memory)
    return th_fail_memory(failure);
  for (size_t i = 0; i < MOST_SESSIONS; i++) {
    blocks[i] = memory + i * TH_PROPERTIES_BLANK_SIZE;
    th_properties_blank(blocks[i], POINTER_SIZE);
  }
  uint32_t code = th_sys_query_all_traces(blocks, MOST_SESSIONS, &count);
  if (code && code != TH_ERROR_MORE_DATA) {
    status = th_fail_system(failure, "QueryAllTracesW", code);
    goto done;
  }
  if (count == 0 && is_pretence()) {
    status = th_fail(failure, TH_UNSUPPORTED,
                     "this system says that it worked and does nothing, as Wine does; trace "
                     "sessions need Windows");
    failure->function = "QueryAllTracesW";
    goto done;
  }
  if (!(made = th_table_new(&th_trace_session_schema, 16, NULL))) {
    status = th_fail_memory(failure);
    goto done;
  }
  for (uint32_t i = 0; i < count && i < MOST_SESSIONS; i++)
    if (!add_row(made, blocks[i], all)) {
      status = th_fail_memory(failure);
      goto done;
    }
  *table = made;
  made = NULL;
done:
  th_table_drop(made);
  th_mem_free(memory);
  return status;
}
