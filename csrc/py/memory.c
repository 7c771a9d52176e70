/* Memory of processes behind one open handle, and the privilege that opens more of them. */
#include "py/core.h"

#include "host/host.h"
#include "snapshot/memory.h"
#include "sys/privilege.h"

typedef struct memory_object {
  PyObject ob_base;
  th_mutex lock; /* of `open`: the handle must not be closed under a read */
  th_handle process;
  uint32_t pid;
  bool open, own;
} memory_object;

static void close_once(memory_object *self) {
  th_mutex_lock(&self->lock);
  if (self->open && !self->own)
    (void)th_sys_close(self->process);
  self->open = false;
  th_mutex_unlock(&self->lock);
}

PyDoc_STRVAR(read_doc, "read_into($self, address, buffer, /)\n--\n\n"
                       "Bytes put into the writable buffer: fewer than it has when a page in the "
                       "range cannot be read.");

static PyObject *memory_read(memory_object *self, PyObject *args) {
  PyObject *address_object, *object;
  uint64_t address;
  Py_buffer view;
  if (!PyArg_ParseTuple(args, "OO:read_into", &address_object, &object) ||
      th_py_u64(address_object, "address", &address) < 0 ||
      PyObject_GetBuffer(object, &view, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) < 0)
    return NULL;
  size_t read = 0;
  th_failure failure;
  th_status status = TH_OK;
  bool open;
  Py_BEGIN_ALLOW_THREADS
  th_mutex_lock(&self->lock);
  open = self->open;
  if (open)
    status = th_memory_read(self->process, self->pid, address, view.buf, (size_t)view.len, &read,
                            &failure);
  th_mutex_unlock(&self->lock);
  Py_END_ALLOW_THREADS
  PyBuffer_Release(&view);
  if (!open) {
    PyErr_SetString(PyExc_ValueError, "the process is closed");
    return NULL;
  }
  return status == TH_OK ? PyLong_FromSize_t(read)
                         : th_py_raise(th_core_state_of_type(TH_TYPE(self)), &failure);
}

PyDoc_STRVAR(close_doc, "close($self, /)\n--\n\nCloses the handle; again: nothing.");

static PyObject *memory_close(memory_object *self, PyObject *ignored) {
  (void)ignored;
  Py_BEGIN_ALLOW_THREADS
  close_once(self);
  Py_END_ALLOW_THREADS
  Py_RETURN_NONE;
}

static PyObject *memory_closed(memory_object *self, void *closure) {
  (void)closure;
  return PyBool_FromLong(!self->open);
}

static PyObject *memory_pid(memory_object *self, void *closure) {
  (void)closure;
  return PyLong_FromUnsignedLong(self->pid);
}

static void memory_dealloc(memory_object *self) {
  PyTypeObject *type = TH_TYPE(self);
  close_once(self);
  th_mutex_destroy(&self->lock);
  PyObject_Free(self);
  Py_DECREF(type);
}

static PyMethodDef methods[] = {{"read_into", (PyCFunction)memory_read, METH_VARARGS, read_doc},
                                {"close", (PyCFunction)memory_close, METH_NOARGS, close_doc},
                                {NULL, NULL, 0, NULL}};

static PyGetSetDef properties[] = {
    {"closed", (getter)memory_closed, NULL, "Whether the handle is closed.", NULL},
    {"pid", (getter)memory_pid, NULL, "Id of the process.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

PyDoc_STRVAR(type_doc, "An open process whose memory can be read.");

static PyType_Slot slots[] = {{Py_tp_doc, (void *)type_doc},
                              {Py_tp_dealloc, memory_dealloc},
                              {Py_tp_methods, methods},
                              {Py_tp_getset, properties},
                              {0, NULL}};

static PyType_Spec spec = {.name = "toolhelp._core.MemoryHandle",
                           .basicsize = sizeof(memory_object),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE |
                                    Py_TPFLAGS_DISALLOW_INSTANTIATION,
                           .slots = slots};

PyDoc_STRVAR(open_doc, "memory_open(pid=None, /)\n--\n\nA MemoryHandle; None: this process.");

static PyObject *memory_open(PyObject *module, PyObject *args) {
  th_core_state *state = th_core_state_of(module);
  PyObject *which = Py_None;
  uint32_t pid = th_sys_current_pid();
  if (!PyArg_ParseTuple(args, "|O:memory_open", &which) ||
      (which != Py_None && th_py_u32(which, "pid", &pid) < 0))
    return NULL;
  memory_object *self = PyObject_New(memory_object, state->memory_type);
  if (!self)
    return NULL;
  self->open = false;
  if (!th_mutex_init(&self->lock)) {
    PyObject_Free(self);
    Py_DECREF(state->memory_type);
    return PyErr_NoMemory();
  }
  self->pid = pid;
  self->own = which == Py_None;
  self->process = TH_CURRENT_PROCESS;
  th_failure failure;
  th_status status = TH_OK;
  if (!self->own) {
    Py_BEGIN_ALLOW_THREADS
    status = th_memory_open(pid, &self->process, &failure);
    Py_END_ALLOW_THREADS
  }
  if (status != TH_OK) {
    Py_DECREF(self);
    return th_py_raise(state, &failure);
  }
  self->open = true;
  return (PyObject *)self;
}

PyDoc_STRVAR(privilege_doc, "debug_privilege(enable, /)\n--\n\n"
                            "Switches SeDebugPrivilege of this process; whether it was on before, "
                            "or None when the token does not hold it.");

static PyObject *debug_privilege(PyObject *module, PyObject *enable) {
  bool before = false;
  int on = PyObject_IsTrue(enable);
  if (on < 0)
    return NULL;
  uint32_t code = th_sys_privilege(TH_PRIVILEGE_DEBUG, on, &before);
  if (code == TH_ERROR_PRIVILEGE_NOT_HELD)
    Py_RETURN_NONE;
  if (code) {
    th_failure failure;
    th_fail_system(&failure, "AdjustTokenPrivileges", code);
    return th_py_raise(th_core_state_of(module), &failure);
  }
  return PyBool_FromLong(before);
}

static PyMethodDef functions[] = {{"memory_open", memory_open, METH_VARARGS, open_doc},
                                  {"debug_privilege", debug_privilege, METH_O, privilege_doc},
                                  {NULL, NULL, 0, NULL}};

int th_py_memory_init(PyObject *module) {
  th_core_state *state = th_core_state_of(module);
  state->memory_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
  if (!state->memory_type ||
      PyModule_AddObjectRef(module, "MemoryHandle", (PyObject *)state->memory_type) < 0)
    return -1;
  return th_py_add_functions(module, functions);
}
