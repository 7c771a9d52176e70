/* What the snapshot functions are measured against, over the same scripted system: a walk that only
   looks, and the shortest C loop that makes the same rows. */
#include "py/core.h"

#include "base/text.h"
#include "fake_control.h"
#include "snapshot/rows.h"
#include "sys/sys.h"

#ifdef Py_LIMITED_API
#define SET_ITEM PyStructSequence_SetItem
#else
#define SET_ITEM PyStructSequence_SET_ITEM
#endif

/* Calls `body` for each row; false when a call failed. */
#define WALK(flags, pid, kind, row_type, body)                                                     \
  do {                                                                                             \
    th_handle snapshot;                                                                            \
    row_type row;                                                                                  \
    if (th_sys_create_snapshot(flags, pid, &snapshot) != 0)                                        \
      break;                                                                                       \
    for (uint32_t code = th_sys_##kind##_first(snapshot, &row); code == 0;                         \
         code = th_sys_##kind##_next(snapshot, &row)) {                                            \
      body;                                                                                        \
    }                                                                                              \
    th_sys_close(snapshot);                                                                        \
  } while (0)

#define MODULES (TH_SNAP_MODULE | TH_SNAP_MODULE32)

static PyObject *walk_processes(PyObject *module, PyObject *ignored) {
  (void)module, (void)ignored;
  uint64_t sum = 0;
  WALK(TH_SNAP_PROCESS, 0, process, th_sys_process, sum += row.pid);
  return PyLong_FromUnsignedLongLong(sum);
}

static PyObject *walk_threads(PyObject *module, PyObject *ignored) {
  (void)module, (void)ignored;
  uint64_t sum = 0;
  WALK(TH_SNAP_THREAD, 0, thread, th_sys_thread, sum += row.tid);
  return PyLong_FromUnsignedLongLong(sum);
}

static PyObject *walk_modules(PyObject *module, PyObject *pid_object) {
  (void)module;
  uint32_t pid;
  uint64_t sum = 0;
  if (th_py_u32(pid_object, "pid", &pid) < 0)
    return NULL;
  WALK(MODULES, pid, module, th_sys_module, sum += row.base);
  return PyLong_FromUnsignedLongLong(sum);
}

static bool append(PyObject *list, PyObject *row) {
  bool done = row && PyList_Append(list, row) == 0;
  Py_XDECREF(row);
  return done;
}

static PyObject *text(const uint16_t *units, size_t capacity) {
  return th_py_text(units, th_text_units(units, capacity));
}

static PyObject *process_row(PyTypeObject *type, const th_sys_process *entry) {
  PyObject *row = PyStructSequence_New(type);
  SET_ITEM(row, 0, PyLong_FromUnsignedLong(entry->pid));
  SET_ITEM(row, 1, PyLong_FromUnsignedLong(entry->parent_pid));
  SET_ITEM(row, 2, text(entry->name, TH_MAX_PATH));
  SET_ITEM(row, 3, PyLong_FromUnsignedLong(entry->threads));
  SET_ITEM(row, 4, PyLong_FromLong(entry->base_priority));
  return row;
}

static PyObject *thread_row(PyTypeObject *type, const th_sys_thread *entry) {
  PyObject *row = PyStructSequence_New(type);
  SET_ITEM(row, 0, PyLong_FromUnsignedLong(entry->tid));
  SET_ITEM(row, 1, PyLong_FromUnsignedLong(entry->owner_pid));
  SET_ITEM(row, 2, PyLong_FromLong(entry->base_priority));
  return row;
}

static PyObject *module_row(PyTypeObject *type, const th_sys_module *entry) {
  PyObject *row = PyStructSequence_New(type);
  SET_ITEM(row, 0, PyLong_FromUnsignedLong(entry->pid));
  SET_ITEM(row, 1, PyLong_FromUnsignedLongLong(entry->base));
  SET_ITEM(row, 2, PyLong_FromUnsignedLong(entry->base_size));
  SET_ITEM(row, 3, text(entry->name, TH_MAX_MODULE_NAME));
  SET_ITEM(row, 4, text(entry->path, TH_MAX_PATH));
  SET_ITEM(row, 5, PyBool_FromLong(0));
  SET_ITEM(row, 6, PyUnicode_InternFromString("x64"));
  return row;
}

static PyObject *rows_processes(PyObject *module, PyObject *ignored) {
  (void)ignored;
  PyTypeObject *type = th_py_row_type(th_core_state_of(module), &th_process_schema);
  PyObject *list = PyList_New(0);
  WALK(TH_SNAP_PROCESS, 0, process, th_sys_process, append(list, process_row(type, &row)));
  return list;
}

static PyObject *rows_threads(PyObject *module, PyObject *ignored) {
  (void)ignored;
  PyTypeObject *type = th_py_row_type(th_core_state_of(module), &th_thread_schema);
  PyObject *list = PyList_New(0);
  WALK(TH_SNAP_THREAD, 0, thread, th_sys_thread, append(list, thread_row(type, &row)));
  return list;
}

static PyObject *rows_modules(PyObject *module, PyObject *pid_object) {
  PyTypeObject *type = th_py_row_type(th_core_state_of(module), &th_module_schema);
  uint32_t pid;
  if (th_py_u32(pid_object, "pid", &pid) < 0)
    return NULL;
  PyObject *list = PyList_New(0);
  WALK(MODULES, pid, module, th_sys_module, append(list, module_row(type, &row)));
  return list;
}

static PyMethodDef functions[] = {{"bare_walk_processes", walk_processes, METH_NOARGS, NULL},
                                  {"bare_walk_threads", walk_threads, METH_NOARGS, NULL},
                                  {"bare_walk_modules", walk_modules, METH_O, NULL},
                                  {"bare_rows_processes", rows_processes, METH_NOARGS, NULL},
                                  {"bare_rows_threads", rows_threads, METH_NOARGS, NULL},
                                  {"bare_rows_modules", rows_modules, METH_O, NULL},
                                  {NULL, NULL, 0, NULL}};

static int bare_exec(PyObject *module) { return PyModule_AddFunctions(module, functions); }

static PyModuleDef_Slot slots[] = {{Py_mod_exec, th_core_exec},
                                   {Py_mod_exec, fake_control_exec},
                                   {Py_mod_exec, bare_exec},
                                   {0, NULL}};

static struct PyModuleDef core = {PyModuleDef_HEAD_INIT, .m_name = "toolhelp._core",
                                  .m_size = sizeof(th_core_state), .m_slots = slots,
                                  .m_traverse = th_core_traverse, .m_clear = th_core_clear,
                                  .m_free = th_core_free};

void fake_start(void);

PyMODINIT_FUNC PyInit__core(void) {
  fake_start();
  return PyModuleDef_Init(&core);
}
