/* Scripting what exists: processes, threads, modules, heaps, memory. */
#include "fake_control.h"

#include "fake_state.h"

#include <stdlib.h>
#include <string.h>

/* UTF-16 units of a str, lone surrogates kept. */
static int text_of(PyObject *string, fake_text *text) {
  PyObject *bytes = PyUnicode_AsEncodedString(string, "utf-16-le", "surrogatepass");
  if (!bytes)
    return -1;
  *text = fake_copy_text((const uint16_t *)(const void *)PyBytes_AsString(bytes),
                         (size_t)PyBytes_Size(bytes) / 2);
  Py_DECREF(bytes);
  return 0;
}

static int no_process(uint32_t pid) {
  PyErr_Format(PyExc_LookupError, "the script has no process %lu", (unsigned long)pid);
  return -1;
}

static PyObject *add_process(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"pid",       "ppid",         "name",       "threads",     "num_threads",
                          "base_priority", "exit_code", "machine",    "loader_ready", "open_error",
                          "create_time", "path",        NULL};
  unsigned int pid, parent = 0, exit_code = TH_STILL_ACTIVE, open_error = 0;
  unsigned short machine = TH_MACHINE_UNKNOWN;
  int priority = 8, ready = 1;
  unsigned long long create_time = 0;
  PyObject *name = NULL, *threads = NULL, *count = Py_None, *path = NULL;
  uint32_t num_threads = 0;
  fake_text name_text = {0}, path_text = {0};
  (void)module;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "I|IUOOiIHpIKU", names, &pid, &parent, &name,
                                   &threads, &count, &priority, &exit_code, &machine, &ready,
                                   &open_error, &create_time, &path))
    return NULL;
  PyObject *tids = threads ? PySequence_Tuple(threads) : PyTuple_New(0);
  if (!tids)
    return NULL;
  num_threads = (uint32_t)PyTuple_Size(tids);
  if ((count != Py_None && th_py_u32(count, "num_threads", &num_threads) < 0) ||
      (name && text_of(name, &name_text) < 0) || (path && text_of(path, &path_text) < 0))
    goto failed;
  for (Py_ssize_t i = 0; i < PyTuple_Size(tids); i++) {
    uint32_t tid;
    if (th_py_u32(PyTuple_GetItem(tids, i), "tid", &tid) < 0)
      goto failed;
  }
  fake_lock();
  fake_world *world = fake_world_to_change();
  fake_remove_process(world, pid);
  fake_process *process = fake_add_process(world, pid);
  process->parent_pid = parent;
  process->num_threads = num_threads;
  process->exit_code = exit_code;
  process->open_error = open_error;
  process->base_priority = priority;
  process->machine = machine;
  process->loader_ready = ready;
  process->create_time = create_time;
  process->name = name_text;
  process->path = path_text;
  for (Py_ssize_t i = 0; i < PyTuple_Size(tids); i++) {
    fake_thread thread = {.pid = pid, .base_priority = priority};
    thread.tid = (uint32_t)PyLong_AsUnsignedLong(PyTuple_GetItem(tids, i));
    fake_add_thread(world, &thread);
  }
  fake_unlock();
  Py_DECREF(tids);
  Py_RETURN_NONE;

failed:
  fake_free_text(&name_text);
  fake_free_text(&path_text);
  Py_DECREF(tids);
  return NULL;
}

static PyObject *add_thread(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"tid", "pid", "base_priority", NULL};
  unsigned int tid, pid;
  int priority = 8;
  (void)module;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "II|i", names, &tid, &pid, &priority))
    return NULL;
  fake_lock();
  fake_world *world = fake_world_to_change();
  fake_process *process = fake_find_process(world, pid);
  if (process)
    process->num_threads++;
  fake_add_thread(world, &(fake_thread){.tid = tid, .pid = pid, .base_priority = priority});
  fake_unlock();
  Py_RETURN_NONE;
}

static PyObject *add_module(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"pid", "base", "size", "name", "path", NULL};
  unsigned int pid, size;
  unsigned long long base;
  PyObject *name, *path;
  fake_module made = {0};
  (void)module;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "IKIUU", names, &pid, &base, &size, &name, &path))
    return NULL;
  made.base = base;
  made.size = size;
  if (text_of(name, &made.name) < 0 || text_of(path, &made.path) < 0) {
    fake_free_text(&made.name);
    return NULL;
  }
  fake_lock();
  fake_process *process = fake_find_process(fake_world_to_change(), pid);
  if (process)
    fake_add_module(process, &made);
  fake_unlock();
  if (!process) {
    fake_free_text(&made.name);
    fake_free_text(&made.path);
    no_process(pid);
    return NULL;
  }
  Py_RETURN_NONE;
}

static PyObject *add_heap(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"pid", "id", "flags", "blocks", NULL};
  unsigned int pid, flags = 0;
  unsigned long long id;
  PyObject *blocks = NULL;
  (void)module;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "IK|IO", names, &pid, &id, &flags, &blocks))
    return NULL;
  PyObject *rows = blocks ? PySequence_Tuple(blocks) : PyTuple_New(0);
  if (!rows)
    return NULL;
  size_t count = (size_t)PyTuple_Size(rows);
  fake_block *made = fake_memory_of(NULL, count * sizeof *made);
  bool good = true;
  for (size_t i = 0; good && i < count; i++) {
    unsigned long long address, size;
    unsigned int block_flags = 1, locks = 0;
    PyObject *row = PyTuple_GetItem(rows, (Py_ssize_t)i);
    good = PyTuple_Check(row) &&
           PyArg_ParseTuple(row, "KK|II", &address, &size, &block_flags, &locks);
    if (good)
      made[i] = (fake_block){
          .address = address, .size = size, .flags = block_flags, .lock_count = locks};
    else if (!PyErr_Occurred())
      PyErr_SetString(PyExc_TypeError, "a block is a tuple (address, size, flags, lock_count)");
  }
  if (good) {
    fake_lock();
    fake_process *process = fake_find_process(fake_world_to_change(), pid);
    if (process) {
      fake_add_heap(process, id, flags);
      for (size_t i = 0; i < count; i++)
        fake_add_block(&process->heaps[process->heap_count - 1], &made[i]);
    }
    fake_unlock();
    good = process || no_process(pid) == 0;
  }
  free(made);
  Py_DECREF(rows);
  return good ? Py_NewRef(Py_None) : NULL;
}

static PyObject *add_memory(PyObject *module, PyObject *args) {
  unsigned int pid;
  unsigned long long address;
  const char *bytes;
  Py_ssize_t size;
  (void)module;
  if (!PyArg_ParseTuple(args, "IKy#:fake_memory", &pid, &address, &bytes, &size))
    return NULL;
  fake_lock();
  fake_process *process = fake_find_process(fake_world_to_change(), pid);
  if (process) {
    fake_memory made = {.address = address, .size = (size_t)size};
    made.bytes = fake_memory_of(NULL, made.size);
    memcpy(made.bytes, bytes, made.size);
    fake_add_memory(process, &made);
  }
  fake_unlock();
  if (!process) {
    no_process(pid);
    return NULL;
  }
  Py_RETURN_NONE;
}

static PyObject *remove_process(PyObject *module, PyObject *pid_object) {
  uint32_t pid;
  (void)module;
  if (th_py_u32(pid_object, "pid", &pid) < 0)
    return NULL;
  fake_lock();
  fake_remove_process(fake_world_to_change(), pid);
  fake_unlock();
  Py_RETURN_NONE;
}

static PyObject *change_process(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"pid", "loader_ready", "exit_code", "open_error", NULL};
  unsigned int pid;
  int ready = -1;
  long long exit_code = -1, open_error = -1;
  (void)module;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "I|$pLL", names, &pid, &ready, &exit_code,
                                   &open_error))
    return NULL;
  fake_lock();
  fake_process *process = fake_find_process(fake_world_to_change(), pid);
  if (process && ready >= 0)
    process->loader_ready = ready;
  if (process && exit_code >= 0)
    process->exit_code = (uint32_t)exit_code;
  if (process && open_error >= 0)
    process->open_error = (uint32_t)open_error;
  fake_unlock();
  if (!process) {
    no_process(pid);
    return NULL;
  }
  Py_RETURN_NONE;
}

#define WITH_KEYWORDS(function) (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS

PyMethodDef fake_world_methods[] = {
    {"fake_process", WITH_KEYWORDS(add_process),
     "fake_process(pid, ppid=0, name='', threads=(), num_threads=None, base_priority=8, "
     "exit_code=259, machine=0, loader_ready=True, open_error=0, create_time=0, path=''): adds a "
     "process, or puts it in place of one with this pid. threads: tids."},
    {"fake_change", WITH_KEYWORDS(change_process),
     "fake_change(pid, *, loader_ready, exit_code, open_error): changes a process."},
    {"fake_remove", remove_process, METH_O, "fake_remove(pid): the process and its threads."},
    {"fake_thread", WITH_KEYWORDS(add_thread), "fake_thread(tid, pid, base_priority=8)."},
    {"fake_module", WITH_KEYWORDS(add_module),
     "fake_module(pid, base, size, name, path): whole texts; snapshots cut them as Windows does."},
    {"fake_heap", WITH_KEYWORDS(add_heap),
     "fake_heap(pid, id, flags=0, blocks=()): blocks are (address, size, flags=1, lock_count=0)."},
    {"fake_memory", add_memory, METH_VARARGS, "fake_memory(pid, address, bytes): readable bytes."},
    {NULL, NULL, 0, NULL}};
