/* Heaps, their blocks and totals: each function is one whole operation without the GIL. */
#include "py/core.h"

#include "snapshot/heaps.h"
#include "sys/sys.h"

/* What every function here takes last: pid (None: this process), allow_injection, timeout_ns,
   toolhelp. */
typedef struct heap_arguments {
  PyObject *pid_object, *timeout;
  int allow, toolhelp;
  uint32_t pid;
  th_heap_access access;
} heap_arguments;

static int take(heap_arguments *of) {
  if (of->pid_object == Py_None)
    of->pid = th_sys_current_pid();
  else if (th_py_u32(of->pid_object, "pid", &of->pid) < 0)
    return -1;
  of->access.allow_injection = of->allow;
  of->access.toolhelp = of->toolhelp;
  return th_py_u64(of->timeout, "timeout_ns", &of->access.timeout_ns);
}

PyDoc_STRVAR(heaps_doc,
             "heaps(pid, allow_injection, timeout_ns, toolhelp, /)\n--\n\nTable of Heap.");

static PyObject *heaps(PyObject *module, PyObject *args) {
  th_core_state *state = th_core_state_of(module);
  heap_arguments of = {0};
  th_failure failure;
  th_status status;
  if (!PyArg_ParseTuple(args, "OpOp:heaps", &of.pid_object, &of.allow, &of.timeout, &of.toolhelp) ||
      take(&of) < 0)
    return NULL;
  th_table *table = NULL;
  Py_BEGIN_ALLOW_THREADS
  table = th_table_new(&th_heap_schema, 16, NULL);
  status = table ? th_heaps(of.pid, &of.access, table, &failure) : th_fail_memory(&failure);
  Py_END_ALLOW_THREADS
  if (status == TH_OK)
    return th_py_table(state, table);
  th_table_drop(table);
  return th_py_raise(state, &failure);
}

PyDoc_STRVAR(blocks_doc, "heap_blocks(heap_id, pid, allow_injection, timeout_ns, toolhelp, /)\n--\n\n"
                         "Table of HeapBlock.");

static PyObject *heap_blocks(PyObject *module, PyObject *args) {
  th_core_state *state = th_core_state_of(module);
  heap_arguments of = {0};
  PyObject *heap_object;
  uint64_t heap_id;
  th_failure failure;
  th_status status;
  th_table *table = NULL;
  if (!PyArg_ParseTuple(args, "OOpOp:heap_blocks", &heap_object, &of.pid_object, &of.allow,
                        &of.timeout, &of.toolhelp) ||
      th_py_u64(heap_object, "heap_id", &heap_id) < 0 || take(&of) < 0)
    return NULL;
  Py_BEGIN_ALLOW_THREADS
  status = th_heap_blocks(of.pid, heap_id, &of.access, &table, &failure);
  Py_END_ALLOW_THREADS
  return status == TH_OK ? th_py_table(state, table) : th_py_raise(state, &failure);
}

PyDoc_STRVAR(totals_doc, "heap_totals(pid, allow_injection, timeout_ns, sizes, /)\n--\n\n"
                         "Table of HeapSummary, or with `sizes` of HeapSizes.");

static PyObject *heap_totals(PyObject *module, PyObject *args) {
  th_core_state *state = th_core_state_of(module);
  heap_arguments of = {0};
  int sizes;
  th_failure failure;
  th_status status;
  if (!PyArg_ParseTuple(args, "OpOp:heap_totals", &of.pid_object, &of.allow, &of.timeout, &sizes) ||
      take(&of) < 0)
    return NULL;
  th_table *table = NULL;
  Py_BEGIN_ALLOW_THREADS
  table = th_table_new(sizes ? &th_heap_sizes_schema : &th_heap_summary_schema, 16, NULL);
  status = table ? th_heap_totals_of(of.pid, &of.access, NULL, sizes ? NULL : table,
                                     sizes ? table : NULL, &failure)
                 : th_fail_memory(&failure);
  Py_END_ALLOW_THREADS
  if (status == TH_OK)
    return th_py_table(state, table);
  th_table_drop(table);
  return th_py_raise(state, &failure);
}

static PyMethodDef functions[] = {{"heaps", heaps, METH_VARARGS, heaps_doc},
                                  {"heap_blocks", heap_blocks, METH_VARARGS, blocks_doc},
                                  {"heap_totals", heap_totals, METH_VARARGS, totals_doc},
                                  {NULL, NULL, 0, NULL}};

int th_py_heaps_init(PyObject *module) {
  if (th_py_add_row_type(module, &th_heap_schema) < 0 ||
      th_py_add_row_type(module, &th_heap_block_schema) < 0 ||
      th_py_add_row_type(module, &th_heap_summary_schema) < 0 ||
      th_py_add_row_type(module, &th_heap_sizes_schema) < 0)
    return -1;
  return th_py_add_functions(module, functions);
}
