/* One pass over a trace: an iterator over Tables of heap events that knows, at its end, everything
   else. */
#include "py/trace.h"

#include "etl/event_batch.h"
#include "etl/stack_rows.h"

typedef struct th_pass_object {
  PyObject ob_base;
  th_source_run run;
  th_trace *trace;
  int threads; /* that may help */
  bool over;
} th_pass_object;

static int pass_enter(th_pass_object *pass) { return th_source_run_enter(&pass->run); }

static void pass_leave(th_pass_object *pass) { th_source_run_leave(&pass->run); }

/* Reads on until there is a batch (*taken) or the end, looking for Ctrl-C in between. */
static int advance(th_core_state *state, th_pass_object *pass, th_heap_batch *batch, bool *taken,
                   PyObject *progress) {
  for (;;) {
    th_failure failure = {0};
    bool more = true;
    th_source_run_begin(&pass->run);
    th_status status = th_trace_take(pass->trace, batch, taken, &failure);
    if (!status && !*taken)
      status = th_trace_step(pass->trace, TH_SLICE_EVENTS, &more, &failure);
    bool got = !status && *taken;
    if (!status && !got && !more) { /* what was held back, or the end */
      status = th_trace_take(pass->trace, batch, taken, &failure);
      pass->over = !status && !*taken;
    }
    th_source_run_end(&pass->run);
    if (status) {
      pass->over = true;
      th_py_raise(state, &failure);
      return -1;
    }
    if (*taken || pass->over)
      return 0;
    if (PyErr_CheckSignals() < 0)
      return -1;
    if (progress) {
      uint64_t bytes = th_streams_bytes_read(th_trace_streams(pass->trace));
      PyObject *answer = PyObject_CallFunction(progress, "K", (unsigned long long)bytes);
      if (!answer)
        return -1;
      Py_DECREF(answer);
    }
  }
}

static int check_type(th_core_state *state, PyObject *pass) {
  if (PyObject_TypeCheck(pass, state->trace_types[TH_TRACE_TYPE_PASS]))
    return 0;
  PyErr_SetString(PyExc_TypeError, "a TracePass is needed");
  return -1;
}

int th_py_pass_threads(th_core_state *state, PyObject *pass) {
  return check_type(state, pass) < 0 ? -1 : ((th_pass_object *)pass)->threads;
}

int th_py_pass_take(th_core_state *state, PyObject *self, th_heap_batch *batch, bool *taken,
                    PyObject *progress) {
  th_pass_object *pass = (th_pass_object *)self;
  *taken = false;
  if (check_type(state, self) < 0 || pass_enter(pass) < 0)
    return -1;
  int failed = pass->over ? 0
                          : advance(state, pass, batch, taken,
                                    progress == Py_None ? NULL : progress);
  pass_leave(pass);
  return failed;
}

static PyObject *pass_next(PyObject *self) {
  th_pass_object *pass = (th_pass_object *)self;
  th_core_state *state = th_core_state_of_type(Py_TYPE(self));
  th_heap_batch batch = {0};
  bool taken = false;
  if (pass_enter(pass) < 0)
    return NULL;
  int failed = pass->over ? 0 : advance(state, pass, &batch, &taken, NULL);
  pass_leave(pass);
  if (failed || !taken)
    return NULL;
  th_table *rows = batch.rows;
  batch.rows = NULL;
  th_heap_batch_free(&batch);
  return th_py_table(state, rows);
}

PyDoc_STRVAR(run_doc, "run($self, progress=None, /)\n--\n\n"
                      "Reads to the end. `progress` is called with the bytes read so far, often.");

static PyObject *pass_run(PyObject *self, PyObject *args) {
  th_pass_object *pass = (th_pass_object *)self;
  th_core_state *state = th_core_state_of_type(Py_TYPE(self));
  PyObject *progress = Py_None;
  int failed = 0;
  if (!PyArg_ParseTuple(args, "|O", &progress) || pass_enter(pass) < 0)
    return NULL;
  while (!failed && !pass->over) {
    th_heap_batch batch = {0};
    bool taken = false;
    failed = advance(state, pass, &batch, &taken, progress == Py_None ? NULL : progress);
    if (!failed && taken)
      th_heap_batch_free(&batch);
  }
  pass_leave(pass);
  return failed ? NULL : Py_NewRef(Py_None);
}

/* What is only known at the end. */
static int need_end(th_pass_object *pass) {
  if (pass->over && pass->trace)
    return 0;
  PyErr_SetString(PyExc_ValueError, "the trace has not been read to its end");
  return -1;
}

const th_trace *th_py_pass_trace(th_core_state *state, PyObject *self) {
  th_pass_object *pass = (th_pass_object *)self;
  return check_type(state, self) < 0 || need_end(pass) < 0 ? NULL : pass->trace;
}

/* What the header says of the trace's length, -1 when it was never finished. */
static int64_t declared_ns(const th_trace *trace) {
  const th_logfile *logfile = th_streams_logfile(th_trace_streams(trace));
  int64_t start = logfile->start_time, end = logfile->end_time;
  if (end <= 0 || start < 0 || end < start || end - start > INT64_MAX / 100)
    return -1;
  return (end - start) * 100;
}

PyDoc_STRVAR(declared_doc, "declared_ns($self, /)\n--\n\n"
                           "Length of the trace as its header has it; -1: it does not.");

static PyObject *pass_declared(PyObject *self, PyObject *unused) {
  (void)unused;
  return PyLong_FromLongLong(declared_ns(((th_pass_object *)self)->trace));
}

PyDoc_STRVAR(last_doc, "last_ns($self, /)\n--\n\n"
                       "Time of the last event, guessed from the last buffers of the trace.");

static PyObject *pass_last(PyObject *self, PyObject *unused) {
  th_pass_object *pass = (th_pass_object *)self;
  th_failure failure = {0};
  int64_t last = 0;
  (void)unused;
  if (pass_enter(pass) < 0)
    return NULL;
  th_source_run_begin(&pass->run);
  th_status status = th_streams_last_time(th_trace_streams(pass->trace), &last, &failure);
  th_source_run_end(&pass->run);
  pass_leave(pass);
  if (status)
    return th_py_raise(th_core_state_of_type(Py_TYPE(self)), &failure);
  return PyLong_FromLongLong(th_clock_ns(th_trace_clock(pass->trace), last));
}

PyDoc_STRVAR(truncated_doc, "truncated($self, /)\n--\n\n"
                            "Whether the trace is cut off, as far as is known by now.");

static PyObject *pass_truncated(PyObject *self, PyObject *unused) {
  (void)unused;
  th_stream_counts counts;
  th_streams_counters(th_trace_streams(((th_pass_object *)self)->trace), &counts);
  return PyBool_FromLong(counts.truncated);
}

typedef th_table *(*th_table_maker)(const th_trace *trace);

static th_table *make_processes(const th_trace *trace) {
  return th_process_model_processes(th_trace_processes(trace));
}
static th_table *make_threads(const th_trace *trace) {
  return th_process_model_threads(th_trace_processes(trace));
}
static th_table *make_modules(const th_trace *trace) {
  return th_module_model_rows(th_trace_modules(trace));
}
static th_table *make_stacks(const th_trace *trace) {
  return th_stack_rows(th_trace_stacks(trace));
}
static th_table *make_frames(const th_trace *trace) {
  return th_frame_rows(th_trace_stacks(trace));
}

static PyObject *pass_table(PyObject *self, th_table_maker maker) {
  th_pass_object *pass = (th_pass_object *)self;
  if (pass_enter(pass) < 0)
    return NULL;
  th_table *rows = NULL;
  if (need_end(pass) == 0 && !(rows = maker(pass->trace)))
    PyErr_NoMemory();
  pass_leave(pass);
  return rows ? th_py_table(th_core_state_of_type(Py_TYPE(self)), rows) : NULL;
}

#define TABLE_METHOD(name)                                                                         \
  static PyObject *pass_##name(PyObject *self, PyObject *unused) {                                 \
    (void)unused;                                                                                  \
    return pass_table(self, make_##name);                                                          \
  }
TABLE_METHOD(processes)
TABLE_METHOD(threads)
TABLE_METHOD(modules)
TABLE_METHOD(stacks)
TABLE_METHOD(frames)

PyDoc_STRVAR(find_doc, "find_module($self, pid, time_ns, address, /)\n--\n\n"
                       "The row of the module that held an address, or None; at the end.");

static PyObject *pass_find_module(PyObject *self, PyObject *args) {
  th_pass_object *pass = (th_pass_object *)self;
  PyObject *pid_object, *address_object, *found = NULL;
  long long time_ns;
  uint32_t pid;
  uint64_t address;
  if (!PyArg_ParseTuple(args, "OLO", &pid_object, &time_ns, &address_object) ||
      th_py_u32(pid_object, "pid", &pid) < 0 || th_py_u64(address_object, "address", &address) < 0)
    return NULL;
  if (pass_enter(pass) < 0)
    return NULL;
  if (need_end(pass) == 0) {
    uint32_t row = th_module_model_find(th_trace_modules(pass->trace), pid, time_ns, address);
    found = row == TH_NO_MODULE ? Py_NewRef(Py_None) : PyLong_FromUnsignedLong(row);
  }
  pass_leave(pass);
  return found;
}

PyDoc_STRVAR(facts_doc, "facts($self, /)\n--\n\nA dict of all that was counted; at the end.");

static PyObject *pass_facts(PyObject *self, PyObject *unused) {
  th_pass_object *pass = (th_pass_object *)self;
  (void)unused;
  if (pass_enter(pass) < 0)
    return NULL;
  PyObject *facts = NULL;
  if (need_end(pass) == 0)
    facts = th_py_trace_facts(pass->trace, th_source_run_size(&pass->run));
  pass_leave(pass);
  return facts;
}

PyDoc_STRVAR(files_doc, "files($self, /)\n--\n\n"
                        "A list with a dict for each source: its header, and what was counted in\n"
                        "it so far.");

static PyObject *pass_files(PyObject *self, PyObject *unused) {
  th_pass_object *pass = (th_pass_object *)self;
  (void)unused;
  if (pass_enter(pass) < 0)
    return NULL;
  PyObject *files = th_py_trace_files(th_trace_streams(pass->trace), pass->run.sources);
  pass_leave(pass);
  return files;
}

PyDoc_STRVAR(note_doc, "note($self, notes, /)\n--\n\n"
                       "What was noted beside the trace, before the first batch is taken.");

static PyObject *pass_note(PyObject *self, PyObject *notes) {
  th_pass_object *pass = (th_pass_object *)self;
  if (pass_enter(pass) < 0)
    return NULL;
  int done = th_py_note(th_core_state_of_type(Py_TYPE(self)), pass->trace, notes);
  pass_leave(pass);
  return done < 0 ? NULL : Py_NewRef(Py_None);
}

PyDoc_STRVAR(bytes_read_doc, "bytes_read($self, /)\n--\n\nBytes of the source read so far.");

static PyObject *pass_bytes_read(PyObject *self, PyObject *unused) {
  (void)unused;
  const th_trace *trace = ((th_pass_object *)self)->trace;
  return PyLong_FromUnsignedLongLong(th_streams_bytes_read(th_trace_streams(trace)));
}

static int pass_traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  return th_source_run_traverse(&((th_pass_object *)self)->run, visit, arg);
}

static void pass_dealloc(PyObject *self) {
  th_pass_object *pass = (th_pass_object *)self;
  PyObject_GC_UnTrack(self);
  th_trace_close(pass->trace);
  th_source_run_clear(&pass->run);
  th_py_free_object(self);
}

PyDoc_STRVAR(pass_doc, "One pass over a trace: iterates over Tables of heap events.");

static PyMethodDef pass_methods[] = {
    {"run", pass_run, METH_VARARGS, run_doc},
    {"facts", pass_facts, METH_NOARGS, facts_doc},
    {"files", pass_files, METH_NOARGS, files_doc},
    {"find_module", pass_find_module, METH_VARARGS, find_doc},
    {"note", pass_note, METH_O, note_doc},
    {"bytes_read", pass_bytes_read, METH_NOARGS, bytes_read_doc},
    {"declared_ns", pass_declared, METH_NOARGS, declared_doc},
    {"last_ns", pass_last, METH_NOARGS, last_doc},
    {"truncated", pass_truncated, METH_NOARGS, truncated_doc},
    {"processes", pass_processes, METH_NOARGS, NULL},
    {"threads", pass_threads, METH_NOARGS, NULL},
    {"modules", pass_modules, METH_NOARGS, NULL},
    {"stacks", pass_stacks, METH_NOARGS, NULL},
    {"frames", pass_frames, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot pass_slots[] = {{Py_tp_doc, (void *)pass_doc},
                                   {Py_tp_traverse, pass_traverse},
                                   {Py_tp_dealloc, pass_dealloc},
                                   {Py_tp_iter, PyObject_SelfIter},
                                   {Py_tp_iternext, pass_next},
                                   {Py_tp_methods, pass_methods},
                                   {0, NULL}};

static PyType_Spec pass_spec = {.name = "toolhelp._core.TracePass",
                                .basicsize = sizeof(th_pass_object),
                                .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                         Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                .slots = pass_slots};

PyDoc_STRVAR(open_doc, "trace_pass(source, threads, /)\n--\n\n"
                       "Begins a pass over a source, or a tuple of sources that are one recording.\n"
                       "CorruptTrace when one is not a trace.");

static PyObject *open_pass(PyObject *module, PyObject *args) {
  th_core_state *state = th_core_state_of(module);
  PyTypeObject *type = state->trace_types[TH_TRACE_TYPE_PASS];
  PyObject *source;
  unsigned int threads;
  th_failure failure = {0};
  if (!PyArg_ParseTuple(args, "OI", &source, &threads))
    return NULL;
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  th_pass_object *made = (th_pass_object *)allocate(type, 0); /* zeroed */
  if (!made)
    return NULL;
  if (th_source_run_init(&made->run, state, source) < 0)
    goto failed;
  th_stream_options options = {.threads = threads};
  made->threads = threads > INT_MAX ? INT_MAX : (int)threads;
  th_source_run_begin(&made->run);
  th_status status =
      th_trace_open(made->run.sources, made->run.count, &options, &made->trace, &failure);
  th_source_run_end(&made->run);
  if (status) {
    th_py_raise(state, &failure);
    goto failed;
  }
  return (PyObject *)made;

failed:
  Py_DECREF(made);
  return NULL;
}

static PyMethodDef functions[] = {
    {"trace_pass", open_pass, METH_VARARGS, open_doc},
    {NULL, NULL, 0, NULL},
};

int th_py_trace_pass_init(PyObject *module) {
  th_core_state *state = th_core_state_of(module);
  state->trace_types[TH_TRACE_TYPE_PASS] =
      (PyTypeObject *)PyType_FromModuleAndSpec(module, &pass_spec, NULL);
  if (!state->trace_types[TH_TRACE_TYPE_PASS] ||
      PyModule_AddType(module, state->trace_types[TH_TRACE_TYPE_PASS]) < 0)
    return -1;
  return th_py_add_functions(module, functions);
}

int th_py_trace_init(PyObject *module) {
  const th_schema *schemas[] = {&th_heap_event_schema,   &th_trace_process_schema,
                                &th_trace_thread_schema, &th_trace_module_schema,
                                &th_stack_schema,        &th_frame_schema,
                                &th_trace_event_schema};
  for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++)
    if (th_py_add_row_type(module, schemas[i]) < 0)
      return -1;
  if (th_py_trace_source_init(module) < 0 || th_py_trace_pass_init(module) < 0)
    return -1;
  return th_py_trace_events_init(module);
}
