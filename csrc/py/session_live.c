#include "py/core.h"

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
