/* Paired blocks as Tables: an iterator over a pass. */
#include "py/analysis.h"

#include "heap/block_log.h"

typedef struct th_blocks_object {
  PyObject ob_base;
  PyObject *pass;
  PyThread_type_lock lock; /* taken while it is at work */
  th_filter_object filter;
  th_block_log log;
  th_analysis *analysis; /* NULL: over */
  int64_t duration_ns;
} th_blocks_object;

/* Blocks still live at the end of the trace, as rows. */
static int finish(th_core_state *state, th_blocks_object *blocks) {
  const th_trace *trace = th_py_pass_trace(state, blocks->pass);
  if (!trace)
    return -1;
  int64_t end = th_clock_ns(th_trace_clock(trace), th_trace_counters(trace)->last_time);
  if (end < blocks->duration_ns)
    end = blocks->duration_ns;
  bool done;
  Py_BEGIN_ALLOW_THREADS;
  done = th_ledger_each_live(th_analysis_ledger(blocks->analysis), th_block_log_sink, &blocks->log,
                             end);
  th_analysis_free(blocks->analysis);
  blocks->analysis = NULL;
  Py_END_ALLOW_THREADS;
  if (!done)
    PyErr_NoMemory();
  return done ? 0 : -1;
}

/* Reads on until there are rows or the end. */
static int advance(th_core_state *state, th_blocks_object *blocks) {
  while (blocks->analysis && !blocks->log.rows) {
    th_heap_batch batch = {0};
    th_failure failure = {0};
    bool taken;
    th_status status;
    if (th_py_pass_take(state, blocks->pass, &batch, &taken, NULL) < 0)
      return -1;
    if (!taken)
      return finish(state, blocks);
    Py_BEGIN_ALLOW_THREADS;
    status = th_analysis_add(blocks->analysis, &batch, &failure);
    th_heap_batch_free(&batch);
    Py_END_ALLOW_THREADS;
    if (status) {
      th_py_raise(state, &failure);
      return -1;
    }
    if (PyErr_CheckSignals() < 0)
      return -1;
  }
  return 0;
}

static PyObject *blocks_next(PyObject *self) {
  th_blocks_object *blocks = (th_blocks_object *)self;
  th_core_state *state = th_core_state_of_type(Py_TYPE(self));
  if (!PyThread_acquire_lock(blocks->lock, NOWAIT_LOCK)) {
    PyErr_SetString(PyExc_ValueError, "these blocks are already being read by another thread");
    return NULL;
  }
  int failed = advance(state, blocks);
  th_table *rows = blocks->log.rows;
  blocks->log.rows = NULL;
  PyThread_release_lock(blocks->lock);
  if (failed) {
    th_table_drop(rows);
    return NULL;
  }
  return rows ? th_py_table(state, rows) : NULL;
}

PyDoc_STRVAR(open_doc, "trace_blocks(pass, duration_ns, filter, /)\n--\n\n"
                       "An iterator over Tables of Block.");

static PyObject *trace_blocks(PyObject *module, PyObject *args) {
  th_core_state *state = th_core_state_of(module);
  PyTypeObject *type = state->trace_types[TH_TRACE_TYPE_BLOCKS];
  PyObject *pass, *filter;
  long long duration_ns;
  th_failure failure = {0};
  bool given;
  if (!PyArg_ParseTuple(args, "OLO", &pass, &duration_ns, &filter))
    return NULL;
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  th_blocks_object *made = (th_blocks_object *)allocate(type, 0);
  if (!made)
    return NULL;
  made->pass = Py_NewRef(pass);
  made->duration_ns = duration_ns;
  if (!(made->lock = PyThread_allocate_lock())) {
    PyErr_NoMemory();
    goto failed;
  }
  if (th_py_filter_init(&made->filter, filter, &given) < 0)
    goto failed;
  made->log.filter = given ? &made->filter.filter : NULL;
  th_ledger_options options = {.buckets = 1,
                               .duration_ns = -1,
                               .filter = made->log.filter,
                               .sink = th_block_log_sink,
                               .sink_context = &made->log};
  if (th_analysis_new(&options, &made->analysis, &failure)) {
    th_py_raise(state, &failure);
    goto failed;
  }
  return (PyObject *)made;

failed:
  Py_DECREF((PyObject *)made);
  return NULL;
}

static int blocks_traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(((th_blocks_object *)self)->pass);
  return 0;
}

static void blocks_dealloc(PyObject *self) {
  th_blocks_object *blocks = (th_blocks_object *)self;
  PyObject_GC_UnTrack(self);
  Py_CLEAR(blocks->pass);
  th_analysis_free(blocks->analysis);
  th_table_drop(blocks->log.rows);
  th_py_filter_clear(&blocks->filter);
  if (blocks->lock)
    PyThread_free_lock(blocks->lock);
  th_py_free_object(self);
}

PyDoc_STRVAR(type_doc, "Iterates over Tables of Block.");

static PyType_Slot slots[] = {{Py_tp_doc, (void *)type_doc},
                              {Py_tp_traverse, blocks_traverse},
                              {Py_tp_dealloc, blocks_dealloc},
                              {Py_tp_iter, PyObject_SelfIter},
                              {Py_tp_iternext, blocks_next},
                              {0, NULL}};

static PyType_Spec spec = {.name = "toolhelp._core.TraceBlocks",
                           .basicsize = sizeof(th_blocks_object),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                    Py_TPFLAGS_DISALLOW_INSTANTIATION,
                           .slots = slots};

static PyMethodDef functions[] = {
    {"trace_blocks", trace_blocks, METH_VARARGS, open_doc},
    {NULL, NULL, 0, NULL},
};

int th_py_blocks_init(PyObject *module) {
  th_core_state *state = th_core_state_of(module);
  state->trace_types[TH_TRACE_TYPE_BLOCKS] =
      (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
  if (!state->trace_types[TH_TRACE_TYPE_BLOCKS])
    return -1;
  return th_py_add_functions(module, functions);
}
