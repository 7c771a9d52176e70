#include "py/core.h"

int th_py_u64(PyObject *object, const char *name, uint64_t *out) {
  PyObject *index = PyNumber_Index(object);
  if (!index)
    return -1;
  unsigned long long value = PyLong_AsUnsignedLongLong(index);
  Py_DECREF(index);
  if (value == (unsigned long long)-1 && PyErr_Occurred()) {
    if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
      PyErr_Clear();
      PyErr_Format(PyExc_ValueError, "%s must be from 0 to 2**64 - 1, not %R", name, object);
    }
    return -1;
  }
  *out = value;
  return 0;
}

int th_py_u32(PyObject *object, const char *name, uint32_t *out) {
  uint64_t value;
  if (th_py_u64(object, name, &value) < 0)
    return -1;
  if (value > UINT32_MAX) {
    PyErr_Format(PyExc_ValueError, "%s must be from 0 to 2**32 - 1, not %R", name, object);
    return -1;
  }
  *out = (uint32_t)value;
  return 0;
}

int th_core_exec(PyObject *module) {
  th_core_state *state = th_core_state_of(module);
  PyObject *errors = PyImport_ImportModule("toolhelp.errors");
  if (!errors)
    return -1;
  state->failure = PyObject_GetAttrString(errors, "from_failure");
  Py_DECREF(errors);
  if (!state->failure)
    return -1;
  if (th_py_column_init(module) < 0 || th_py_table_init(module) < 0)
    return -1;
  if (th_py_snapshot_init(module) < 0 || th_py_raw_init(module) < 0 ||
      th_py_heaps_init(module) < 0 || th_py_scan_init(module) < 0 || th_py_diff_init(module) < 0 ||
      th_py_build_init(module) < 0 || th_py_memory_init(module) < 0 ||
      th_py_raw_heap_init(module) < 0)
    return -1;
  if (th_py_trace_init(module) < 0 || th_py_session_init(module) < 0 ||
      th_py_analysis_init(module) < 0)
    return -1;
  return 0;
}

int th_core_traverse(PyObject *module, visitproc visit, void *arg) {
  th_core_state *state = th_core_state_of(module);
  Py_VISIT(state->failure);
  Py_VISIT(state->table_type);
  Py_VISIT(state->column_type);
  Py_VISIT(state->raw_snapshot_type);
  Py_VISIT(state->recording_type);
  Py_VISIT(state->child_type);
  Py_VISIT(state->memory_type);
  for (size_t i = 0; i < sizeof state->trace_types / sizeof *state->trace_types; i++)
    Py_VISIT(state->trace_types[i]);
  for (size_t i = 0; i < state->row_type_count; i++)
    Py_VISIT(state->row_types[i].type);
  return 0;
}

int th_core_clear(PyObject *module) {
  th_core_state *state = th_core_state_of(module);
  Py_CLEAR(state->failure);
  Py_CLEAR(state->table_type);
  Py_CLEAR(state->column_type);
  Py_CLEAR(state->raw_snapshot_type);
  Py_CLEAR(state->recording_type);
  Py_CLEAR(state->child_type);
  Py_CLEAR(state->memory_type);
  for (size_t i = 0; i < sizeof state->trace_types / sizeof *state->trace_types; i++)
    Py_CLEAR(state->trace_types[i]);
  for (size_t i = 0; i < state->row_type_count; i++)
    Py_CLEAR(state->row_types[i].type);
  return 0;
}

void th_core_free(void *module) { th_core_clear(module); }
