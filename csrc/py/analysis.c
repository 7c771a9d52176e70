/* The heap ledger over a pass, and its results as Tables. */
#include "py/analysis.h"

#include "heap/block_log.h"
#include "heap/decision.h"
#include "heap/feeder.h"
#include "heap/figure_rows.h"

typedef struct th_analysis_object {
  PyObject ob_base;
  th_result result;
  th_grouping grouping;
} th_analysis_object;

/* --- filters -------------------------------------------------------------------------------- */

int th_py_filter_init(th_filter_object *out, PyObject *tuple, bool *given) {
  *out = (th_filter_object){.filter = TH_BLOCK_FILTER_ALL};
  *given = tuple != Py_None;
  if (!*given)
    return 0;
  th_block_filter *filter = &out->filter;
  Py_buffer *buffers = out->buffers;
  long long since, until;
  unsigned long long min_size, min_lifetime, max_lifetime;
  if (!PyTuple_Check(tuple)) {
    PyErr_SetString(PyExc_TypeError, "a filter is a tuple");
    return -1;
  }
  if (!PyArg_ParseTuple(tuple, "y*y*y*LLKKKz*z*", &buffers[0], &buffers[1], &buffers[2], &since,
                        &until, &min_size, &min_lifetime, &max_lifetime, &buffers[3],
                        &buffers[4]))
    return -1;
  filter->pids = buffers[0].buf;
  filter->pid_count = (size_t)buffers[0].len / sizeof(uint32_t);
  filter->tids = buffers[1].buf;
  filter->tid_count = (size_t)buffers[1].len / sizeof(uint32_t);
  filter->heaps = buffers[2].buf;
  filter->heap_count = (size_t)buffers[2].len / sizeof(uint64_t);
  filter->since_ns = since;
  filter->until_ns = until;
  filter->min_size = min_size;
  filter->min_lifetime_ns = min_lifetime;
  filter->max_lifetime_ns = max_lifetime;
  filter->blocks = buffers[3].buf;
  filter->block_count = (uint64_t)buffers[3].len * 8;
  filter->sites = buffers[4].buf;
  filter->site_count = (uint32_t)buffers[4].len * 8;
  return 0;
}

void th_py_filter_clear(th_filter_object *filter) {
  for (size_t i = 0; i < sizeof filter->buffers / sizeof *filter->buffers; i++)
    if (filter->buffers[i].obj)
      PyBuffer_Release(&filter->buffers[i]);
}

/* --- running -------------------------------------------------------------------------------- */

/* Feeds the batches of a pass, until an exception or its end. */
static int feed(th_core_state *state, PyObject *pass, th_feeder *feeder, PyObject *progress) {
  for (;;) {
    th_heap_batch batch = {0};
    th_failure failure = {0};
    bool taken;
    th_status status;
    if (th_py_pass_take(state, pass, &batch, &taken, progress) < 0)
      return -1;
    if (!taken)
      return 0;
    Py_BEGIN_ALLOW_THREADS;
    status = th_feeder_put(feeder, &batch, &failure);
    Py_END_ALLOW_THREADS;
    if (status) {
      th_py_raise(state, &failure);
      return -1;
    }
    if (PyErr_CheckSignals() < 0)
      return -1;
  }
}

/* Feeds the batches of a pass to its end; then the analysis is nobody else's any more. */
static int run(th_core_state *state, PyObject *pass, th_analysis *analysis, PyObject *progress) {
  th_feeder feeder;
  th_failure failure = {0};
  th_status status;
  int threads = th_py_pass_threads(state, pass);
  if (threads < 0)
    return -1;
  th_feeder_begin(&feeder, analysis, threads > 0);
  int failed = feed(state, pass, &feeder, progress);
  Py_BEGIN_ALLOW_THREADS;
  status = th_feeder_end(&feeder, failed != 0, &failure);
  Py_END_ALLOW_THREADS;
  if (!failed && status)
    th_py_raise(state, &failure);
  return failed || status ? -1 : 0;
}

/* The trace's end: what its length is taken for, or its last event when that is later. */
static int64_t end_of(const th_trace *trace, int64_t duration_ns) {
  int64_t last = th_clock_ns(th_trace_clock(trace), th_trace_counters(trace)->last_time);
  return last > duration_ns ? last : duration_ns;
}

PyDoc_STRVAR(analysis_doc,
             "trace_analysis(pass, rule_ns, buckets, duration_ns, filter, progress, /)\n--\n\n"
             "Runs the ledger over a pass to its end. A duration below 0 is not known.");

static PyObject *trace_analysis(PyObject *module, PyObject *args) {
  th_core_state *state = th_core_state_of(module);
  PyTypeObject *type = state->trace_types[TH_TRACE_TYPE_ANALYSIS];
  PyObject *pass, *filter_tuple, *progress;
  unsigned long long rule_ns;
  unsigned int buckets;
  long long duration_ns;
  if (!PyArg_ParseTuple(args, "OKILOO", &pass, &rule_ns, &buckets, &duration_ns, &filter_tuple,
                        &progress))
    return NULL;
  th_filter_object filter;
  th_failure failure = {0};
  th_analysis *analysis = NULL;
  th_analysis_object *made = NULL;
  bool given, done = false;
  if (th_py_filter_init(&filter, filter_tuple, &given) < 0)
    goto done;
  th_ledger_options options = {.rule_ns = rule_ns,
                               .buckets = buckets,
                               .duration_ns = duration_ns,
                               .filter = given ? &filter.filter : NULL};
  if (th_analysis_new(&options, &analysis, &failure)) {
    th_py_raise(state, &failure);
    goto done;
  }
  if (run(state, pass, analysis, progress) < 0)
    goto done;
  const th_trace *trace = th_py_pass_trace(state, pass);
  if (!trace)
    goto done;
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  if (!(made = (th_analysis_object *)allocate(type, 0)))
    goto done;
  th_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = th_analysis_result(analysis, end_of(trace, duration_ns), &made->result, &failure);
  th_analysis_free(analysis); /* the grouping needs the room */
  analysis = NULL;
  if (!status)
    status = th_grouping_make(&made->result, th_trace_stacks(trace), th_trace_modules(trace),
                              &made->grouping, &failure);
  Py_END_ALLOW_THREADS;
  done = status == TH_OK;
  if (!done)
    th_py_raise(state, &failure);

done:
  th_analysis_free(analysis);
  th_py_filter_clear(&filter);
  if (done)
    return (PyObject *)made;
  Py_XDECREF((PyObject *)made);
  return NULL;
}

PyObject *th_py_analysis_take(th_core_state *state, const th_analysis *analysis,
                              const th_trace *trace) {
  PyTypeObject *type = state->trace_types[TH_TRACE_TYPE_ANALYSIS];
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  th_analysis_object *made = (th_analysis_object *)allocate(type, 0);
  th_failure failure = {0};
  th_status status;
  if (!made)
    return NULL;
  Py_BEGIN_ALLOW_THREADS;
  status = th_analysis_result(analysis, end_of(trace, -1), &made->result, &failure);
  if (!status)
    status = th_grouping_make(&made->result, th_trace_stacks(trace), th_trace_modules(trace),
                              &made->grouping, &failure);
  Py_END_ALLOW_THREADS;
  if (!status)
    return (PyObject *)made;
  Py_DECREF(made);
  return th_py_raise(state, &failure);
}

PyDoc_STRVAR(decide_doc, "trace_decide(pass, duration_ns, filter, progress, /)\n--\n\n"
                         "Runs the ledger over a pass and gives the bits of the blocks that pass "
                         "the filter, by serial number.");

static PyObject *trace_decide(PyObject *module, PyObject *args) {
  th_core_state *state = th_core_state_of(module);
  PyObject *pass, *filter_tuple, *progress, *bits = NULL;
  long long duration_ns;
  if (!PyArg_ParseTuple(args, "OLOO", &pass, &duration_ns, &filter_tuple, &progress))
    return NULL;
  th_filter_object filter;
  th_failure failure = {0};
  th_analysis *analysis = NULL;
  bool given;
  th_decision decision = {.filter = &filter.filter};
  if (th_py_filter_init(&filter, filter_tuple, &given) < 0)
    goto done;
  th_ledger_options options = {.buckets = 1,
                               .duration_ns = -1,
                               .filter = &filter.filter,
                               .sink = th_decision_sink,
                               .sink_context = &decision,
                               .numbered = true};
  if (th_analysis_new(&options, &analysis, &failure)) {
    th_py_raise(state, &failure);
    goto done;
  }
  if (run(state, pass, analysis, progress) < 0)
    goto done;
  const th_trace *trace = th_py_pass_trace(state, pass);
  if (!trace)
    goto done;
  const th_ledger *ledger = th_analysis_ledger(analysis);
  if (!th_decision_finish(&decision, ledger, end_of(trace, duration_ns)))
    PyErr_NoMemory();
  else
    bits = PyBytes_FromStringAndSize((const char *)decision.bits.items,
                                     (Py_ssize_t)decision.bits.count);

done:
  th_analysis_free(analysis);
  th_vec_free(&decision.bits);
  th_py_filter_clear(&filter);
  return bits;
}

/* --- results -------------------------------------------------------------------------------- */

static PyObject *amount_pair(th_amount amount) {
  return Py_BuildValue("(KK)", (unsigned long long)amount.blocks,
                       (unsigned long long)amount.bytes);
}

static bool set_amount(PyObject *dict, const char *name, th_amount amount) {
  return th_py_set(dict, name, amount_pair(amount));
}

static bool set_count(PyObject *dict, const char *name, uint64_t count) {
  return th_py_set(dict, name, PyLong_FromUnsignedLongLong(count));
}

PyDoc_STRVAR(facts_doc, "facts($self, /)\n--\n\nA dict of every figure that is not a table.");

static PyObject *analysis_facts(PyObject *self, PyObject *unused) {
  const th_result *result = &((th_analysis_object *)self)->result;
  const th_totals *totals = &result->totals;
  const th_oddities *oddities = &result->oddities;
  (void)unused;
  PyObject *dict = PyDict_New();
  if (dict && set_amount(dict, "allocations", totals->allocations) &&
      set_amount(dict, "frees", totals->frees) && set_amount(dict, "adopted", totals->adopted) &&
      set_amount(dict, "overwritten", totals->overwritten) &&
      set_amount(dict, "destroyed", totals->destroyed) &&
      set_count(dict, "reallocations", totals->reallocations) &&
      set_count(dict, "heaps_created", totals->heaps_created) &&
      set_count(dict, "heaps_destroyed", totals->heaps_destroyed) &&
      set_count(dict, "unmatched_frees", oddities->unmatched_frees) &&
      set_count(dict, "pre_trace", oddities->unmatched_frees + oddities->adopted_blocks) &&
      set_count(dict, "realloc_repairs", oddities->realloc_repairs) &&
      set_count(dict, "size_mismatches", oddities->size_mismatches) &&
      set_count(dict, "handle_mismatches", oddities->handle_mismatches) &&
      set_count(dict, "heaps_reused", oddities->heaps_reused) &&
      set_amount(dict, "live", result->live) && set_amount(dict, "peak", result->peak) &&
      set_amount(dict, "temporary", result->temporary) &&
      th_py_set(dict, "peak_ns", PyLong_FromLongLong(result->peak_ns)) &&
      th_py_set(dict, "end_ns", PyLong_FromLongLong(result->end_ns)) &&
      set_count(dict, "events", result->events))
    return dict;
  Py_XDECREF(dict);
  return NULL;
}

static PyObject *table_or_error(PyObject *self, th_table *table) {
  return table ? th_py_table(th_core_state_of_type(Py_TYPE(self)), table) : PyErr_NoMemory();
}

#define RESULT_METHOD(name)                                                                        \
  static PyObject *analysis_##name(PyObject *self, PyObject *unused) {                             \
    (void)unused;                                                                                  \
    return table_or_error(self, th_rows_of_##name(&((th_analysis_object *)self)->result));         \
  }
#define GROUPING_METHOD(name)                                                                      \
  static PyObject *analysis_##name(PyObject *self, PyObject *unused) {                             \
    (void)unused;                                                                                  \
    return table_or_error(self, th_rows_of_##name(&((th_analysis_object *)self)->grouping));       \
  }
RESULT_METHOD(heaps)
RESULT_METHOD(threads)
RESULT_METHOD(sizes)
RESULT_METHOD(lifetimes)
RESULT_METHOD(timeline)
GROUPING_METHOD(stacks)
GROUPING_METHOD(frames)

/* A th_row_namer over a list of str or None. */
static bool name_from_list(void *context, th_table *table, size_t field, size_t row,
                           size_t index) {
  PyObject *name = PyList_GetItem((PyObject *)context, (Py_ssize_t)index); /* borrowed */
  if (!name)
    return false;
  if (name == Py_None)
    return th_table_set_missing(table, field, row);
  PyObject *bytes = PyUnicode_AsEncodedString(name, "utf-16-le", "surrogatepass");
  if (!bytes)
    return false;
  bool done = th_table_set_text(table, field, row, (const uint16_t *)PyBytes_AsString(bytes),
                                (size_t)PyBytes_Size(bytes) / 2);
  Py_DECREF(bytes);
  return done;
}

static PyObject *named_table(PyObject *self, th_table *table) {
  if (!table && PyErr_Occurred())
    return NULL;
  return table_or_error(self, table);
}

PyDoc_STRVAR(processes_doc, "processes($self, names, /)\n--\n\n"
                            "Processes with a heap; `names` has one for each of `lives()`.");

static PyObject *analysis_processes(PyObject *self, PyObject *names) {
  const th_result *result = &((th_analysis_object *)self)->result;
  if (!PyList_Check(names) || (size_t)PyList_Size(names) < result->processes.count) {
    PyErr_SetString(PyExc_ValueError, "a list with a name for every process is needed");
    return NULL;
  }
  return named_table(self, th_rows_of_processes(result, name_from_list, names));
}

PyDoc_STRVAR(lives_doc, "lives($self, /)\n--\n\nA list of (pid, time of the first heap event).");

static PyObject *analysis_lives(PyObject *self, PyObject *unused) {
  const th_result *result = &((th_analysis_object *)self)->result;
  (void)unused;
  PyObject *list = PyList_New((Py_ssize_t)result->processes.count);
  for (size_t i = 0; list && i < result->processes.count; i++) {
    const th_process_row *row = &result->processes.items[i];
    PyObject *pair = Py_BuildValue("(kL)", (unsigned long)row->pid, (long long)row->first_ns);
    if (!pair || PyList_SetItem(list, (Py_ssize_t)i, pair) < 0)
      Py_CLEAR(list);
  }
  return list;
}

/* Classes of all frames as a buffer of uint32. */
static int get_classes(const th_analysis_object *analysis, PyObject *object, Py_buffer *buffer) {
  if (PyObject_GetBuffer(object, buffer, PyBUF_SIMPLE) < 0)
    return -1;
  if ((size_t)buffer->len == analysis->grouping.frames.count * sizeof(uint32_t))
    return 0;
  PyBuffer_Release(buffer);
  PyErr_SetString(PyExc_ValueError, "a class for every frame is needed");
  return -1;
}

PyDoc_STRVAR(classes_doc,
             "classes($self, kind, classes, names, own, /)\n--\n\n"
             "Figures by class of frame: 0 functions, 1 modules. `own`: by the innermost frame "
             "that has a class, instead of all.");

static PyObject *analysis_classes(PyObject *self, PyObject *args) {
  th_analysis_object *analysis = (th_analysis_object *)self;
  PyObject *object, *names, *made = NULL;
  Py_buffer classes;
  int kind, own;
  if (!PyArg_ParseTuple(args, "iOOp", &kind, &object, &names, &own))
    return NULL;
  if (!PyList_Check(names)) {
    PyErr_SetString(PyExc_TypeError, "names must be a list");
    return NULL;
  }
  size_t count = (size_t)PyList_Size(names);
  if (count >= UINT32_MAX || get_classes(analysis, object, &classes) < 0)
    return count >= UINT32_MAX ? PyErr_NoMemory() : NULL;
  const uint32_t *ids = classes.buf;
  th_summary *sums = th_mem_array(count, sizeof *sums);
  bool done = sums != NULL;
  Py_BEGIN_ALLOW_THREADS;
  for (size_t i = 0; done && i < count; i++)
    th_summary_clear(&sums[i]);
  for (size_t i = 0; own && i < analysis->grouping.frames.count; i++)
    own = ids[i] == UINT32_MAX || ids[i] < count; /* a class without a place would be a wild write */
  if (done && own)
    th_grouping_own(&analysis->grouping, ids, sums);
  else if (done)
    done = th_grouping_inclusive(&analysis->grouping, ids, (uint32_t)count, sums);
  Py_END_ALLOW_THREADS;
  if (!done)
    PyErr_NoMemory();
  else
    made = named_table(self, th_rows_of_classes(kind ? &th_module_figures_schema
                                                     : &th_function_figures_schema,
                                                &analysis->result, sums, count, name_from_list,
                                                names));
  th_mem_free(sums);
  PyBuffer_Release(&classes);
  return made;
}

PyDoc_STRVAR(site_bits_doc, "site_bits($self, classes, /)\n--\n\n"
                            "Bits of the sites with a frame whose class is not 2**32 - 1.");

static PyObject *analysis_site_bits(PyObject *self, PyObject *object) {
  th_analysis_object *analysis = (th_analysis_object *)self;
  Py_buffer classes;
  if (get_classes(analysis, object, &classes) < 0)
    return NULL;
  size_t size = analysis->grouping.site_ends.count / 8 + 1;
  PyObject *made = NULL;
  uint8_t *bits = th_mem_zero(size);
  if (bits) {
    th_grouping_mark_sites(&analysis->grouping, classes.buf, bits);
    made = PyBytes_FromStringAndSize((const char *)bits, (Py_ssize_t)size);
  } else {
    PyErr_NoMemory();
  }
  th_mem_free(bits);
  PyBuffer_Release(&classes);
  return made;
}

PyDoc_STRVAR(site_frames_doc, "site_frames($self, site, /)\n--\n\n"
                              "Numbers of the frames of a stack, innermost first.");

static PyObject *analysis_site_frames(PyObject *self, PyObject *number) {
  th_analysis_object *analysis = (th_analysis_object *)self;
  uint32_t site;
  if (th_py_u32(number, "site", &site) < 0)
    return NULL;
  if (site >= analysis->grouping.site_ends.count) {
    PyErr_SetString(PyExc_IndexError, "there is no such site");
    return NULL;
  }
  size_t count;
  const uint32_t *frames = th_grouping_frames(&analysis->grouping, site, &count);
  PyObject *list = PyList_New((Py_ssize_t)count);
  for (size_t i = 0; list && i < count; i++) {
    PyObject *frame = PyLong_FromUnsignedLong(frames[i]);
    if (!frame || PyList_SetItem(list, (Py_ssize_t)i, frame) < 0)
      Py_CLEAR(list);
  }
  return list;
}

static int analysis_traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  return 0;
}

static void analysis_dealloc(PyObject *self) {
  th_analysis_object *analysis = (th_analysis_object *)self;
  PyObject_GC_UnTrack(self);
  th_grouping_free(&analysis->grouping);
  th_result_free(&analysis->result);
  th_py_free_object(self);
}

PyDoc_STRVAR(type_doc, "What the heap ledger says at the end of a pass.");

static PyMethodDef methods[] = {
    {"facts", analysis_facts, METH_NOARGS, facts_doc},
    {"stacks", analysis_stacks, METH_NOARGS, NULL},
    {"frames", analysis_frames, METH_NOARGS, NULL},
    {"heaps", analysis_heaps, METH_NOARGS, NULL},
    {"threads", analysis_threads, METH_NOARGS, NULL},
    {"sizes", analysis_sizes, METH_NOARGS, NULL},
    {"lifetimes", analysis_lifetimes, METH_NOARGS, NULL},
    {"timeline", analysis_timeline, METH_NOARGS, NULL},
    {"processes", analysis_processes, METH_O, processes_doc},
    {"lives", analysis_lives, METH_NOARGS, lives_doc},
    {"classes", analysis_classes, METH_VARARGS, classes_doc},
    {"site_bits", analysis_site_bits, METH_O, site_bits_doc},
    {"site_frames", analysis_site_frames, METH_O, site_frames_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {{Py_tp_doc, (void *)type_doc},
                              {Py_tp_traverse, analysis_traverse},
                              {Py_tp_dealloc, analysis_dealloc},
                              {Py_tp_methods, methods},
                              {0, NULL}};

static PyType_Spec spec = {.name = "toolhelp._core.HeapAnalysis",
                           .basicsize = sizeof(th_analysis_object),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                    Py_TPFLAGS_DISALLOW_INSTANTIATION,
                           .slots = slots};

static PyMethodDef functions[] = {
    {"trace_analysis", trace_analysis, METH_VARARGS, analysis_doc},
    {"trace_decide", trace_decide, METH_VARARGS, decide_doc},
    {NULL, NULL, 0, NULL},
};

int th_py_analysis_init(PyObject *module) {
  th_core_state *state = th_core_state_of(module);
  const th_schema *schemas[] = {
      &th_stack_figures_schema,   &th_function_figures_schema, &th_module_figures_schema,
      &th_heap_figures_schema,    &th_thread_figures_schema,   &th_process_figures_schema,
      &th_size_class_schema,      &th_lifetime_class_schema,   &th_timeline_point_schema,
      &th_heap_frame_schema,      &th_block_schema};
  for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++)
    if (th_py_add_row_type(module, schemas[i]) < 0)
      return -1;
  state->trace_types[TH_TRACE_TYPE_ANALYSIS] =
      (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
  PyTypeObject *type = state->trace_types[TH_TRACE_TYPE_ANALYSIS];
  if (!type || PyModule_AddType(module, type) < 0 || th_py_blocks_init(module) < 0)
    return -1;
  return th_py_add_functions(module, functions);
}
