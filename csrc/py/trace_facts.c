#include "py/trace.h"

#include "etl/stack_rows.h"

bool th_py_set(PyObject *dict, const char *name, PyObject *value) {
  if (!value)
    return false;
  int failed = PyDict_SetItemString(dict, name, value);
  Py_DECREF(value);
  return failed == 0;
}

static bool set_number(PyObject *dict, const char *name, uint64_t value) {
  return th_py_set(dict, name, PyLong_FromUnsignedLongLong(value));
}

static bool set_signed(PyObject *dict, const char *name, int64_t value) {
  return th_py_set(dict, name, PyLong_FromLongLong(value));
}

static bool set_logfile(PyObject *dict, const th_logfile *logfile) {
  return set_number(dict, "buffer_size", logfile->buffer_size) &&
         set_number(dict, "os_major", logfile->os_major) &&
         set_number(dict, "os_minor", logfile->os_minor) &&
         set_number(dict, "os_build", logfile->os_build) &&
         set_number(dict, "processors", logfile->processors) &&
         set_number(dict, "pointer_size", logfile->pointer_size) &&
         set_number(dict, "log_file_mode", logfile->log_file_mode) &&
         set_number(dict, "buffers_written", logfile->buffers_written) &&
         set_number(dict, "events_lost", logfile->events_lost) &&
         set_number(dict, "buffers_lost", logfile->buffers_lost) &&
         set_number(dict, "clock", logfile->clock) &&
         set_number(dict, "perf_frequency", logfile->perf_frequency) &&
         set_number(dict, "cpu_mhz", logfile->cpu_mhz) &&
         set_signed(dict, "boot_time", logfile->boot_time) &&
         set_signed(dict, "start_time", logfile->start_time) &&
         set_signed(dict, "end_time", logfile->end_time) &&
         th_py_set(dict, "session_name",
                   th_py_text(logfile->session_name, logfile->session_name_units));
}

static bool set_stream(PyObject *dict, const th_stream_counts *counts) {
  return set_number(dict, "buffers", counts->buffers) &&
         set_number(dict, "compressed_buffers", counts->compressed_buffers) &&
         set_number(dict, "events", counts->events) &&
         set_number(dict, "buffers_skipped", counts->buffers_skipped) &&
         set_number(dict, "bytes_skipped", counts->bytes_skipped) &&
         set_number(dict, "unknown_headers", counts->unknown_headers) &&
         set_number(dict, "sequence_gaps", counts->sequence_gaps) &&
         set_number(dict, "reordered", counts->reordered) &&
         set_number(dict, "flagged_event_loss", counts->flagged_event_loss) &&
         set_number(dict, "flagged_buffer_loss", counts->flagged_buffer_loss) &&
         th_py_set(dict, "truncated", PyBool_FromLong(counts->truncated));
}

static bool set_events(PyObject *dict, const th_stream_counts *stream,
                       const th_trace_counts *counts) {
  PyObject *by_header = PyDict_New(), *by_hook = PyDict_New(), *heap = PyDict_New();
  bool done = by_header && by_hook && heap;
  for (unsigned kind = 0; done && kind < TH_HEADER_KINDS; kind++)
    if (stream->events_by_kind[kind])
      done = set_number(by_header, th_header_kind_name(kind), stream->events_by_kind[kind]);
  for (unsigned hook = 0; done && hook < TH_HOOKS; hook++) {
    char name[8];
    if (!counts->events_by_hook[hook])
      continue;
    PyOS_snprintf(name, sizeof name, "%04x", hook);
    done = set_number(by_hook, name, counts->events_by_hook[hook]);
  }
  for (unsigned kind = 0; done && kind < TH_HEAP_KINDS; kind++)
    if (counts->heap_events[kind])
      done = set_number(heap, th_heap_kind_names[kind], counts->heap_events[kind]);
  done = done && PyDict_SetItemString(dict, "events_by_header", by_header) == 0 &&
         PyDict_SetItemString(dict, "events_by_hook", by_hook) == 0 &&
         PyDict_SetItemString(dict, "heap_events", heap) == 0;
  Py_XDECREF(by_header);
  Py_XDECREF(by_hook);
  Py_XDECREF(heap);
  return done;
}

static bool set_pass(PyObject *dict, const th_trace *trace) {
  const th_trace_counts *counts = th_trace_counters(trace);
  return set_number(dict, "unattributed", counts->unattributed) &&
         set_number(dict, "lost_events", counts->lost_events) &&
         set_number(dict, "stack_parts", counts->stack_parts) &&
         set_number(dict, "stacks_joined", counts->stacks_joined) &&
         set_number(dict, "stacks_unmatched", counts->stacks_unmatched) &&
         set_number(dict, "unresolved_keys", counts->unresolved_keys) &&
         set_number(dict, "with_stack", counts->with_stack) &&
         set_number(dict, "forced_rows", counts->forced_rows) &&
         set_signed(dict, "last_ns", th_clock_ns(th_trace_clock(trace), counts->last_time)) &&
         set_number(dict, "stacks", th_stack_distinct(th_trace_stacks(trace))) &&
         set_number(dict, "processes", th_trace_processes(trace)->processes.count) &&
         set_number(dict, "threads", th_trace_processes(trace)->threads.count) &&
         set_number(dict, "modules", th_trace_modules(trace)->modules.count);
}

PyObject *th_py_trace_facts(const th_trace *trace, uint64_t size) {
  th_stream_counts stream = {0};
  const th_streams *files = th_trace_streams(trace);
  const th_trace_counts *counts = th_trace_counters(trace);
  PyObject *dict = PyDict_New();
  if (!dict)
    return NULL;
  if (files)
    th_streams_counters(files, &stream);
  if (set_number(dict, "bytes", size) &&
      (!files || set_logfile(dict, th_streams_logfile(files))) && set_stream(dict, &stream) &&
      set_number(dict, "bad_events", stream.bad_events + counts->bad_payloads) &&
      set_events(dict, &stream, counts) && set_pass(dict, trace))
    return dict;
  Py_DECREF(dict);
  return NULL;
}

static PyObject *file_facts(const th_streams *files, size_t number, uint64_t size) {
  const th_stream *file = th_streams_at(files, number);
  const th_stream_counts *counts = th_stream_counters(file);
  PyObject *dict = PyDict_New();
  if (!dict)
    return NULL;
  if (set_number(dict, "bytes", size) && set_logfile(dict, th_stream_logfile(file)) &&
      set_stream(dict, counts) && set_number(dict, "first_events", counts->first_events) &&
      set_number(dict, "bad_events", counts->bad_events + th_streams_blamed(files, number)))
    return dict;
  Py_DECREF(dict);
  return NULL;
}

PyObject *th_py_trace_files(const th_streams *files, const th_source *sources) {
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && i < th_streams_count(files); i++) {
    PyObject *dict = file_facts(files, i, sources[i].size);
    if (!dict || PyList_Append(list, dict) < 0)
      Py_CLEAR(list);
    Py_XDECREF(dict);
  }
  return list;
}
