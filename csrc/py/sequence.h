/* What a sequence that never changes has besides its items: methods that Table and Column share. */
#ifndef TH_PY_SEQUENCE_H
#define TH_PY_SEQUENCE_H

#include "py/core.h"

extern const char th_py_index_doc[], th_py_count_doc[];
PyObject *th_py_index(PyObject *self, PyObject *args);
PyObject *th_py_count(PyObject *self, PyObject *value);

/* __copy__ and __deepcopy__: nothing in it can change, so the same object will do. */
PyObject *th_py_itself(PyObject *self, PyObject *ignored);

#define TH_SEQUENCE_METHODS                                                                        \
  {"index", th_py_index, METH_VARARGS, th_py_index_doc},                                           \
      {"count", th_py_count, METH_O, th_py_count_doc},                                             \
      {"__copy__", th_py_itself, METH_NOARGS, NULL},                                               \
      {"__deepcopy__", th_py_itself, METH_O, NULL}

#endif
