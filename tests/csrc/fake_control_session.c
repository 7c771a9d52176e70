/* Scripting trace sessions, launched programs and the registry, for Python. */
#include "fake_control.h"
#include "fake_etw.h"

#include <stdlib.h>
#include <string.h>

static PyObject *text_object(const fake_text *text) {
  return th_py_text(text->units, text->count);
}

static PyObject *list_object(const uint32_t *items, size_t count) {
  PyObject *list = PyList_New((Py_ssize_t)count);
  for (size_t i = 0; list && i < count; i++) {
    PyObject *item = PyLong_FromUnsignedLong(items[i]);
    if (!item)
      Py_CLEAR(list);
    else
      PyList_SetItem(list, (Py_ssize_t)i, item);
  }
  return list;
}

static PyObject *session_object(const fake_session *session) {
  return Py_BuildValue(
      "{sKsOsNsNsy#sksksksksksksksNsNsOsksksksk}", "handle",
      (unsigned long long)session->handle, "running", session->running ? Py_True : Py_False,
      "name", text_object(&session->name), "file", text_object(&session->file), "guid",
      (const char *)session->guid, (Py_ssize_t)16, "mode", (unsigned long)session->mode,
      "buffer_kb", (unsigned long)session->buffer_kb, "min_buffers",
      (unsigned long)session->min_buffers, "max_buffers", (unsigned long)session->max_buffers,
      "max_file", (unsigned long)session->max_file, "flush", (unsigned long)session->flush,
      "clock", (unsigned long)session->clock, "pids",
      list_object(session->pids, session->pid_count), "hooks",
      list_object(session->hooks, session->hook_count), "stack_caching",
      session->stack_caching ? Py_True : Py_False, "enable_flags",
      (unsigned long)session->enable_flags, "flushes", (unsigned long)session->flushes, "updates",
      (unsigned long)session->updates, "events_lost", (unsigned long)session->events_lost);
}

/* The script's sessions change on threads that never hold the GIL for long: copies are made under
   the lock, objects after it. */
static PyObject *sessions(PyObject *module, PyObject *ignored) {
  (void)module, (void)ignored;
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && i < FAKE_MAX_SESSIONS; i++) {
    if (!fake_etw.sessions[i].handle)
      continue;
    PyObject *item = session_object(&fake_etw.sessions[i]);
    if (!item || PyList_Append(list, item) < 0)
      Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

static int text_of(PyObject *string, fake_text *text) {
  PyObject *bytes = PyUnicode_AsEncodedString(string, "utf-16-le", "surrogatepass");
  if (!bytes)
    return -1;
  *text = fake_copy_text((const uint16_t *)(const void *)PyBytes_AsString(bytes),
                         (size_t)PyBytes_Size(bytes) / 2);
  Py_DECREF(bytes);
  return 0;
}

static PyObject *add_session(PyObject *module, PyObject *args) {
  PyObject *name;
  const char *guid;
  Py_ssize_t size;
  fake_text text;
  (void)module;
  if (!PyArg_ParseTuple(args, "Uy#", &name, &guid, &size) || text_of(name, &text) < 0)
    return NULL;
  fake_lock();
  for (size_t i = 0; i < FAKE_MAX_SESSIONS; i++)
    if (!fake_etw.sessions[i].running) {
      fake_session *session = &fake_etw.sessions[i];
      *session = (fake_session){.handle = fake_etw.next_handle++, .running = true, .name = text};
      session->min_buffers = 2;
      session->buffer_kb = 64;
      session->file = fake_copy_text((const uint16_t[]){0}, 0);
      memcpy(session->guid, guid, size == 16 ? 16 : 0);
      break;
    }
  fake_unlock();
  Py_RETURN_NONE;
}

static PyObject *etw(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"max_sessions", "raw_clock", "frequency", "start_time",
                          "library",      "privilege", "lost",      NULL};
  unsigned int max_sessions = FAKE_MAX_SESSIONS, lost = 0;
  long long raw = 1000, start = 133485408000000000;
  unsigned long long frequency = 10000000;
  PyObject *library = NULL;
  int held = 1;
  fake_text text = {0};
  (void)module;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$ILKLUpI", names, &max_sessions, &raw,
                                   &frequency, &start, &library, &held, &lost) ||
      (library && text_of(library, &text) < 0))
    return NULL;
  fake_lock();
  fake_etw.max_sessions = max_sessions;
  fake_etw.raw_clock = raw;
  fake_etw.frequency = frequency;
  fake_etw.start_time = start;
  fake_etw.privilege_held = held;
  fake_free_text(&fake_etw.library);
  fake_etw.library = text;
  for (size_t i = 0; i < FAKE_MAX_SESSIONS; i++)
    if (fake_etw.sessions[i].running)
      fake_etw.sessions[i].events_lost = lost;
  fake_unlock();
  Py_RETURN_NONE;
}

static int add_event(fake_script *script, PyObject *item) {
  long long time;
  const char *guid, *payload;
  Py_ssize_t guid_size, payload_size;
  unsigned int opcode, version, flags, cpu, pid, tid;
  if (!PyTuple_Check(item) ||
      !PyArg_ParseTuple(item, "Ly#IIIIIIy#", &time, &guid, &guid_size, &opcode, &version, &flags,
                        &cpu, &pid, &tid, &payload, &payload_size))
    return -1;
  if (script->count == script->room) {
    script->room = script->room ? 2 * script->room : 256;
    script->events = fake_memory_of(script->events, script->room * sizeof *script->events);
  }
  fake_event *event = &script->events[script->count++];
  *event = (fake_event){.time = time,
                        .pid = pid,
                        .tid = tid,
                        .flags = (uint16_t)flags,
                        .cpu = (uint16_t)cpu,
                        .size = (uint16_t)payload_size,
                        .version = (uint8_t)version,
                        .opcode = (uint8_t)opcode};
  memcpy(event->guid, guid, guid_size == 16 ? 16 : 0);
  event->payload = fake_memory_of(NULL, (size_t)payload_size);
  memcpy(event->payload, payload, (size_t)payload_size);
  return 0;
}

static PyObject *script(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"events",     "heap",      "per_buffer", "flood",
                          "ring",       "fail_after", "fail_code",  "after", NULL};
  PyObject *events = NULL;
  int heap = 1;
  unsigned int per_buffer = 64, ring = 0, fail_after = 0, fail_code = 0, after = 0;
  unsigned long long flood = 0;
  (void)module;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O$pIKIIII", names, &events, &heap, &per_buffer,
                                   &flood, &ring, &fail_after, &fail_code, &after))
    return NULL;
  PyObject *tuple = events ? PySequence_Tuple(events) : PyTuple_New(0);
  if (!tuple)
    return NULL;
  fake_script *to = &fake_etw.scripts[!heap];
  int done = 0;
  for (Py_ssize_t i = 0; done == 0 && i < PyTuple_Size(tuple); i++)
    done = add_event(to, PyTuple_GetItem(tuple, i));
  Py_DECREF(tuple);
  to->per_buffer = per_buffer;
  to->flood = flood;
  to->ring = ring;
  to->fail_after = fail_after;
  to->fail_code = fail_code;
  to->after = after;
  if (done < 0)
    return NULL;
  Py_RETURN_NONE;
}

static PyObject *consumers(PyObject *module, PyObject *ignored) {
  (void)module, (void)ignored;
  fake_lock();
  uint32_t count = fake_etw.consumers;
  fake_unlock();
  return PyLong_FromUnsignedLong(count);
}

static PyObject *privilege(PyObject *module, PyObject *ignored) {
  (void)module, (void)ignored;
  return PyBool_FromLong(fake_etw.privilege_enabled);
}

static PyObject *children(PyObject *module, PyObject *ignored) {
  (void)module, (void)ignored;
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && i < fake_launched.count; i++) {
    const fake_child *child = &fake_launched.items[i];
    fake_lock();
    const fake_process *process = fake_find_process(fake.world, child->pid);
    unsigned long exit_code = process ? process->exit_code : 0;
    fake_unlock();
    PyObject *item = Py_BuildValue(
        "{sksOsksNsNsN}", "pid", (unsigned long)child->pid, "suspended",
        child->suspended ? Py_True : Py_False, "exit_code", exit_code, "command_line",
        text_object(&child->command_line), "environment", text_object(&child->environment),
        "directory", text_object(&child->directory));
    if (!item || PyList_Append(list, item) < 0)
      Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

static PyObject *registry(PyObject *module, PyObject *ignored) {
  (void)module, (void)ignored;
  PyObject *dict = PyDict_New();
  for (size_t i = 0; dict && i < fake_registry.count; i++) {
    const fake_value *value = &fake_registry.values[i];
    PyObject *key = Py_BuildValue("(NN)", text_object(&value->key), text_object(&value->name));
    PyObject *held =
        value->is_text ? text_object(&value->text) : PyLong_FromUnsignedLong(value->number);
    if (!key || !held || PyDict_SetItem(dict, key, held) < 0)
      Py_CLEAR(dict);
    Py_XDECREF(key);
    Py_XDECREF(held);
  }
  return dict;
}

#define WITH_KEYWORDS(function) (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS

PyMethodDef fake_session_methods[] = {
    {"fake_sessions", sessions, METH_NOARGS, "fake_sessions(): dicts, stopped ones included."},
    {"fake_session", add_session, METH_VARARGS, "fake_session(name, guid): one of somebody else."},
    {"fake_etw", WITH_KEYWORDS(etw),
     "fake_etw(*, max_sessions=64, raw_clock=1000, frequency=10000000, start_time, library, "
     "privilege=True, lost=0): the system's side of tracing; events lost by what runs now."},
    {"fake_script", WITH_KEYWORDS(script),
     "fake_script(events=(), *, heap=True, per_buffer=64, flood=0, ring=0, fail_after=0, "
     "fail_code=0, after=0): adds what sessions deliver. An event is (time, guid, opcode, version, "
     "flags, cpu, pid, tid, payload)."},
    {"fake_consumers", consumers, METH_NOARGS, "fake_consumers(): threads in ProcessTrace."},
    {"fake_privilege", privilege, METH_NOARGS, "fake_privilege(): whether it is enabled now."},
    {"fake_children", children, METH_NOARGS, "fake_children(): dicts, in order."},
    {"fake_registry", registry, METH_NOARGS, "fake_registry(): {(key, name): value}."},
    {NULL, NULL, 0, NULL}};
