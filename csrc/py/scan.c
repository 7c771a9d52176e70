/* Scans of all processes and what is made of them. */
#include "py/table.h"

#include "snapshot/error_rows.h"
#include "snapshot/rows.h"
#include "snapshot/scan.h"
#include "snapshot/tree.h"

/* The ids of a sequence; *pids is the caller's to free, also when nothing is asked for. */
static int take_pids(PyObject *sequence, uint32_t **pids, size_t *count) {
  Py_ssize_t size = PySequence_Size(sequence);
  if (size < 0)
    return -1;
  uint32_t *made = th_mem_array((size_t)size, sizeof *made);
  if (!made) {
    PyErr_NoMemory();
    return -1;
  }
  for (Py_ssize_t i = 0; i < size; i++) {
    PyObject *item = PySequence_GetItem(sequence, i);
    int failed = !item || th_py_u32(item, "pid", &made[i]) < 0;
    Py_XDECREF(item);
    if (failed) {
      th_mem_free(made);
      return -1;
    }
  }
  *pids = made;
  *count = (size_t)size;
  return 0;
}

static PyObject *result_tuple(th_core_state *state, const th_scan *scan) {
  th_table *const tables[] = {scan->processes, scan->threads,    scan->modules,
                              scan->heaps,     scan->heap_sizes, scan->errors};
  const Py_ssize_t count = (Py_ssize_t)(sizeof tables / sizeof *tables);
  PyObject *result = PyTuple_New(count);
  for (Py_ssize_t i = 0; i < count; i++) {
    if (!result) { /* what is left is nobody's */
      th_table_drop(tables[i]);
      continue;
    }
    PyObject *item = tables[i] ? th_py_table(state, tables[i]) : Py_NewRef(Py_None);
    if (!item || PyTuple_SetItem(result, i, item) < 0)
      Py_CLEAR(result);
  }
  return result;
}

PyDoc_STRVAR(scan_doc,
             "scan(modules, heaps, heap_sizes, identity, pids, allow_injection, timeout_ns, "
             "workers, raise_first, /)\n--\n\n"
             "(processes, threads, modules, heaps, heap_sizes, errors), None where not asked for.\n\n"
             "`pids` is a sequence or None for all; `workers` 0 chooses their number.");

static PyObject *scan(PyObject *module, PyObject *args) {
  th_core_state *state = th_core_state_of(module);
  int modules, heaps, sizes, identity, allow, raise_first;
  unsigned workers;
  PyObject *pids, *timeout;
  uint32_t *chosen = NULL;
  th_scan_request request = {0};
  if (!PyArg_ParseTuple(args, "ppppOpOIp:scan", &modules, &heaps, &sizes, &identity, &pids, &allow,
                        &timeout, &workers, &raise_first) ||
      th_py_u64(timeout, "timeout_ns", &request.access.timeout_ns) < 0)
    return NULL;
  request.modules = modules;
  request.heaps = heaps || sizes;
  request.heap_sizes = sizes;
  request.identity = identity;
  request.access.allow_injection = allow;
  request.workers = workers;
  request.all = pids == Py_None;
  if (!request.all && take_pids(pids, &chosen, &request.pid_count) < 0)
    return NULL;
  request.pids = chosen;

  th_scan found = {0};
  th_failure failure;
  th_status status;
  Py_BEGIN_ALLOW_THREADS
  status = th_scan_run(&request, &found, &failure);
  Py_END_ALLOW_THREADS
  th_mem_free(chosen);
  if (status != TH_OK)
    return th_py_raise(state, &failure);
  PyObject *result = result_tuple(state, &found);
  if (result && raise_first && found.failed) {
    Py_DECREF(result);
    return th_py_raise(state, &found.first_failure);
  }
  return result;
}

/* The Table in `object`, of one of the process schemas; NULL with TypeError set. */
static th_table_object *process_table(th_core_state *state, PyObject *object) {
  if (PyObject_TypeCheck(object, state->table_type)) {
    th_table_object *table = (th_table_object *)object;
    if (table->table->schema == &th_process_schema ||
        table->table->schema == &th_identified_process_schema)
      return table;
  }
  PyErr_SetString(PyExc_TypeError, "a Table of Process is needed");
  return NULL;
}

PyDoc_STRVAR(tree_doc, "tree(processes, /)\n--\n\nTable of TreeNode of a Table of processes.");

static PyObject *tree(PyObject *module, PyObject *object) {
  th_core_state *state = th_core_state_of(module);
  th_table_object *processes = process_table(state, object);
  if (!processes)
    return NULL;
  th_table *made = NULL;
  th_failure failure;
  th_status status;
  Py_BEGIN_ALLOW_THREADS
  status = th_tree_build(processes->table, processes->first, processes->count, &made, &failure);
  Py_END_ALLOW_THREADS
  return status == TH_OK ? th_py_table(state, made) : th_py_raise(state, &failure);
}

static PyMethodDef functions[] = {{"scan", scan, METH_VARARGS, scan_doc},
                                  {"tree", tree, METH_O, tree_doc},
                                  {NULL, NULL, 0, NULL}};

int th_py_scan_init(PyObject *module) {
  if (th_py_add_row_type(module, &th_identified_process_schema) < 0 ||
      th_py_add_row_type(module, &th_error_schema) < 0 ||
      th_py_add_row_type(module, &th_tree_schema) < 0)
    return -1;
  return th_py_add_functions(module, functions);
}
