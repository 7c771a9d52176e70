/* Failures, counters, handles, clock, allocator and hook, for Python. */
#include "fake_control.h"

#include "fake_etw.h"
#include "fake_state.h"

static PyObject *reset(PyObject *module, PyObject *ignored) {
  (void)module, (void)ignored;
  fake_lock();
  fake.hook = NULL;
  fake_unlock();
  fake_reset();
  fake_session_reset();
  Py_RETURN_NONE;
}

static PyObject *add_default(PyObject *module, PyObject *ignored) {
  (void)module, (void)ignored;
  fake_add_default();
  Py_RETURN_NONE;
}

static PyObject *system_facts(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"pid", "machine", "native", "wine", NULL};
  unsigned int pid = 4242;
  unsigned short machine = TH_MACHINE_UNKNOWN, native = TH_MACHINE_X64;
  int wine = 0;
  (void)module;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$IHHp", names, &pid, &machine, &native, &wine))
    return NULL;
  fake_lock();
  fake.own_pid = pid;
  fake.own_machine = machine;
  fake.native_machine = native;
  fake.wine = wine;
  fake_unlock();
  Py_RETURN_NONE;
}

/* ----- failures and counters ----- */

static PyObject *fail(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"name", "nth", "code", "persist", "pid", "times", NULL};
  const char *name;
  unsigned int nth = 1, code = 5, times = 1;
  int persist = 0;
  PyObject *pid_object = Py_None;
  uint32_t pid = FAKE_NO_PID;
  (void)module;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|IIpOI", names, &name, &nth, &code, &persist,
                                   &pid_object, &times) ||
      (pid_object != Py_None && th_py_u32(pid_object, "pid", &pid) < 0))
    return NULL;
  fake_plan_failure(name, pid, nth, persist ? FAKE_EVER : times, code);
  Py_RETURN_NONE;
}

static PyObject *calls(PyObject *module, PyObject *ignored) {
  (void)module, (void)ignored;
  PyObject *dict = PyDict_New();
  fake_lock();
  const fake_call *call = fake.calls;
  fake_unlock();
  for (; dict && call; call = call->next) {
    if (!call->count)
      continue;
    PyObject *count = PyLong_FromUnsignedLongLong(call->count);
    if (!count || PyDict_SetItemString(dict, call->name, count) < 0)
      Py_CLEAR(dict);
    Py_XDECREF(count);
  }
  return dict;
}

static PyObject *handles(PyObject *module, PyObject *ignored) {
  (void)module, (void)ignored;
  fake_lock();
  size_t count = fake.handle_count;
  fake_unlock();
  return PyLong_FromSize_t(count);
}

static PyObject *faults(PyObject *module, PyObject *ignored) {
  (void)module, (void)ignored;
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && i < fake.fault_count; i++) {
    PyObject *text = PyUnicode_FromString(fake.faults[i]);
    if (!text || PyList_Append(list, text) < 0)
      Py_CLEAR(list);
    Py_XDECREF(text);
  }
  return list;
}

/* ----- clock ----- */

static PyObject *clock_now(PyObject *module, PyObject *ignored) {
  (void)module, (void)ignored;
  fake_lock();
  uint64_t now = fake.now;
  fake_unlock();
  return PyLong_FromUnsignedLongLong(now);
}

static PyObject *clock_advance(PyObject *module, PyObject *duration) {
  (void)module;
  uint64_t nanoseconds;
  if (th_py_u64(duration, "nanoseconds", &nanoseconds) < 0)
    return NULL;
  fake_lock();
  fake.now += nanoseconds;
  fake_unlock();
  Py_RETURN_NONE;
}

static PyObject *sleeps(PyObject *module, PyObject *ignored) {
  (void)module, (void)ignored;
  fake_lock();
  uint64_t count = fake.sleeps;
  fake_unlock();
  return PyLong_FromUnsignedLongLong(count);
}

/* ----- allocator ----- */

static PyObject *alloc_fail(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"n", "persist", NULL};
  unsigned long long n = 0;
  int persist = 0;
  (void)module;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|Kp", names, &n, &persist))
    return NULL;
  fake_lock();
  fake.fail_in = n;
  fake.fail_on = persist;
  fake_unlock();
  Py_RETURN_NONE;
}

static PyObject *alloc_count(PyObject *module, PyObject *ignored) {
  (void)module, (void)ignored;
  fake_lock();
  uint64_t count = fake.allocations;
  fake_unlock();
  return PyLong_FromUnsignedLongLong(count);
}

static PyObject *live_blocks(PyObject *module, PyObject *ignored) {
  (void)module, (void)ignored;
  fake_lock();
  uint64_t count = fake.live_blocks;
  fake_unlock();
  return PyLong_FromUnsignedLongLong(count);
}

/* ----- hook ----- */

/* One for the whole process: the fake itself is. Kept by the interpreter that set it. */
static PyObject *hook_callable;

static void run_hook(const char *name) {
  PyGILState_STATE gil = PyGILState_Ensure();
  PyObject *callable = Py_XNewRef(hook_callable);
  if (callable) {
    PyObject *result = PyObject_CallFunction(callable, "s", name);
    if (!result)
      PyErr_WriteUnraisable(callable);
    Py_XDECREF(result);
    Py_DECREF(callable);
  }
  PyGILState_Release(gil);
}

static PyObject *set_hook(PyObject *module, PyObject *callable) {
  (void)module;
  PyObject *old = hook_callable;
  hook_callable = callable == Py_None ? NULL : Py_NewRef(callable);
  fake_lock();
  fake.hook = hook_callable ? run_hook : NULL;
  fake_unlock();
  Py_XDECREF(old);
  Py_RETURN_NONE;
}

#define WITH_KEYWORDS(function) (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS

static PyMethodDef general_methods[] = {
    {"fake_reset", reset, METH_NOARGS,
     "fake_reset(): an empty system, no failures, no hook, counters at 0, clock at 1 s."},
    {"fake_default", add_default, METH_NOARGS,
     "fake_default(): adds the small machine that is there before the first fake_reset()."},
    {"fake_system", WITH_KEYWORDS(system_facts),
     "fake_system(*, pid=4242, machine=0, native=0x8664, wine=False): the caller and its system."},
    {"fake_fail", WITH_KEYWORDS(fail),
     "fake_fail(name, nth=1, code=5, persist=False, pid=None, times=1): calls nth, nth + 1 ... from "
     "now on (`times` of them, or all) fail. name \"*\": any call; pid: calls about it alone."},
    {"fake_calls", calls, METH_NOARGS, "fake_calls(): call name to count."},
    {"fake_handles", handles, METH_NOARGS, "fake_handles(): how many handles are open."},
    {"fake_faults", faults, METH_NOARGS, "fake_faults(): misuses of handles, in sentences."},
    {"fake_clock_now", clock_now, METH_NOARGS, "fake_clock_now(): nanoseconds."},
    {"fake_clock_advance", clock_advance, METH_O, "fake_clock_advance(nanoseconds)."},
    {"fake_sleeps", sleeps, METH_NOARGS, "fake_sleeps(): how often someone slept."},
    {"fake_alloc_fail", WITH_KEYWORDS(alloc_fail),
     "fake_alloc_fail(n=0, persist=False): the n-th allocation from now fails (and all after it); "
     "0: none does."},
    {"fake_alloc_count", alloc_count, METH_NOARGS, "fake_alloc_count(): since fake_reset()."},
    {"fake_live_blocks", live_blocks, METH_NOARGS, "fake_live_blocks(): not freed yet."},
    {"fake_hook", set_hook, METH_O,
     "fake_hook(callable or None): called with the name before each system call."},
    {NULL, NULL, 0, NULL}};

int fake_control_exec(PyObject *module) {
  if (PyModule_AddFunctions(module, general_methods) < 0 ||
      PyModule_AddFunctions(module, fake_world_methods) < 0 ||
      PyModule_AddFunctions(module, fake_session_methods) < 0 ||
      PyModule_AddFunctions(module, fake_heap_methods) < 0)
    return -1;
  return fake_table_exec(module);
}
