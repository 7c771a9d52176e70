#include "py/sequence.h"

/* Whether item `index` equals `value`: 1, 0, or -1 with an exception set. */
static int item_equals(PyObject *self, Py_ssize_t index, PyObject *value) {
  PyObject *item = PySequence_GetItem(self, index);
  if (!item)
    return -1;
  int same = PyObject_RichCompareBool(item, value, Py_EQ);
  Py_DECREF(item);
  return same;
}

const char th_py_index_doc[] = "index($self, value, start=0, stop=sys.maxsize, /)\n--\n\n"
                               "The first index from `start` to before `stop` whose item equals "
                               "`value`; else ValueError.";

PyObject *th_py_index(PyObject *self, PyObject *args) {
  PyObject *value;
  Py_ssize_t start = 0, stop = PY_SSIZE_T_MAX, count = PyObject_Size(self);
  if (count < 0 || !PyArg_ParseTuple(args, "O|nn:index", &value, &start, &stop))
    return NULL;
  PySlice_AdjustIndices(count, &start, &stop, 1);
  for (Py_ssize_t i = start; i < stop; i++) {
    int same = item_equals(self, i, value);
    if (same)
      return same < 0 ? NULL : PyLong_FromSsize_t(i);
  }
  PyErr_Format(PyExc_ValueError, "%R is not in it", value);
  return NULL;
}

const char th_py_count_doc[] = "count($self, value, /)\n--\n\nHow many items equal `value`.";

PyObject *th_py_count(PyObject *self, PyObject *value) {
  Py_ssize_t found = PySequence_Count(self, value);
  return found < 0 ? NULL : PyLong_FromSsize_t(found);
}

PyObject *th_py_itself(PyObject *self, PyObject *ignored) {
  (void)ignored;
  return Py_NewRef(self);
}
