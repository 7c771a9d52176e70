#include "py/core.h"

PyObject *th_py_raise(th_core_state *state, const th_failure *failure) {
  if (failure->status == TH_NO_MEMORY)
    return PyErr_NoMemory();
  if (failure->status == TH_INTERRUPTED && PyErr_Occurred())
    return NULL; /* what interrupted it is already set */
  /* from_failure(status, code, function, pid, attempts, offset, detail, reason) */
  PyObject *pid = failure->has_pid ? PyLong_FromUnsignedLong(failure->pid) : Py_NewRef(Py_None);
  PyObject *offset = failure->has_offset ? PyLong_FromUnsignedLongLong(failure->offset)
                                         : Py_NewRef(Py_None);
  if (pid && offset) {
    PyObject *error = PyObject_CallFunction(
        state->failure, "skzOkOzz", th_status_name(failure->status), (unsigned long)failure->code,
        failure->function, pid, (unsigned long)failure->attempts, offset,
        failure->detail ? failure->detail : th_status_text(failure->status),
        th_reason_name(failure->reason));
    if (error) {
      PyErr_SetObject((PyObject *)Py_TYPE(error), error);
      Py_DECREF(error);
    }
  }
  Py_XDECREF(pid);
  Py_XDECREF(offset);
  return NULL;
}
