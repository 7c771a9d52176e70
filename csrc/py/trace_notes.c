/* What was noted beside a trace, from Python to the decoder. */
#include "py/trace.h"

static int note_one(th_core_state *state, th_trace *trace, PyObject *item) {
  long long time;
  PyObject *what;
  unsigned int number;
  unsigned long pid;
  const char *payload;
  Py_ssize_t size;
  th_failure failure;
  if (!PyTuple_Check(item)) {
    PyErr_SetString(PyExc_TypeError, "a note is a tuple");
    return -1;
  }
  if (!PyArg_ParseTuple(item, "LOIky#", &time, &what, &number, &pid, &payload, &size))
    return -1;
  th_event event = {.time = time,
                    .payload = (const uint8_t *)payload,
                    .pid = (uint32_t)pid,
                    .tid = TH_NO_ID,
                    .hook = TH_NO_HOOK,
                    .size = (uint32_t)size,
                    .kind = TH_HEADER_LIVE,
                    .pointer_size = 8};
  if (size > UINT16_MAX || number > UINT8_MAX) {
    PyErr_SetString(PyExc_ValueError, "a note is too large");
    return -1;
  }
  if (PyBytes_Check(what)) {
    if (PyBytes_Size(what) != 16) {
      PyErr_SetString(PyExc_ValueError, "a GUID has 16 bytes");
      return -1;
    }
    event.guid = (const uint8_t *)PyBytes_AsString(what);
    event.opcode = (uint8_t)number;
  } else {
    if (th_py_u32(what, "hook", &event.hook) < 0)
      return -1;
    event.opcode = (uint8_t)event.hook;
    event.version = (uint16_t)number;
  }
  if (th_trace_note(trace, &event, &failure) == TH_OK)
    return 0;
  th_py_raise(state, &failure);
  return -1;
}

int th_py_note(th_core_state *state, th_trace *trace, PyObject *notes) {
  PyObject *tuple = PySequence_Tuple(notes);
  int done = tuple ? 0 : -1;
  for (Py_ssize_t i = 0; done == 0 && i < PyTuple_Size(tuple); i++)
    done = note_one(state, trace, PyTuple_GetItem(tuple, i));
  Py_XDECREF(tuple);
  return done;
}
