/* Snapshots: each function is one whole operation of the C core without the GIL. */
#include "py/core.h"

#include "snapshot/modules.h"
#include "snapshot/rows.h"
#include "snapshot/system.h"
#include "sys/sys.h"

PyDoc_STRVAR(system_doc,
             "system_snapshot(processes, threads, pid=None, /)\n--\n\n"
             "(Table of Process or None, Table of Thread or None), both from one snapshot.\n\n"
             "With `pid`, the threads of that process alone; ProcessNotFound when there is none.\n"
             "Calls CreateToolhelp32Snapshot, Process32FirstW/NextW, Thread32First/Next.");

static PyObject *system_snapshot(PyObject *module, PyObject *args) {
  th_core_state *state = th_core_state_of(module);
  int processes, threads;
  PyObject *pid = Py_None;
  th_system_request request = {0};
  if (!PyArg_ParseTuple(args, "pp|O:system_snapshot", &processes, &threads, &pid))
    return NULL;
  request.processes = processes;
  request.threads = threads;
  request.one_pid = pid != Py_None;
  if (request.one_pid && th_py_u32(pid, "pid", &request.pid) < 0)
    return NULL;

  th_table *process_table = NULL, *thread_table = NULL;
  th_failure failure;
  th_status status;
  Py_BEGIN_ALLOW_THREADS
  status = th_snapshot_system(&request, &process_table, &thread_table, &failure);
  Py_END_ALLOW_THREADS
  if (status != TH_OK)
    return th_py_raise(state, &failure);

  PyObject *first = process_table ? th_py_table(state, process_table) : Py_NewRef(Py_None);
  PyObject *second = NULL, *pair = NULL;
  if (thread_table) {
    if (first)
      second = th_py_table(state, thread_table);
    else
      th_table_drop(thread_table);
  } else {
    second = Py_NewRef(Py_None);
  }
  if (first && second)
    pair = PyTuple_Pack(2, first, second);
  Py_XDECREF(first);
  Py_XDECREF(second);
  return pair;
}

PyDoc_STRVAR(modules_doc, "modules(pid=None, /)\n--\n\n"
                          "Table of Module of one process; None: this one.\n\n"
                          "Calls CreateToolhelp32Snapshot, Module32FirstW/NextW, and for long paths "
                          "GetModuleFileNameExW.");

static PyObject *modules(PyObject *module, PyObject *args) {
  th_core_state *state = th_core_state_of(module);
  PyObject *which = Py_None;
  uint32_t pid;
  if (!PyArg_ParseTuple(args, "|O:modules", &which))
    return NULL;
  if (which == Py_None)
    pid = th_sys_current_pid();
  else if (th_py_u32(which, "pid", &pid) < 0)
    return NULL;

  th_failure failure;
  th_status status;
  th_table *table = NULL;
  Py_BEGIN_ALLOW_THREADS
  if (which != Py_None && pid == 0) /* 0 would be taken for the caller */
    status = th_fail_process(&failure, "CreateToolhelp32Snapshot", TH_ERROR_INVALID_PARAMETER, 0);
  else if (!(table = th_snapshot_module_table(128, 128)))
    status = th_fail_memory(&failure);
  else
    status = th_snapshot_modules(pid, NULL, table, &failure);
  Py_END_ALLOW_THREADS
  if (status != TH_OK) {
    th_table_drop(table);
    return th_py_raise(state, &failure);
  }
  return th_py_table(state, table);
}

PyDoc_STRVAR(is_wine_doc, "is_wine()\n--\n\nWhether this Windows is Wine.");

static PyObject *is_wine(PyObject *module, PyObject *ignored) {
  (void)module, (void)ignored;
  return PyBool_FromLong(th_sys_is_wine());
}

static PyMethodDef functions[] = {{"system_snapshot", system_snapshot, METH_VARARGS, system_doc},
                                  {"modules", modules, METH_VARARGS, modules_doc},
                                  {"is_wine", is_wine, METH_NOARGS, is_wine_doc},
                                  {NULL, NULL, 0, NULL}};

int th_py_snapshot_init(PyObject *module) {
  if (th_py_add_row_type(module, &th_process_schema) < 0 ||
      th_py_add_row_type(module, &th_thread_schema) < 0 ||
      th_py_add_row_type(module, &th_module_schema) < 0)
    return -1;
  return th_py_add_functions(module, functions);
}
