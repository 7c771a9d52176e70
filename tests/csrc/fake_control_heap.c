/* Scripting how heaps are asked for, and the system around it. */
#include "fake_control.h"

#include "fake_state.h"
#include "snapshot/heap_debug.h"
#include "snapshot/target.h"

static PyObject *heap_system(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"build", "layout", "cut", "may_debug", NULL};
  unsigned int build = 22631, layout = 0;
  unsigned long long cut = 0;
  int may_debug = 0;
  (void)module;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$IIKp", names, &build, &layout, &cut,
                                   &may_debug))
    return NULL;
  fake_lock();
  fake.build = build;
  fake.debug_layout = layout;
  fake.debug_cut = (size_t)cut;
  fake.may_debug = may_debug;
  fake_unlock();
  Py_RETURN_NONE;
}

static PyObject *heap_target(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"pid", "suspended", "no_heap_list", "own_machine", NULL};
  unsigned int pid;
  int suspended = 0, no_heap_list = 0;
  unsigned short machine = 0;
  (void)module;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "I|$ppH", names, &pid, &suspended, &no_heap_list,
                                   &machine))
    return NULL;
  fake_lock();
  fake_process *process = fake_find_process(fake_world_to_change(), pid);
  if (process) {
    process->suspended = suspended;
    process->no_heap_list = no_heap_list;
    process->own_machine = machine;
  }
  fake_unlock();
  if (!process)
    return PyErr_Format(PyExc_LookupError, "the script has no process %u", pid);
  Py_RETURN_NONE;
}

static PyObject *debugs(PyObject *module, PyObject *ignored) {
  (void)module, (void)ignored;
  fake_lock();
  bool now = fake.debugs;
  fake_unlock();
  return PyBool_FromLong(now);
}

static bool append_block(void *list, const th_block *block) {
  PyObject *row = Py_BuildValue("KKKIii", block->address, block->size, block->committed,
                                block->flags, (int)block->kind, (int)block->busy);
  bool good = row && PyList_Append(list, row) == 0;
  Py_XDECREF(row);
  return good;
}

/* The parser of query buffers alone, on any bytes. */
static PyObject *parse(PyObject *module, PyObject *args) {
  const char *bytes;
  Py_ssize_t size;
  unsigned long long address;
  unsigned int pointer_size, build;
  (void)module;
  if (!PyArg_ParseTuple(args, "y#KII:fake_parse_heaps", &bytes, &size, &address, &pointer_size,
                        &build))
    return NULL;
  th_debug_view view = {.bytes = (const uint8_t *)bytes,
                        .size = (size_t)size,
                        .address = address,
                        .pointer_size = pointer_size};
  th_debug_answer answer = th_debug_open(&view, build);
  if (answer != TH_DEBUG_OK)
    return PyUnicode_FromString(answer == TH_DEBUG_NO_HEAPS ? "no heaps" : "damaged");
  PyObject *heaps = PyList_New(0);
  for (uint32_t i = 0; heaps && i < view.heap_count; i++) {
    th_debug_heap heap;
    th_debug_heap_at(&view, i, &heap);
    PyObject *blocks = PyList_New(0);
    PyObject *row = NULL;
    if (blocks && th_debug_walk(&view, &heap, append_block, blocks))
      row = Py_BuildValue("KKIO", heap.base, heap.committed, heap.flags, blocks);
    if (!row || PyList_Append(heaps, row) < 0)
      Py_CLEAR(heaps);
    Py_XDECREF(row);
    Py_XDECREF(blocks);
  }
  return heaps;
}

static PyObject *target_state(PyObject *module, PyObject *args) {
  static const char *const names[] = {"runs", "suspended", "gone"};
  const char *bytes;
  Py_ssize_t size;
  unsigned int pointer_size, pid;
  (void)module;
  if (!PyArg_ParseTuple(args, "y#II:fake_target_state", &bytes, &size, &pointer_size, &pid))
    return NULL;
  return PyUnicode_FromString(
      names[th_target_state_of((const uint8_t *)bytes, (size_t)size, pointer_size, pid)]);
}

static fake_text ascii(const char *text) {
  uint16_t wide[64];
  size_t count = 0;
  for (; text[count] && count < 64; count++)
    wide[count] = (uint8_t)text[count];
  return fake_copy_text(wide, count);
}

/* One call of Python per process would look for its id among all the others. */
static PyObject *fill(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"count", "modules", NULL};
  unsigned int count, modules = 0;
  (void)module;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "I|I", names, &count, &modules))
    return NULL;
  fake_lock();
  fake_world *world = fake_world_to_change();
  for (uint32_t i = 1; i <= count; i++) {
    fake_process *process = fake_add_process(world, 4 * i);
    process->parent_pid = 4 * (i / 2);
    process->base_priority = 8;
    process->exit_code = TH_STILL_ACTIVE;
    process->loader_ready = true;
    process->create_time = UINT64_C(133000000000000000) + i;
    process->name = ascii("a.exe");
    process->path = ascii("C:\\apps\\a.exe");
    for (uint32_t j = 0; j < modules; j++) {
      char name[32], path[64];
      /* One module in ten is of the process alone. */
      if (j % 10 == 9)
        PyOS_snprintf(name, sizeof name, "own-%lu-%lu.dll", (unsigned long)i, (unsigned long)j);
      else
        PyOS_snprintf(name, sizeof name, "Shared%lu.dll", (unsigned long)j);
      PyOS_snprintf(path, sizeof path, "C:\\Windows\\System32\\%s", name);
      fake_add_module(process, &(fake_module){.base = UINT64_C(0x7ff800000000) + j * 0x100000u,
                                              .size = 0x90000,
                                              .name = ascii(name),
                                              .path = ascii(path)});
    }
  }
  fake_unlock();
  Py_RETURN_NONE;
}

#define WITH_KEYWORDS(function) (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS

PyMethodDef fake_heap_methods[] = {
    {"fake_heap_system", WITH_KEYWORDS(heap_system),
     "fake_heap_system(*, build=22631, layout=0, cut=0, may_debug=False): the Windows build; the "
     "layout of heap queries (1, 2, 0: the build's); bytes missing at their end; whether "
     "SeDebugPrivilege is held."},
    {"fake_heap_target", WITH_KEYWORDS(heap_target),
     "fake_heap_target(pid, *, suspended=False, no_heap_list=False, own_machine=0)."},
    {"fake_fill", WITH_KEYWORDS(fill),
     "fake_fill(count, modules=0): adds processes 4, 8 ...; the parent of number i is i // 2."},
    {"fake_debugs", debugs, METH_NOARGS, "fake_debugs(): whether SeDebugPrivilege is enabled."},
    {"fake_parse_heaps", parse, METH_VARARGS,
     "fake_parse_heaps(bytes, address, pointer_size, build): 'damaged', 'no heaps', or the heaps."},
    {"fake_target_state", target_state, METH_VARARGS,
     "fake_target_state(bytes, pointer_size, pid): what NtQuerySystemInformation's bytes say."},
    {NULL, NULL, 0, NULL}};
