#include "etl/process_model.h"

#include "etl/payload_intern.h"

const th_schema th_trace_process_schema = {
    .name = "TraceProcess",
    .doc = "One life of a process that the trace names.",
    .field_count = 9,
    .fields =
        {
            {"pid", TH_TYPE_U32, false, "process id", NULL},
            {"ppid", TH_TYPE_U32, false, "id of the process that started it", NULL},
            {"name", TH_TYPE_TEXT, false, "file name of the program", NULL},
            {"start_ns", TH_TYPE_I64, true,
             "start, nanoseconds since the trace's start; None: before the trace", NULL},
            {"end_ns", TH_TYPE_I64, true, "end, likewise; None: not within the trace", NULL},
            {"exit_status", TH_TYPE_I32, true, "exit status; None: did not end", NULL},
            {"session_id", TH_TYPE_U32, true, "terminal session; None: not recorded", NULL},
            {"command_line", TH_TYPE_TEXT, true, "command line; None: not recorded", NULL},
            {"bits", TH_TYPE_U8, true, "32 or 64; None: not recorded", NULL},
        },
};

const th_schema th_trace_thread_schema = {
    .name = "TraceThread",
    .doc = "One life of a thread that the trace names.",
    .field_count = 6,
    .fields =
        {
            {"tid", TH_TYPE_U32, false, "thread id", NULL},
            {"pid", TH_TYPE_U32, false, "process id", NULL},
            {"start_ns", TH_TYPE_I64, true,
             "start, nanoseconds since the trace's start; None: before the trace", NULL},
            {"end_ns", TH_TYPE_I64, true, "end, likewise; None: not within the trace", NULL},
            {"start_address", TH_TYPE_U64, false, "address of the thread's function", NULL},
            {"name", TH_TYPE_TEXT, false, "description, empty when there is none", NULL},
        },
};

/* A text that is not known, or empty, takes the new one. */
static bool is_empty(const th_dictionary *texts, uint32_t code) {
  size_t size;
  (void)th_intern_get(&texts->strings, code, &size);
  return size == 0;
}

bool th_process_model_process(th_process_model *model, const th_process_event *event,
                              th_moment when, bool *replaced) {
  uint32_t name, command_line = 0, row, ended;
  bool made;
  if (!th_intern_ansi(model->texts, &event->name, &name) ||
      (event->command_line.bytes &&
       !th_intern_utf16(model->texts, &event->command_line, &command_line)) ||
      !th_vec_reserve(&model->processes, model->processes.count + 1) ||
      !th_lives_event(&model->process_lives, &event->pid, sizeof event->pid, event->life, when,
                      &row, &made, &ended))
    return false;
  *replaced = ended != 0;
  th_process_facts *facts = &model->processes.items[row];
  if (made) {
    model->processes.count++;
    *facts = (th_process_facts){.pid = event->pid,
                                .ppid = event->ppid,
                                .session_id = event->session_id,
                                .has_session_id = event->has_session,
                                .name = name,
                                .command_line = command_line,
                                .has_command_line = event->command_line.bytes != NULL,
                                .bits = event->bits};
  } else {
    if (is_empty(model->texts, facts->name))
      facts->name = name;
    if (event->command_line.bytes &&
        (!facts->has_command_line || is_empty(model->texts, facts->command_line))) {
      facts->command_line = command_line;
      facts->has_command_line = true;
    }
    if (!facts->has_session_id) {
      facts->session_id = event->session_id;
      facts->has_session_id = event->has_session;
    }
    if (!facts->bits)
      facts->bits = event->bits;
  }
  if (event->life == TH_LIFE_END && event->has_session) {
    facts->exit_status = event->exit_status;
    facts->has_exit_status = true;
  }
  return true;
}

bool th_process_model_thread(th_process_model *model, const th_thread_event *event,
                             th_moment when) {
  uint32_t name, row, ended;
  bool made;
  if (!th_intern_utf16(model->texts, &event->name, &name) ||
      !th_vec_reserve(&model->threads, model->threads.count + 1) ||
      !th_lives_event(&model->thread_lives, &event->tid, sizeof event->tid, event->life, when,
                      &row, &made, &ended))
    return false;
  th_thread_facts *facts = &model->threads.items[row];
  if (made) {
    model->threads.count++;
    *facts = (th_thread_facts){.pid = event->pid,
                               .tid = event->tid,
                               .name = name,
                               .start_address = event->start_address};
  } else if (is_empty(model->texts, facts->name)) {
    facts->name = name;
  }
  return true;
}

/* Sets a time that may not be known. */
static bool set_time(th_table *rows, size_t field, size_t row, int64_t time_ns) {
  if (time_ns == TH_UNKNOWN_TIME)
    return th_table_set_missing(rows, field, row);
  TH_COLUMN(rows, field, int64_t)[row] = time_ns;
  return true;
}

th_table *th_process_model_processes(const th_process_model *model) {
  th_table *rows =
      th_table_new(&th_trace_process_schema, model->processes.count, model->texts);
  if (!rows)
    return NULL;
  for (size_t row = 0; row < model->processes.count; row++) {
    const th_process_facts *facts = &model->processes.items[row];
    const th_span *span = &model->process_lives.spans.items[row];
    TH_COLUMN(rows, TH_TRACE_PROCESS_PID, uint32_t)[row] = facts->pid;
    TH_COLUMN(rows, TH_TRACE_PROCESS_PPID, uint32_t)[row] = facts->ppid;
    TH_COLUMN(rows, TH_TRACE_PROCESS_NAME, uint32_t)[row] = facts->name;
    TH_COLUMN(rows, TH_TRACE_PROCESS_EXIT_STATUS, int32_t)[row] = facts->exit_status;
    TH_COLUMN(rows, TH_TRACE_PROCESS_SESSION_ID, uint32_t)[row] = facts->session_id;
    TH_COLUMN(rows, TH_TRACE_PROCESS_COMMAND_LINE, uint32_t)[row] = facts->command_line;
    TH_COLUMN(rows, TH_TRACE_PROCESS_BITS, uint8_t)[row] = facts->bits;
    if (!set_time(rows, TH_TRACE_PROCESS_START_NS, row, span->start_ns) ||
        !set_time(rows, TH_TRACE_PROCESS_END_NS, row, span->end_ns) ||
        (!facts->has_exit_status &&
         !th_table_set_missing(rows, TH_TRACE_PROCESS_EXIT_STATUS, row)) ||
        (!facts->has_session_id &&
         !th_table_set_missing(rows, TH_TRACE_PROCESS_SESSION_ID, row)) ||
        (!facts->has_command_line &&
         !th_table_set_missing(rows, TH_TRACE_PROCESS_COMMAND_LINE, row)) ||
        (!facts->bits && !th_table_set_missing(rows, TH_TRACE_PROCESS_BITS, row)))
      goto failed;
  }
  rows->count = model->processes.count;
  return rows;

failed:
  th_table_drop(rows);
  return NULL;
}

th_table *th_process_model_threads(const th_process_model *model) {
  th_table *rows = th_table_new(&th_trace_thread_schema, model->threads.count, model->texts);
  if (!rows)
    return NULL;
  for (size_t row = 0; row < model->threads.count; row++) {
    const th_thread_facts *facts = &model->threads.items[row];
    const th_span *span = &model->thread_lives.spans.items[row];
    TH_COLUMN(rows, TH_TRACE_THREAD_TID, uint32_t)[row] = facts->tid;
    TH_COLUMN(rows, TH_TRACE_THREAD_PID, uint32_t)[row] = facts->pid;
    TH_COLUMN(rows, TH_TRACE_THREAD_START_ADDRESS, uint64_t)[row] = facts->start_address;
    TH_COLUMN(rows, TH_TRACE_THREAD_NAME, uint32_t)[row] = facts->name;
    if (!set_time(rows, TH_TRACE_THREAD_START_NS, row, span->start_ns) ||
        !set_time(rows, TH_TRACE_THREAD_END_NS, row, span->end_ns)) {
      th_table_drop(rows);
      return NULL;
    }
  }
  rows->count = model->threads.count;
  return rows;
}

void th_process_model_free(th_process_model *model) {
  th_lives_free(&model->process_lives);
  th_lives_free(&model->thread_lives);
  th_vec_free(&model->processes);
  th_vec_free(&model->threads);
}
