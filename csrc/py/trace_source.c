#include "py/trace.h"

#include <string.h>

/* --- runs ------------------------------------------------------------------------------------ */

static th_status take_bytes(PyObject *made, void *buffer, size_t size, size_t *read,
                            th_failure *failure) {
  char *bytes;
  Py_ssize_t count;
  if (PyBytes_AsStringAndSize(made, &bytes, &count) < 0)
    return th_fail(failure, TH_INTERRUPTED, NULL);
  if ((size_t)count > size)
    count = (Py_ssize_t)size;
  memcpy(buffer, bytes, (size_t)count);
  *read = (size_t)count;
  return TH_OK;
}

typedef struct th_source_use {
  th_source_object *object; /* a reference */
  th_source_run *run;
} th_source_use;

static th_status read_by_python(void *context, uint64_t offset, void *buffer, size_t size,
                                size_t *read, th_failure *failure) {
  th_source_use *use = context;
  th_status status;
  PyEval_RestoreThread(use->run->saved);
  PyObject *made = PyObject_CallFunction(use->object->reader, "Kn", (unsigned long long)offset,
                                         (Py_ssize_t)size);
  if (made)
    status = take_bytes(made, buffer, size, read, failure);
  else
    status = th_fail(failure, TH_INTERRUPTED, NULL); /* the exception stays set, as it is */
  Py_XDECREF(made);
  use->run->saved = PyEval_SaveThread();
  return status;
}

static int check_sources(th_core_state *state, PyObject *source, Py_ssize_t *count) {
  bool several = PyTuple_Check(source);
  Py_ssize_t number = several ? PyTuple_Size(source) : 1;
  bool fine = number >= 1 && number <= TH_MAX_STREAMS;
  for (Py_ssize_t i = 0; fine && i < number; i++) {
    PyObject *one = several ? PyTuple_GetItem(source, i) : source;
    fine = Py_TYPE(one) == state->trace_types[TH_TRACE_TYPE_SOURCE];
  }
  if (fine) {
    *count = number;
    return 0;
  }
  PyErr_SetString(PyExc_TypeError, "source must be a trace source, or a tuple of some");
  return -1;
}

int th_source_run_init(th_source_run *run, th_core_state *state, PyObject *source) {
  Py_ssize_t count;
  if (check_sources(state, source, &count) < 0)
    return -1;
  run->sources = th_mem_zero_array((size_t)count, sizeof *run->sources);
  run->uses = th_mem_zero_array((size_t)count, sizeof *run->uses);
  run->lock = PyThread_allocate_lock();
  if (!run->sources || !run->uses || !run->lock) {
    th_source_run_clear(run);
    PyErr_NoMemory();
    return -1;
  }
  run->count = (size_t)count;
  run->saved = NULL;
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *one = PyTuple_Check(source) ? PyTuple_GetItem(source, i) : source;
    th_source_use *use = &run->uses[i];
    *use = (th_source_use){(th_source_object *)Py_NewRef(one), run};
    run->sources[i] = use->object->source;
    if (use->object->reader) {
      run->sources[i].reader = read_by_python;
      run->sources[i].context = use;
    }
  }
  return 0;
}

int th_source_run_traverse(const th_source_run *run, visitproc visit, void *arg) {
  for (size_t i = 0; i < run->count; i++)
    Py_VISIT(run->uses[i].object);
  return 0;
}

uint64_t th_source_run_size(const th_source_run *run) {
  uint64_t size = 0;
  for (size_t i = 0; i < run->count; i++)
    size += run->sources[i].size;
  return size;
}

void th_source_run_clear(th_source_run *run) {
  th_source_use *uses = run->uses;
  size_t count = run->count;
  if (run->lock)
    PyThread_free_lock(run->lock);
  th_mem_free(run->sources);
  *run = (th_source_run){0};
  for (size_t i = 0; i < count; i++)
    Py_XDECREF((PyObject *)uses[i].object);
  th_mem_free(uses);
}

int th_source_run_enter(th_source_run *run) {
  if (PyThread_acquire_lock(run->lock, NOWAIT_LOCK))
    return 0;
  PyErr_SetString(PyExc_ValueError, "the trace is already being read by another thread; every "
                                    "iterator belongs to one thread at a time");
  return -1;
}

void th_source_run_leave(th_source_run *run) { PyThread_release_lock(run->lock); }

void th_source_run_begin(th_source_run *run) { run->saved = PyEval_SaveThread(); }

void th_source_run_end(th_source_run *run) {
  PyThreadState *saved = run->saved;
  run->saved = NULL;
  PyEval_RestoreThread(saved);
}

/* --- the type -------------------------------------------------------------------------------- */

void th_py_free_object(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

static int source_traverse(PyObject *self, visitproc visit, void *arg) {
  th_source_object *source = (th_source_object *)self;
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(source->owner);
  Py_VISIT(source->reader);
  Py_VISIT(source->buffer.obj);
  return 0;
}

/* The buffer stays until the end: a run may be looking at it. */
static int source_clear(PyObject *self) {
  th_source_object *source = (th_source_object *)self;
  Py_CLEAR(source->owner);
  Py_CLEAR(source->reader);
  return 0;
}

static void source_dealloc(PyObject *self) {
  th_source_object *source = (th_source_object *)self;
  PyObject_GC_UnTrack(self);
  source_clear(self);
  if (source->buffer.obj)
    PyBuffer_Release(&source->buffer);
  th_py_free_object(self);
}

PyDoc_STRVAR(source_doc, "Bytes of a trace.");

static PyType_Slot source_slots[] = {{Py_tp_doc, (void *)source_doc},
                                     {Py_tp_traverse, source_traverse},
                                     {Py_tp_clear, source_clear},
                                     {Py_tp_dealloc, source_dealloc},
                                     {0, NULL}};

static PyType_Spec source_spec = {.name = "toolhelp._core.TraceSource",
                                  .basicsize = sizeof(th_source_object),
                                  .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                           Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                  .slots = source_slots};

static th_source_object *new_source(th_core_state *state) {
  PyTypeObject *type = state->trace_types[TH_TRACE_TYPE_SOURCE];
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  return (th_source_object *)allocate(type, 0); /* zeroed */
}

PyDoc_STRVAR(memory_doc, "trace_source_memory(buffer, /)\n--\n\n"
                         "A source over an object with a contiguous buffer, which it keeps.");

static PyObject *source_of_memory(PyObject *module, PyObject *object) {
  th_source_object *made = new_source(th_core_state_of(module));
  if (!made)
    return NULL;
  if (PyObject_GetBuffer(object, &made->buffer, PyBUF_SIMPLE) < 0) {
    Py_DECREF(made);
    return NULL;
  }
  /* memory must not be NULL, even when it is empty */
  made->source.memory = made->buffer.len ? made->buffer.buf : (const void *)"";
  made->source.size = (uint64_t)made->buffer.len;
  return (PyObject *)made;
}

PyDoc_STRVAR(file_doc,
             "trace_source_file(handle, owner, /)\n--\n\n"
             "A source over an open file: a descriptor, on Windows a handle. `owner` is kept, and\n"
             "must keep the file open.");

static PyObject *source_of_file(PyObject *module, PyObject *args) {
  Py_ssize_t handle;
  PyObject *owner;
  uint64_t size;
  if (!PyArg_ParseTuple(args, "nO", &handle, &owner))
    return NULL;
  uint32_t code = th_file_size((th_file)handle, &size);
  if (code) {
    th_failure failure = {.status = TH_IO, .code = code, .detail = "the file has no size"};
    return th_py_raise(th_core_state_of(module), &failure);
  }
  th_source_object *made = new_source(th_core_state_of(module));
  if (!made)
    return NULL;
  made->owner = Py_NewRef(owner);
  made->source.file = (th_file)handle;
  made->source.size = size;
  return (PyObject *)made;
}

PyDoc_STRVAR(reader_doc,
             "trace_source_reader(read, size, /)\n--\n\n"
             "A source of `size` bytes over a callable `read(offset, size)` that returns bytes,\n"
             "fewer only at the end. It is called on the thread that asked for the events.");

static PyObject *source_of_reader(PyObject *module, PyObject *args) {
  PyObject *reader;
  unsigned long long size;
  if (!PyArg_ParseTuple(args, "OK", &reader, &size))
    return NULL;
  th_source_object *made = new_source(th_core_state_of(module));
  if (!made)
    return NULL;
  made->reader = Py_NewRef(reader);
  made->source.size = size;
  return (PyObject *)made;
}

PyDoc_STRVAR(size_doc, "trace_source_size(source, /)\n--\n\nBytes in all.");

static PyObject *source_size(PyObject *module, PyObject *object) {
  th_source_run run = {0};
  if (th_source_run_init(&run, th_core_state_of(module), object) < 0)
    return NULL;
  PyObject *size = PyLong_FromUnsignedLongLong(th_source_run_size(&run));
  th_source_run_clear(&run);
  return size;
}

static PyMethodDef functions[] = {
    {"trace_source_memory", source_of_memory, METH_O, memory_doc},
    {"trace_source_file", source_of_file, METH_VARARGS, file_doc},
    {"trace_source_reader", source_of_reader, METH_VARARGS, reader_doc},
    {"trace_source_size", source_size, METH_O, size_doc},
    {NULL, NULL, 0, NULL},
};

int th_py_trace_source_init(PyObject *module) {
  th_core_state *state = th_core_state_of(module);
  state->trace_types[TH_TRACE_TYPE_SOURCE] =
      (PyTypeObject *)PyType_FromModuleAndSpec(module, &source_spec, NULL);
  if (!state->trace_types[TH_TRACE_TYPE_SOURCE] ||
      PyModule_AddType(module, state->trace_types[TH_TRACE_TYPE_SOURCE]) < 0)
    return -1;
  return th_py_add_functions(module, functions);
}
