/* What is noted beside a trace: the clock of its events, and who the traced processes are. */
#include "py/core.h"

#include "sys/etw.h"
#include "sys/launch.h"

static PyObject *raise_code(PyObject *module, const char *function, uint32_t code, uint32_t pid) {
  th_failure failure;
  if (pid)
    th_fail_process(&failure, function, code, pid);
  else
    th_fail_system(&failure, function, code);
  return th_py_raise(th_core_state_of(module), &failure);
}

PyDoc_STRVAR(clock_doc, "raw_clock(clock, /)\n--\n\n"
                        "(ticks now, ticks per second) of clock 1 (QPC) or 2 (system time).");

static PyObject *raw_clock(PyObject *module, PyObject *argument) {
  uint32_t clock, code;
  int64_t raw = 0;
  uint64_t frequency = 0;
  if (th_py_u32(argument, "clock", &clock) < 0)
    return NULL;
  code = th_sys_raw_clock(clock, &raw, &frequency);
  if (code)
    return raise_code(module, "QueryPerformanceCounter", code, 0);
  return Py_BuildValue("(LK)", (long long)raw, (unsigned long long)frequency);
}

PyDoc_STRVAR(facts_doc,
             "process_facts(pid, /)\n--\n\n"
             "(creation time, exit time or None, machine, native machine, default heap or "
             "None).\n\n"
             "Times are FILETIMEs (100 ns since 1601 UTC); machines IMAGE_FILE_MACHINE_*, 0 for a\n"
             "process of the system's own kind. Calls OpenProcess, GetProcessTimes, "
             "IsWow64Process2,\nNtQueryInformationProcess.");

static PyObject *process_facts(PyObject *module, PyObject *argument) {
  uint32_t pid, code;
  th_handle process = TH_NO_HANDLE;
  int64_t created = 0, exited = 0;
  uint16_t machine = 0, native = 0;
  uint64_t heap = 0;
  bool has_heap = false;
  const char *function = "OpenProcess";
  if (th_py_u32(argument, "pid", &pid) < 0)
    return NULL;
  Py_BEGIN_ALLOW_THREADS
  code = th_sys_open_process(TH_PROCESS_QUERY | TH_PROCESS_VM_READ, pid, &process);
  if (code == TH_ERROR_ACCESS_DENIED)
    code = th_sys_open_process(TH_PROCESS_QUERY_LIMITED, pid, &process);
  if (code == 0) {
    function = "GetProcessTimes";
    code = th_sys_process_times(process, &created, &exited);
    /* Both of these are not everywhere to be had. */
    if (code == 0 && th_sys_wow64_machine(process, &machine, &native) != 0)
      machine = native = 0;
    has_heap = code == 0 && !exited && th_sys_process_heap(process, &heap) == 0;
    (void)th_sys_close(process);
  }
  Py_END_ALLOW_THREADS
  if (code)
    return raise_code(module, function, code, pid);
  PyObject *end = exited ? PyLong_FromLongLong(exited) : Py_NewRef(Py_None);
  PyObject *handle = has_heap ? PyLong_FromUnsignedLongLong(heap) : Py_NewRef(Py_None);
  return Py_BuildValue("(LNiiN)", (long long)created, end, (int)machine, (int)native, handle);
}

PyDoc_STRVAR(pid_doc, "current_pid()\n--\n\nGetCurrentProcessId(); 0 on other systems.");

static PyObject *current_pid(PyObject *module, PyObject *ignored) {
  (void)module, (void)ignored;
  return PyLong_FromUnsignedLong(th_sys_current_pid());
}

static PyMethodDef functions[] = {{"raw_clock", raw_clock, METH_O, clock_doc},
                                  {"process_facts", process_facts, METH_O, facts_doc},
                                  {"current_pid", current_pid, METH_NOARGS, pid_doc},
                                  {NULL, NULL, 0, NULL}};

int th_py_session_facts_init(PyObject *module) { return th_py_add_functions(module, functions); }
