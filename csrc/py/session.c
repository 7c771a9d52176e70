/* Heap trace sessions: the Recording object and the functions about sessions of the machine. Every
   call into the C core is one whole step without the GIL, so that an interrupt cannot fall into
   the middle of a start or a stop. */
#include "py/core.h"

#include "base/mem.h"
#include "py/session_launch.h"
#include "py/session_live.h"
#include "heap/analysis.h"
#include "session/session_list.h"

typedef th_recording_object recording_object;

static th_core_state *state_of(recording_object *self) {
  return th_core_state_of_type(TH_TYPE(self));
}

/* Runs one step of the C core; `status` and `failure` are the caller's. */
#define STEP(call)                                                                                 \
  do {                                                                                             \
    Py_BEGIN_ALLOW_THREADS                                                                         \
    status = (call);                                                                               \
    Py_END_ALLOW_THREADS                                                                           \
  } while (0)

#define NONE_OR_RAISE(self)                                                                        \
  do {                                                                                             \
    if (status != TH_OK)                                                                           \
      return th_py_raise(state_of(self), &failure);                                                \
    Py_RETURN_NONE;                                                                                \
  } while (0)

/* ===== start, update, flush, stop ================================================= */

PyDoc_STRVAR(start_doc, "start($self, launch=None, /)\n--\n\n"
                        "Starts everything; on failure nothing of it is left.\n\n"
                        "`launch`: (command line, environment block or None, directory or None).");

static PyObject *recording_start(recording_object *self, PyObject *args) {
  PyObject *object = Py_None, *command, *environment, *directory;
  th_py_launch launch = {0};
  th_failure failure;
  th_status status;
  if (!PyArg_ParseTuple(args, "|O:start", &object))
    return NULL;
  if (object != Py_None) {
    if (!PyTuple_Check(object)) {
      PyErr_SetString(PyExc_TypeError, "launch must be a tuple or None");
      return NULL;
    }
    if (!PyArg_ParseTuple(object, "UOO", &command, &environment, &directory))
      return NULL;
    if (th_py_launch_parse(command, environment, directory, &launch) < 0) {
      th_py_launch_free(&launch);
      return NULL;
    }
  }
  STEP(th_recording_start(self->recording, object != Py_None ? &launch.launch : NULL, &failure));
  th_py_launch_free(&launch);
  NONE_OR_RAISE(self);
}

PyDoc_STRVAR(update_doc, "update($self, pids, hooks, /)\n--\n\nThe new full sets.");

static PyObject *recording_update(recording_object *self, PyObject *args) {
  PyObject *pid_object, *hook_object;
  uint32_t *pids = NULL;
  uint16_t *hooks = NULL;
  size_t pid_count, hook_count;
  th_failure failure;
  th_status status;
  if (!PyArg_ParseTuple(args, "OO:update", &pid_object, &hook_object))
    return NULL;
  if (th_py_u32_list(pid_object, "a process id", &pids, &pid_count) < 0 ||
      th_py_u16_list(hook_object, "a stack hook", &hooks, &hook_count) < 0) {
    th_mem_free(pids);
    return NULL;
  }
  STEP(th_recording_update(self->recording, pids, pid_count, hooks, hook_count, &failure));
  th_mem_free(pids);
  th_mem_free(hooks);
  NONE_OR_RAISE(self);
}

PyDoc_STRVAR(flush_doc, "flush($self, /)\n--\n\nHands on what lies in partly filled buffers.");

static PyObject *recording_flush(recording_object *self, PyObject *ignored) {
  (void)ignored;
  th_failure failure;
  th_status status;
  STEP(th_recording_flush(self->recording, &failure));
  NONE_OR_RAISE(self);
}

PyDoc_STRVAR(stop_doc, "stop($self, /)\n--\n\nStops what runs; again: nothing.");

static PyObject *recording_stop(recording_object *self, PyObject *ignored) {
  (void)ignored;
  th_failure failure;
  th_status status;
  STEP(th_recording_stop(self->recording, &failure));
  NONE_OR_RAISE(self);
}

static PyObject *figures_tuple(const th_session_figures *figures) {
  return Py_BuildValue("(kkkkkkkkk)", (unsigned long)figures->buffer_kb,
                       (unsigned long)figures->min_buffers, (unsigned long)figures->max_buffers,
                       (unsigned long)figures->buffers, (unsigned long)figures->free_buffers,
                       (unsigned long)figures->buffers_written,
                       (unsigned long)figures->events_lost,
                       (unsigned long)figures->log_buffers_lost,
                       (unsigned long)figures->live_buffers_lost);
}

PyDoc_STRVAR(query_doc,
             "query($self, /)\n--\n\n"
             "(figures of the heap session, those of its companion or None).\n\n"
             "Figures: (buffer_kb, min_buffers, max_buffers, buffers, free_buffers, "
             "buffers_written,\nevents_lost, log_buffers_lost, live_buffers_lost).");

static PyObject *recording_query(recording_object *self, PyObject *ignored) {
  (void)ignored;
  th_session_figures heap, companion;
  bool has_companion;
  th_failure failure;
  th_status status;
  STEP(th_recording_query(self->recording, &heap, &companion, &has_companion, &failure));
  if (status != TH_OK)
    return th_py_raise(state_of(self), &failure);
  PyObject *first = figures_tuple(&heap), *pair = NULL;
  PyObject *second = has_companion ? figures_tuple(&companion) : Py_NewRef(Py_None);
  if (first && second)
    pair = PyTuple_Pack(2, first, second);
  Py_XDECREF(first);
  Py_XDECREF(second);
  return pair;
}

PyDoc_STRVAR(gone_doc, "targets_gone($self, /)\n--\n\nWhether every traced process has ended.");

static PyObject *recording_gone(recording_object *self, PyObject *ignored) {
  (void)ignored;
  bool gone;
  Py_BEGIN_ALLOW_THREADS
  gone = th_recording_targets_gone(self->recording);
  Py_END_ALLOW_THREADS
  return PyBool_FromLong(gone);
}

/* ===== the child ================================================================== */

PyDoc_STRVAR(wait_doc, "child_wait($self, milliseconds, /)\n--\n\n"
                       "The exit code of the launched program, or None while it runs.");

static PyObject *recording_child_wait(recording_object *self, PyObject *argument) {
  uint32_t milliseconds, exit_code = 0;
  bool ended;
  th_failure failure;
  th_status status;
  if (th_py_u32(argument, "milliseconds", &milliseconds) < 0)
    return NULL;
  STEP(th_recording_child_wait(self->recording, milliseconds, &ended, &exit_code, &failure));
  if (status != TH_OK)
    return th_py_raise(state_of(self), &failure);
  if (!ended)
    Py_RETURN_NONE;
  return PyLong_FromUnsignedLong(exit_code);
}

PyDoc_STRVAR(terminate_doc, "child_terminate($self, exit_code, /)\n--\n\n"
                            "Ends the launched program.");

static PyObject *recording_child_terminate(recording_object *self, PyObject *argument) {
  uint32_t exit_code;
  th_failure failure;
  th_status status;
  if (th_py_u32(argument, "exit_code", &exit_code) < 0)
    return NULL;
  STEP(th_recording_child_terminate(self->recording, exit_code, &failure));
  NONE_OR_RAISE(self);
}

/* ===== the object ================================================================= */

static PyObject *recording_get_state(recording_object *self, void *closure) {
  static const char *const names[] = {"new", "running", "stopped"};
  (void)closure;
  return PyUnicode_FromString(names[th_recording_state(self->recording)]);
}

static PyObject *recording_get_child(recording_object *self, void *closure) {
  (void)closure;
  uint32_t pid = th_recording_child_pid(self->recording);
  if (!pid)
    Py_RETURN_NONE;
  return PyLong_FromUnsignedLong(pid);
}

static void recording_dealloc(recording_object *self) {
  PyTypeObject *type = TH_TYPE(self);
  if (self->recording) {
    if (th_recording_state(self->recording) == TH_SESSION_RUNNING) {
      PyObject *kind, *value, *traceback; /* the current exception stays as it is */
      PyErr_Fetch(&kind, &value, &traceback);
      if (PyErr_WarnEx(PyExc_ResourceWarning, "a heap trace session was not stopped", 1) < 0)
        PyErr_WriteUnraisable(NULL);
      PyErr_Restore(kind, value, traceback);
    }
    Py_BEGIN_ALLOW_THREADS
    th_recording_free(self->recording);
    Py_END_ALLOW_THREADS
  }
  th_analysis_free(self->analysis);
  PyObject_Free(self);
  Py_DECREF(type);
}

static PyMethodDef recording_methods[] = {
    {"start", (PyCFunction)recording_start, METH_VARARGS, start_doc},
    {"update", (PyCFunction)recording_update, METH_VARARGS, update_doc},
    {"flush", (PyCFunction)recording_flush, METH_NOARGS, flush_doc},
    {"stop", (PyCFunction)recording_stop, METH_NOARGS, stop_doc},
    {"query", (PyCFunction)recording_query, METH_NOARGS, query_doc},
    {"targets_gone", (PyCFunction)recording_gone, METH_NOARGS, gone_doc},
    {"live_next", (PyCFunction)th_py_live_next, METH_O, th_py_live_next_doc},
    {"live_counts", (PyCFunction)th_py_live_counts, METH_NOARGS, th_py_live_counts_doc},
    {"live_analyze", (PyCFunction)th_py_live_analyze, METH_VARARGS, th_py_live_analyze_doc},
    {"live_result", (PyCFunction)th_py_live_result, METH_NOARGS, th_py_live_result_doc},
    {"live_note", (PyCFunction)th_py_live_note, METH_O, th_py_live_note_doc},
    {"live_wait_end", (PyCFunction)th_py_live_wait_end, METH_O, th_py_live_wait_end_doc},
    {"live_close", (PyCFunction)th_py_live_close, METH_NOARGS, th_py_live_close_doc},
    {"child_wait", (PyCFunction)recording_child_wait, METH_O, wait_doc},
    {"child_terminate", (PyCFunction)recording_child_terminate, METH_O, terminate_doc},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef recording_properties[] = {
    {"state", (getter)recording_get_state, NULL, "\"new\", \"running\" or \"stopped\".", NULL},
    {"child_pid", (getter)recording_get_child, NULL, "Of the launched program, or None.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

PyDoc_STRVAR(recording_doc, "A heap session and what belongs to it; made by `recording()`.\n\n"
                            "Its end stops what runs.");

static PyType_Slot recording_slots[] = {{Py_tp_doc, (void *)recording_doc},
                                        {Py_tp_dealloc, recording_dealloc},
                                        {Py_tp_methods, recording_methods},
                                        {Py_tp_getset, recording_properties},
                                        {0, NULL}};

static PyType_Spec recording_spec = {.name = "toolhelp.heaptrace.Recording",
                                     .basicsize = sizeof(recording_object),
                                     .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE |
                                              Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                     .slots = recording_slots};

PyDoc_STRVAR(recording_new_doc, "recording(heap, companion=None, live_batches=0, /)\n--\n\n"
                                "A Recording that is not started. Each argument is a dict of "
                                "keywords; see session_properties.");

static PyObject *new_recording(PyObject *module, PyObject *args) {
  th_core_state *state = th_core_state_of(module);
  PyObject *heap_words, *companion_words = Py_None;
  th_py_plan heap = {0}, companion = {0};
  th_failure failure;
  th_status status;
  recording_object *self = NULL;
  unsigned int batches = 0;
  if (!PyArg_ParseTuple(args, "O!|OI:recording", &PyDict_Type, &heap_words, &companion_words,
                        &batches))
    return NULL;
  if (companion_words != Py_None && !PyDict_Check(companion_words)) {
    PyErr_SetString(PyExc_TypeError, "companion must be a dict or None");
    return NULL;
  }
  if (th_py_plan_parse(heap_words, &heap) < 0 ||
      (companion_words != Py_None && th_py_plan_parse(companion_words, &companion) < 0))
    goto done;
  th_recording_plan plan = {.heap = heap.plan,
                            .companion = companion_words != Py_None ? &companion.plan : NULL,
                            .live_batches = batches};
  self = PyObject_New(recording_object, state->recording_type);
  if (!self)
    goto done;
  self->recording = NULL;
  self->analysis = NULL;
  status = th_recording_new(&plan, &self->recording, &failure);
  if (status != TH_OK) {
    Py_CLEAR(self);
    th_py_raise(state, &failure);
  }
done:
  th_py_plan_free(&heap);
  th_py_plan_free(&companion);
  return (PyObject *)self;
}

/* ===== the machine's sessions ===================================================== */

PyDoc_STRVAR(properties_doc,
             "session_properties(pointer_size, /, name, *, file=None, guid=None, mode=0, "
             "buffer_kb=0,\n    min_buffers=0, max_buffers=0, max_file=0, flush_seconds=0, "
             "clock=1,\n    enable_flags=0, pids=(), hooks=(), stack_cache=None, extension=True, "
             "library=None)\n--\n\n"
             "The bytes of EVENT_TRACE_PROPERTIES, names and extension that a start would pass.");

static PyObject *session_properties(PyObject *module, PyObject *args, PyObject *keywords) {
  th_core_state *state = th_core_state_of(module);
  unsigned int pointer_size;
  th_py_plan plan = {0};
  uint8_t *block;
  size_t size;
  th_failure failure;
  PyObject *bytes = NULL, *none = NULL;
  if (!PyArg_ParseTuple(args, "I:session_properties", &pointer_size))
    return NULL;
  if (pointer_size != 4 && pointer_size != 8) {
    PyErr_SetString(PyExc_ValueError, "pointer_size is 4 or 8");
    return NULL;
  }
  if (!keywords && !(keywords = none = PyDict_New()))
    return NULL;
  if (th_py_plan_parse(keywords, &plan) == 0) {
    if (th_properties_build(&plan.plan.request, pointer_size, &block, &size, &failure) != TH_OK) {
      th_py_raise(state, &failure);
    } else {
      bytes = PyBytes_FromStringAndSize((const char *)block, (Py_ssize_t)size);
      th_mem_free(block);
    }
  }
  th_py_plan_free(&plan);
  Py_XDECREF(none);
  return bytes;
}

PyDoc_STRVAR(sessions_doc,
             "trace_sessions(all=False, /)\n--\n\n"
             "Table of TraceSession: heap sessions and ours, or all this process may see.\n\n"
             "Calls QueryAllTracesW, and OpenProcess for the owners of ours.");

static PyObject *trace_sessions(PyObject *module, PyObject *args) {
  int all = 0;
  if (!PyArg_ParseTuple(args, "|p:trace_sessions", &all))
    return NULL;
  th_core_state *state = th_core_state_of(module);
  th_table *table;
  th_failure failure;
  th_status status;
  STEP(th_session_list(all, &table, &failure));
  return status == TH_OK ? th_py_table(state, table) : th_py_raise(state, &failure);
}

PyDoc_STRVAR(stop_named_doc, "stop_trace_session(name, /)\n--\n\n"
                             "ControlTraceW(EVENT_TRACE_CONTROL_STOP) by name.");

static PyObject *stop_named(PyObject *module, PyObject *argument) {
  th_core_state *state = th_core_state_of(module);
  size_t units;
  th_failure failure;
  th_status status;
  if (!PyUnicode_Check(argument)) {
    PyErr_SetString(PyExc_TypeError, "name must be a str");
    return NULL;
  }
  PyObject *bytes = th_py_utf16(argument, &units);
  if (!bytes)
    return NULL;
  STEP(th_session_stop_named(th_py_units(bytes), &failure));
  Py_DECREF(bytes);
  if (status != TH_OK)
    return th_py_raise(state, &failure);
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"recording", new_recording, METH_VARARGS, recording_new_doc},
    {"session_properties", (PyCFunction)(void (*)(void))session_properties,
     METH_VARARGS | METH_KEYWORDS, properties_doc},
    {"trace_sessions", trace_sessions, METH_VARARGS, sessions_doc},
    {"stop_trace_session", stop_named, METH_O, stop_named_doc},
    {NULL, NULL, 0, NULL}};

int th_py_session_init(PyObject *module) {
  th_core_state *state = th_core_state_of(module);
  state->recording_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &recording_spec, NULL);
  if (!state->recording_type ||
      PyModule_AddObjectRef(module, "Recording", (PyObject *)state->recording_type) < 0)
    return -1;
  if (th_py_add_row_type(module, &th_trace_session_schema) < 0 ||
      th_py_registry_init(module) < 0 || th_py_session_facts_init(module) < 0 ||
      th_py_session_child_init(module) < 0)
    return -1;
  return th_py_add_functions(module, functions);
}
