#include "py/session_plan.h"

#include "base/mem.h"

#include <string.h>

PyObject *th_py_utf16(PyObject *text, size_t *units) {
  PyObject *bytes = PyUnicode_AsEncodedString(text, "utf-16-le", "surrogatepass");
  if (!bytes)
    return NULL;
  Py_ssize_t size = PyBytes_Size(bytes);
  PyObject *ended = PyBytes_FromStringAndSize(NULL, size + 2);
  if (ended) {
    memcpy(PyBytes_AsString(ended), PyBytes_AsString(bytes), (size_t)size);
    memset(PyBytes_AsString(ended) + size, 0, 2);
    *units = (size_t)size / 2;
  }
  Py_DECREF(bytes);
  return ended;
}

/* The data of a bytes object lies on a multiple of the size of a pointer. */
const uint16_t *th_py_units(PyObject *bytes) {
  return bytes ? (const uint16_t *)(const void *)PyBytes_AsString(bytes) : NULL;
}

int th_py_u32_list(PyObject *sequence, const char *name, uint32_t **items, size_t *count) {
  PyObject *tuple = PySequence_Tuple(sequence);
  if (!tuple)
    return -1;
  size_t length = (size_t)PyTuple_Size(tuple);
  uint32_t *made = th_mem_array(length + 1, sizeof *made);
  if (!made)
    PyErr_NoMemory();
  for (size_t i = 0; made && i < length; i++)
    if (th_py_u32(PyTuple_GetItem(tuple, (Py_ssize_t)i), name, &made[i]) < 0) {
      th_mem_free(made);
      made = NULL;
    }
  Py_DECREF(tuple);
  if (!made)
    return -1;
  *items = made;
  *count = length;
  return 0;
}

int th_py_u16_list(PyObject *sequence, const char *name, uint16_t **items, size_t *count) {
  uint32_t *wide;
  size_t length;
  if (th_py_u32_list(sequence, name, &wide, &length) < 0)
    return -1;
  uint16_t *made = th_mem_array(length + 1, sizeof *made);
  if (!made)
    PyErr_NoMemory();
  for (size_t i = 0; made && i < length; i++) {
    made[i] = (uint16_t)wide[i];
    if (wide[i] > UINT16_MAX) {
      PyErr_Format(PyExc_ValueError, "%s must be from 0 to 65535", name);
      th_mem_free(made);
      made = NULL;
    }
  }
  th_mem_free(wide);
  if (!made)
    return -1;
  *items = made;
  *count = length;
  return 0;
}

static int parse_text(PyObject *value, PyObject **bytes, const uint16_t **text, size_t *units) {
  if (value == Py_None)
    return 0;
  if (!(*bytes = th_py_utf16(value, units)))
    return -1;
  *text = th_py_units(*bytes);
  return 0;
}

static int parse_lists(th_py_plan *plan, PyObject *pids, PyObject *hooks, PyObject *guid) {
  th_properties_request *request = &plan->plan.request;
  if (pids && th_py_u32_list(pids, "a process id", &plan->pids, &request->pid_count) < 0)
    return -1;
  if (hooks && th_py_u16_list(hooks, "a stack hook", &plan->hooks, &request->hook_count) < 0)
    return -1;
  request->pids = plan->pids;
  request->hooks = plan->hooks;
  if (guid == Py_None)
    return 0;
  if (!PyBytes_Check(guid) || PyBytes_Size(guid) != 16) {
    PyErr_SetString(PyExc_ValueError, "guid must be 16 bytes");
    return -1;
  }
  plan->guid = Py_NewRef(guid);
  request->guid = (const uint8_t *)PyBytes_AsString(guid);
  return 0;
}

int th_py_plan_parse(PyObject *keywords, th_py_plan *plan) {
  static char *names[] = {"name",        "file",         "guid",     "mode",        "buffer_kb",
                          "min_buffers", "max_buffers",  "max_file", "flush_seconds", "clock",
                          "enable_flags", "pids",        "hooks",    "stack_cache", "extension",
                          "library",     NULL};
  th_properties_request *request = &plan->plan.request;
  PyObject *name, *file = Py_None, *guid = Py_None, *pids = NULL, *hooks = NULL;
  PyObject *cache = Py_None, *library = Py_None;
  size_t ignored;
  unsigned int mode = 0, buffer_kb = 0, min_buffers = 0, max_buffers = 0, max_file = 0;
  unsigned int flush = 0, clock = TH_CLOCK_QPC, enable_flags = 0;
  int extension = 1, done = -1;
  *plan = (th_py_plan){0};
  PyObject *nothing = PyTuple_New(0);
  if (!nothing)
    return -1;
  if (!PyArg_ParseTupleAndKeywords(nothing, keywords, "U|$OOIIIIIIIIOOOpO", names, &name, &file,
                                   &guid, &mode, &buffer_kb, &min_buffers, &max_buffers, &max_file,
                                   &flush, &clock, &enable_flags, &pids, &hooks, &cache,
                                   &extension, &library))
    goto done;
  request->mode = mode;
  request->buffer_kb = buffer_kb;
  request->min_buffers = min_buffers;
  request->max_buffers = max_buffers;
  request->max_file = max_file;
  request->flush_seconds = flush;
  request->clock = clock;
  request->enable_flags = enable_flags;
  request->extension = extension;
  if (parse_text(name, &plan->name, &request->name, &request->name_units) < 0 ||
      parse_text(file, &plan->file, &request->file, &request->file_units) < 0 ||
      parse_text(library, &plan->library, &plan->plan.library, &ignored) < 0 ||
      parse_lists(plan, pids, hooks, guid) < 0)
    goto done;
  plan->plan.backend = library == Py_None ? TH_BACKEND_NATIVE : TH_BACKEND_WPT;
  if (plan->plan.backend == TH_BACKEND_WPT)
    request->extension = false;
  request->stack_caching = cache != Py_None;
  if (request->stack_caching) {
    if (!PyTuple_Check(cache) || PyTuple_Size(cache) != 2) {
      PyErr_SetString(PyExc_TypeError, "stack_cache must be (size, buckets)");
      goto done;
    }
    if (th_py_u32(PyTuple_GetItem(cache, 0), "the cache size", &request->cache_size) < 0 ||
        th_py_u32(PyTuple_GetItem(cache, 1), "the bucket count", &request->cache_buckets) < 0)
      goto done;
  }
  done = 0;
done:
  Py_DECREF(nothing);
  return done;
}

void th_py_plan_free(th_py_plan *plan) {
  Py_XDECREF(plan->name);
  Py_XDECREF(plan->file);
  Py_XDECREF(plan->library);
  Py_XDECREF(plan->guid);
  th_mem_free(plan->pids);
  th_mem_free(plan->hooks);
  *plan = (th_py_plan){0};
}
