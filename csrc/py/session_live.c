#include "py/core.h"

#include "etl/stack_rows.h"
#include "py/analysis.h"
#include "py/session_live.h"

/* NULL with ValueError when the recording has no live events (yet). */
static th_live *live_of(th_recording_object *self) {
  th_live *live = th_recording_live(self->recording);
  if (!live)
    PyErr_SetString(PyExc_ValueError, th_recording_state(self->recording) == TH_SESSION_NEW
                                          ? "the session is not started yet"
                                          : "the session delivers no live events");
  return live;
}

const char th_py_live_next_doc[] =
    "live_next($self, milliseconds, /)\n--\n\n"
    "(Table of HeapEvent or None, whether that is the end).\n\n"
    "Waits up to so long. Raises what ended the events before their time.";

PyObject *th_py_live_next(th_recording_object *self, PyObject *argument) {
  th_core_state *state = th_core_state_of_type(TH_TYPE(self));
  uint32_t milliseconds;
  th_heap_batch batch = {0};
  th_live_answer answer = TH_LIVE_NOTHING;
  th_failure failure;
  th_status status;
  th_live *live = live_of(self);
  if (!live || th_py_u32(argument, "milliseconds", &milliseconds) < 0)
    return NULL;
  Py_BEGIN_ALLOW_THREADS
  status = th_live_next(live, milliseconds * UINT64_C(1000000), &batch, &answer, &failure);
  Py_END_ALLOW_THREADS
  if (status != TH_OK)
    return th_py_raise(state, &failure);
  if (answer != TH_LIVE_BATCH)
    return Py_BuildValue("(OO)", Py_None, answer == TH_LIVE_END ? Py_True : Py_False);
  th_table *rows = batch.rows;
  batch.rows = NULL;
  th_heap_batch_free(&batch);
  PyObject *table = th_py_table(state, rows);
  return table ? Py_BuildValue("(NO)", table, Py_False) : NULL;
}

const char th_py_live_counts_doc[] =
    "live_counts($self, /)\n--\n\n"
    "(events delivered, heap events handed on, heap events nobody took, times the queue was "
    "full).";

PyObject *th_py_live_counts(th_recording_object *self, PyObject *ignored) {
  (void)ignored;
  th_live_counts counts;
  th_live *live = live_of(self);
  if (!live)
    return NULL;
  Py_BEGIN_ALLOW_THREADS
  th_live_counters(live, &counts);
  Py_END_ALLOW_THREADS
  return Py_BuildValue("(KKKK)", (unsigned long long)counts.records,
                       (unsigned long long)counts.rows, (unsigned long long)counts.discarded,
                       (unsigned long long)counts.waits);
}

const char th_py_live_wait_end_doc[] =
    "live_wait_end($self, milliseconds, /)\n--\n\n"
    "Whether everything that the stopped session had has been handed on, waiting up to so long.";

PyObject *th_py_live_wait_end(th_recording_object *self, PyObject *argument) {
  uint32_t milliseconds;
  bool over;
  th_live *live = live_of(self);
  if (!live || th_py_u32(argument, "milliseconds", &milliseconds) < 0)
    return NULL;
  Py_BEGIN_ALLOW_THREADS
  over = th_live_wait_end(live, milliseconds * UINT64_C(1000000));
  Py_END_ALLOW_THREADS
  return PyBool_FromLong(over);
}

const char th_py_live_close_doc[] = "live_close($self, /)\n--\n\n"
                                    "Ends the consumer; what nobody took is dropped and counted.";

PyObject *th_py_live_close(th_recording_object *self, PyObject *ignored) {
  (void)ignored;
  th_live *live = th_recording_live(self->recording);
  Py_BEGIN_ALLOW_THREADS
  if (live)
    th_live_close(live);
  Py_END_ALLOW_THREADS
  Py_RETURN_NONE;
}

static th_status add(void *context, const th_heap_batch *batch, th_failure *failure) {
  return th_analysis_add((th_analysis *)context, batch, failure);
}

const char th_py_live_analyze_doc[] =
    "live_analyze($self, rule_ns, buckets, /)\n--\n\n"
    "Begins a ledger over the events, from the first on; once.";

PyObject *th_py_live_analyze(th_recording_object *self, PyObject *args) {
  th_core_state *state = th_core_state_of_type(TH_TYPE(self));
  unsigned long long rule_ns;
  unsigned int buckets;
  th_failure failure;
  th_analysis *analysis = NULL;
  th_status status;
  th_live *live = live_of(self);
  if (!live || !PyArg_ParseTuple(args, "KI:live_analyze", &rule_ns, &buckets))
    return NULL;
  th_ledger_options options = {.rule_ns = rule_ns, .buckets = buckets, .duration_ns = -1};
  status = th_analysis_new(&options, &analysis, &failure);
  if (status == TH_OK) {
    th_live_sink sink = {analysis, add};
    Py_BEGIN_ALLOW_THREADS
    status = th_live_attach(live, &sink, &failure);
    Py_END_ALLOW_THREADS
  }
  if (status != TH_OK) {
    th_analysis_free(analysis);
    return th_py_raise(state, &failure);
  }
  self->analysis = analysis;
  Py_RETURN_NONE;
}

/* The consumer goes on adding to the texts of its decoder: a table takes its own along. */
static PyObject *table_of(th_core_state *state, th_table *rows) {
  if (rows && th_table_own_texts(rows))
    return th_py_table(state, rows);
  th_table_drop(rows);
  return PyErr_NoMemory();
}

/* With the consumer held. */
static PyObject *result_of(th_core_state *state, const th_analysis *analysis, th_trace *trace) {
  th_failure failure;
  if (th_trace_settle_modules(trace, &failure) != TH_OK)
    return th_py_raise(state, &failure);
  PyObject *figures = th_py_analysis_take(state, analysis, trace);
  PyObject *facts = figures ? th_py_trace_facts(trace, 0) : NULL;
  PyObject *processes =
      facts ? table_of(state, th_process_model_processes(th_trace_processes(trace))) : NULL;
  PyObject *modules =
      processes ? table_of(state, th_module_model_rows(th_trace_modules(trace))) : NULL;
  PyObject *all = modules ? PyTuple_Pack(4, figures, facts, processes, modules) : NULL;
  Py_XDECREF(figures);
  Py_XDECREF(facts);
  Py_XDECREF(processes);
  Py_XDECREF(modules);
  return all;
}

const char th_py_live_result_doc[] =
    "live_result($self, /)\n--\n\n"
    "(HeapAnalysis of now, facts, Table of processes, Table of modules) of the running ledger.";

PyObject *th_py_live_result(th_recording_object *self, PyObject *ignored) {
  (void)ignored;
  th_trace *trace;
  th_live *live = live_of(self);
  if (!live)
    return NULL;
  if (!self->analysis) {
    PyErr_SetString(PyExc_ValueError, "the events are not being analyzed");
    return NULL;
  }
  Py_BEGIN_ALLOW_THREADS
  trace = th_live_hold(live);
  Py_END_ALLOW_THREADS
  PyObject *result = result_of(th_core_state_of_type(TH_TYPE(self)), self->analysis, trace);
  th_live_release(live);
  return result;
}

const char th_py_live_note_doc[] = "live_note($self, notes, /)\n--\n\n"
                                   "What was noted beside the events, for their decoder.";

PyObject *th_py_live_note(th_recording_object *self, PyObject *notes) {
  th_trace *trace;
  th_live *live = live_of(self);
  if (!live)
    return NULL;
  PyObject *tuple = PySequence_Tuple(notes);
  if (!tuple)
    return NULL;
  Py_BEGIN_ALLOW_THREADS
  trace = th_live_hold(live);
  Py_END_ALLOW_THREADS
  int done = th_live_ended(live) ? 0
                                 : th_py_note(th_core_state_of_type(TH_TYPE(self)), trace, tuple);
  th_live_release(live);
  Py_DECREF(tuple);
  return done < 0 ? NULL : Py_NewRef(Py_None);
}
