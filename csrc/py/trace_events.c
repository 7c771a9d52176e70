/* An iterator over Tables of events of any kind. */
#include "py/trace.h"

#include "etl/event_batch.h"

typedef struct th_events_object {
  PyObject ob_base;
  th_source_run run;
  th_streams *streams;
  th_clock clock;
  uint32_t filter;
  bool over;
} th_events_object;

/* The next batch, NULL at the end. */
static int fill(th_core_state *state, th_events_object *events, th_table **out) {
  th_table *rows = th_table_new(&th_trace_event_schema, 1024, NULL);
  bool full = false;
  if (!rows) {
    PyErr_NoMemory();
    return -1;
  }
  while (!full && !events->over) {
    th_failure failure = {0};
    bool more = true;
    th_source_run_begin(&events->run);
    th_status status = th_event_batch_fill(events->streams, &events->clock, events->filter,
                                           TH_SLICE_EVENTS, rows, &full, &more, &failure);
    th_source_run_end(&events->run);
    events->over = status || !more;
    if (status)
      th_py_raise(state, &failure);
    if (status || PyErr_CheckSignals() < 0) {
      th_table_drop(rows);
      return -1;
    }
  }
  if (rows->count == 0) {
    th_table_drop(rows);
    rows = NULL;
  }
  *out = rows;
  return 0;
}

static PyObject *events_next(PyObject *self) {
  th_events_object *events = (th_events_object *)self;
  th_core_state *state = th_core_state_of_type(Py_TYPE(self));
  th_table *rows = NULL;
  if (th_source_run_enter(&events->run) < 0)
    return NULL;
  int failed = events->over ? 0 : fill(state, events, &rows);
  th_source_run_leave(&events->run);
  return failed || !rows ? NULL : th_py_table(state, rows);
}

PyDoc_STRVAR(bytes_read_doc, "bytes_read($self, /)\n--\n\nBytes of the source read so far.");

static PyObject *events_bytes_read(PyObject *self, PyObject *unused) {
  (void)unused;
  const th_events_object *events = (th_events_object *)self;
  return PyLong_FromUnsignedLongLong(th_streams_bytes_read(events->streams));
}

static int events_traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  return th_source_run_traverse(&((th_events_object *)self)->run, visit, arg);
}

static void events_dealloc(PyObject *self) {
  th_events_object *events = (th_events_object *)self;
  PyObject_GC_UnTrack(self);
  th_streams_close(events->streams);
  th_source_run_clear(&events->run);
  th_py_free_object(self);
}

PyDoc_STRVAR(events_doc, "Iterates over Tables of events.");

static PyMethodDef events_methods[] = {
    {"bytes_read", events_bytes_read, METH_NOARGS, bytes_read_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot events_slots[] = {{Py_tp_doc, (void *)events_doc},
                                     {Py_tp_traverse, events_traverse},
                                     {Py_tp_dealloc, events_dealloc},
                                     {Py_tp_iter, PyObject_SelfIter},
                                     {Py_tp_iternext, events_next},
                                     {Py_tp_methods, events_methods},
                                     {0, NULL}};

static PyType_Spec events_spec = {.name = "toolhelp._core.TraceEvents",
                                  .basicsize = sizeof(th_events_object),
                                  .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                           Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                  .slots = events_slots};

PyDoc_STRVAR(open_doc, "trace_events(source, threads, filter, /)\n--\n\n"
                       "Begins to read events, of one source or of a tuple of them; bit i of `filter` asks\n"
                       "for trace_kinds()[i].");

static PyObject *open_events(PyObject *module, PyObject *args) {
  th_core_state *state = th_core_state_of(module);
  PyTypeObject *type = state->trace_types[TH_TRACE_TYPE_EVENTS];
  PyObject *source;
  unsigned int threads;
  unsigned long filter;
  th_failure failure = {0};
  if (!PyArg_ParseTuple(args, "OIk", &source, &threads, &filter))
    return NULL;
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  th_events_object *made = (th_events_object *)allocate(type, 0); /* zeroed */
  if (!made)
    return NULL;
  if (th_source_run_init(&made->run, state, source) < 0)
    goto failed;
  made->filter = (uint32_t)filter;
  th_stream_options options = {.threads = threads};
  th_source_run_begin(&made->run);
  th_status status =
      th_streams_open(made->run.sources, made->run.count, &options, &made->streams, &failure);
  th_source_run_end(&made->run);
  if (status) {
    th_py_raise(state, &failure);
    goto failed;
  }
  th_clock_init(&made->clock, th_streams_logfile(made->streams));
  return (PyObject *)made;

failed:
  Py_DECREF(made);
  return NULL;
}

PyDoc_STRVAR(kinds_doc, "trace_kinds()\n--\n\nThe kinds of events by number.");

static PyObject *kinds(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  PyObject *names = PyTuple_New(TH_EVENT_CLASSES);
  for (unsigned i = 0; names && i < TH_EVENT_CLASSES; i++) {
    PyObject *name = PyUnicode_FromString(th_event_class_name(i));
    if (!name || PyTuple_SetItem(names, (Py_ssize_t)i, name) < 0)
      Py_CLEAR(names);
  }
  return names;
}

static PyMethodDef functions[] = {
    {"trace_events", open_events, METH_VARARGS, open_doc},
    {"trace_kinds", kinds, METH_NOARGS, kinds_doc},
    {NULL, NULL, 0, NULL},
};

int th_py_trace_events_init(PyObject *module) {
  th_core_state *state = th_core_state_of(module);
  state->trace_types[TH_TRACE_TYPE_EVENTS] =
      (PyTypeObject *)PyType_FromModuleAndSpec(module, &events_spec, NULL);
  if (!state->trace_types[TH_TRACE_TYPE_EVENTS] ||
      PyModule_AddType(module, state->trace_types[TH_TRACE_TYPE_EVENTS]) < 0)
    return -1;
  return th_py_add_functions(module, functions);
}
