/* A program created suspended, as an object: the half of a launch that needs no trace session. */
#include "py/core.h"

#include "base/mem.h"
#include "py/session_launch.h"

#include <string.h>

int th_py_launch_parse(PyObject *command, PyObject *environment, PyObject *directory,
                       th_py_launch *launch) {
  size_t units;
  *launch = (th_py_launch){0};
  PyObject *bytes = th_py_utf16(command, &units);
  if (!bytes)
    return -1;
  launch->command_line = th_mem_array(units + 1, sizeof *launch->command_line);
  if (launch->command_line)
    memcpy(launch->command_line, PyBytes_AsString(bytes), (units + 1) * 2);
  else
    PyErr_NoMemory();
  Py_DECREF(bytes);
  if (!launch->command_line)
    return -1;
  if (environment != Py_None && !(launch->environment = th_py_utf16(environment, &units)))
    return -1;
  if (directory != Py_None && !(launch->directory = th_py_utf16(directory, &units)))
    return -1;
  launch->launch = (th_sys_launch){.command_line = launch->command_line,
                                   .environment = th_py_units(launch->environment),
                                   .directory = th_py_units(launch->directory)};
  return 0;
}

void th_py_launch_free(th_py_launch *launch) {
  th_mem_free(launch->command_line);
  Py_XDECREF(launch->environment);
  Py_XDECREF(launch->directory);
}

typedef struct child_object {
  PyObject ob_base;
  th_child child;
} child_object;

static PyObject *none_or_raise(child_object *self, th_status status, const th_failure *failure) {
  if (status != TH_OK)
    return th_py_raise(th_core_state_of_type(TH_TYPE(self)), failure);
  Py_RETURN_NONE;
}

static PyObject *child_resume(child_object *self, PyObject *ignored) {
  (void)ignored;
  th_failure failure;
  if (self->child.thread == TH_NO_HANDLE) {
    PyErr_SetString(PyExc_ValueError, "the program runs already");
    return NULL;
  }
  return none_or_raise(self, th_child_resume(&self->child, &failure), &failure);
}

static PyObject *child_wait(child_object *self, PyObject *argument) {
  uint32_t milliseconds, exit_code = 0;
  bool ended = false;
  th_failure failure;
  th_status status;
  if (th_py_u32(argument, "milliseconds", &milliseconds) < 0)
    return NULL;
  Py_BEGIN_ALLOW_THREADS
  status = th_child_wait(&self->child, milliseconds, &ended, &exit_code, &failure);
  Py_END_ALLOW_THREADS
  if (status != TH_OK || !ended)
    return none_or_raise(self, status, &failure);
  return PyLong_FromUnsignedLong(exit_code);
}

static PyObject *child_terminate(child_object *self, PyObject *argument) {
  uint32_t exit_code;
  th_failure failure;
  if (th_py_u32(argument, "exit_code", &exit_code) < 0)
    return NULL;
  return none_or_raise(self, th_child_terminate(&self->child, exit_code, &failure), &failure);
}

static PyObject *child_pid(child_object *self, void *closure) {
  (void)closure;
  return PyLong_FromUnsignedLong(self->child.pid);
}

static void child_dealloc(child_object *self) {
  PyTypeObject *type = TH_TYPE(self);
  th_child_drop(&self->child);
  PyObject_Free(self);
  Py_DECREF(type);
}

static PyMethodDef child_methods[] = {
    {"resume", (PyCFunction)child_resume, METH_NOARGS, "resume($self, /)\n--\n\nResumeThread."},
    {"wait", (PyCFunction)child_wait, METH_O,
     "wait($self, milliseconds, /)\n--\n\nThe exit code, or None while it runs."},
    {"terminate", (PyCFunction)child_terminate, METH_O,
     "terminate($self, exit_code, /)\n--\n\nTerminateProcess; again: nothing."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef child_properties[] = {{"pid", (getter)child_pid, NULL, "Process id.", NULL},
                                         {NULL, NULL, NULL, NULL, NULL}};

PyDoc_STRVAR(child_doc, "A program that was created suspended; made by `child_process()`.\n\n"
                        "One that was never resumed ends with its object.");

static PyType_Slot child_slots[] = {{Py_tp_doc, (void *)child_doc},
                                    {Py_tp_dealloc, child_dealloc},
                                    {Py_tp_methods, child_methods},
                                    {Py_tp_getset, child_properties},
                                    {0, NULL}};

static PyType_Spec child_spec = {.name = "toolhelp.heaptrace.ChildProcess",
                                 .basicsize = sizeof(child_object),
                                 .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE |
                                          Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                 .slots = child_slots};

PyDoc_STRVAR(new_doc, "child_process(command_line, environment=None, directory=None, /)\n--\n\n"
                      "A ChildProcess that is suspended. CreateProcessW(CREATE_SUSPENDED).");

static PyObject *new_child(PyObject *module, PyObject *args) {
  th_core_state *state = th_core_state_of(module);
  PyObject *command, *environment = Py_None, *directory = Py_None;
  th_py_launch launch;
  th_failure failure;
  th_status status;
  child_object *self = NULL;
  if (!PyArg_ParseTuple(args, "U|OO:child_process", &command, &environment, &directory))
    return NULL;
  if (th_py_launch_parse(command, environment, directory, &launch) < 0)
    goto done;
  self = PyObject_New(child_object, state->child_type);
  if (!self)
    goto done;
  self->child = (th_child){TH_NO_HANDLE, TH_NO_HANDLE, 0};
  Py_BEGIN_ALLOW_THREADS
  status = th_child_create(&self->child, &launch.launch, &failure);
  Py_END_ALLOW_THREADS
  if (status != TH_OK) {
    Py_CLEAR(self);
    th_py_raise(state, &failure);
  }
done:
  th_py_launch_free(&launch);
  return (PyObject *)self;
}

static PyMethodDef functions[] = {{"child_process", new_child, METH_VARARGS, new_doc},
                                  {NULL, NULL, 0, NULL}};

int th_py_session_child_init(PyObject *module) {
  th_core_state *state = th_core_state_of(module);
  state->child_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &child_spec, NULL);
  if (!state->child_type ||
      PyModule_AddObjectRef(module, "ChildProcess", (PyObject *)state->child_type) < 0)
    return -1;
  return th_py_add_functions(module, functions);
}
