/* Comparing two tables. */
#include "py/table.h"

#include "snapshot/diff.h"
#include "snapshot/rows.h"

#include <string.h>

static bool is_processes(const th_schema *schema) {
  return schema == &th_process_schema || schema == &th_identified_process_schema;
}

static int take_key(const th_schema *schema, PyObject *name, size_t *field) {
  for (size_t i = 0; i < schema->field_count; i++) {
    if (PyUnicode_CompareWithASCIIString(name, schema->fields[i].name) != 0)
      continue;
    if (th_types[schema->fields[i].type].format == NULL)
      break;
    *field = i;
    return 0;
  }
  PyErr_Format(PyExc_ValueError, "%R is no column that rows can be told apart by", name);
  return -1;
}

/* Keys of a tuple of column names; the column's own types are compared. */
static int take_keys(const th_schema *schema, PyObject *names, th_diff_request *request) {
  Py_ssize_t count = PyTuple_Size(names);
  if (count < 1 || count > (Py_ssize_t)TH_DIFF_MAX_KEYS) {
    PyErr_SetString(PyExc_ValueError, "1 to 8 key columns are needed");
    return -1;
  }
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *name = PyTuple_GetItem(names, i);
    if (!PyUnicode_Check(name)) {
      PyErr_SetString(PyExc_TypeError, "a column is named by a str");
      return -1;
    }
    if (take_key(schema, name, &request->keys[i]) < 0)
      return -1;
  }
  request->key_count = (size_t)count;
  return 0;
}

PyDoc_STRVAR(diff_doc,
             "diff(before, after, keys, /)\n--\n\n"
             "(removed, added, before_changed, after_changed, same): four Tables and the number of "
             "equal rows.\n\nRows with equal values in the columns `keys` are the same row; for "
             "Tables of processes `keys` is None: identity counts.");

static PyObject *diff(PyObject *module, PyObject *args) {
  th_core_state *state = th_core_state_of(module);
  PyObject *first, *second, *keys;
  if (!PyArg_ParseTuple(args, "O!O!O:diff", state->table_type, &first, state->table_type, &second,
                        &keys))
    return NULL;
  const th_table_object *before = (th_table_object *)first, *after = (th_table_object *)second;
  const th_schema *schema = before->table->schema;
  th_diff_request request = {.before = {before->table, before->first, before->count},
                             .after = {after->table, after->first, after->count}};
  request.processes = is_processes(schema) && is_processes(after->table->schema);
  if (!request.processes && schema != after->table->schema) {
    PyErr_SetString(PyExc_TypeError, "Tables of one kind are needed");
    return NULL;
  }
  if (!request.processes) {
    if (!PyTuple_Check(keys)) {
      PyErr_SetString(PyExc_TypeError, "keys must be a tuple of column names");
      return NULL;
    }
    if (take_keys(schema, keys, &request) < 0)
      return NULL;
  }
  th_diff found = {0};
  th_failure failure;
  th_status status;
  Py_BEGIN_ALLOW_THREADS
  status = th_diff_tables(&request, &found, &failure);
  Py_END_ALLOW_THREADS
  if (status != TH_OK)
    return th_py_raise(state, &failure);

  th_table *const tables[] = {found.removed, found.added, found.before_changed,
                              found.after_changed};
  PyObject *result = PyTuple_New(5);
  for (Py_ssize_t i = 0; i < 4; i++) {
    if (!result) {
      th_table_drop(tables[i]);
      continue;
    }
    PyObject *item = th_py_table(state, tables[i]);
    if (!item || PyTuple_SetItem(result, i, item) < 0)
      Py_CLEAR(result);
  }
  if (result) {
    PyObject *same = PyLong_FromSize_t(found.same);
    if (!same || PyTuple_SetItem(result, 4, same) < 0)
      Py_CLEAR(result);
  }
  return result;
}

static PyMethodDef functions[] = {{"diff", diff, METH_VARARGS, diff_doc}, {NULL, NULL, 0, NULL}};

int th_py_diff_init(PyObject *module) { return th_py_add_functions(module, functions); }
