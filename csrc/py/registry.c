/* The registry as far as heap tracing by image name and finding the kits need it: the functions
   registry_*(), over HKEY_LOCAL_MACHINE in its 64-bit view. */
#include "py/core.h"

#include "py/session_plan.h"
#include "sys/registry.h"

#define TEXT_CAPACITY 4096u

/* The zero-terminated key and name of the arguments, and an optional third. */
typedef struct words {
  PyObject *key, *name, *third;
} words;

static void free_words(words *of) {
  Py_XDECREF(of->key);
  Py_XDECREF(of->name);
}

static int parse(PyObject *args, const char *format, words *of) {
  PyObject *key, *name;
  size_t units;
  *of = (words){0};
  if (!PyArg_ParseTuple(args, format, &key, &name, &of->third))
    return -1;
  if (!(of->key = th_py_utf16(key, &units)) || !(of->name = th_py_utf16(name, &units))) {
    free_words(of);
    return -1;
  }
  return 0;
}

static PyObject *raise_code(PyObject *module, const char *function, uint32_t code) {
  th_failure failure;
  th_fail_system(&failure, function, code);
  return th_py_raise(th_core_state_of(module), &failure);
}

PyDoc_STRVAR(number_doc, "registry_number(key, name, /)\n--\n\nA DWORD, or None: not there.");

static PyObject *number(PyObject *module, PyObject *args) {
  words of;
  uint32_t value = 0, code;
  if (parse(args, "UU:registry_number", &of) < 0)
    return NULL;
  Py_BEGIN_ALLOW_THREADS
  code = th_sys_registry_number(th_py_units(of.key), th_py_units(of.name), &value);
  Py_END_ALLOW_THREADS
  free_words(&of);
  if (code == TH_ERROR_FILE_NOT_FOUND)
    Py_RETURN_NONE;
  return code ? raise_code(module, "RegQueryValueExW", code) : PyLong_FromUnsignedLong(value);
}

PyDoc_STRVAR(text_doc, "registry_text(key, name, /)\n--\n\nA text, or None: not there.");

static PyObject *text(PyObject *module, PyObject *args) {
  words of;
  uint16_t value[TEXT_CAPACITY];
  uint32_t units = 0, code;
  if (parse(args, "UU:registry_text", &of) < 0)
    return NULL;
  Py_BEGIN_ALLOW_THREADS
  code = th_sys_registry_text(th_py_units(of.key), th_py_units(of.name), value, TEXT_CAPACITY,
                              &units);
  Py_END_ALLOW_THREADS
  free_words(&of);
  if (code == TH_ERROR_FILE_NOT_FOUND)
    Py_RETURN_NONE;
  return code ? raise_code(module, "RegQueryValueExW", code) : th_py_text(value, units);
}

PyDoc_STRVAR(names_doc, "registry_names(key, /)\n--\n\nThe names of its values; none: no key.");

static PyObject *value_names(PyObject *module, PyObject *key) {
  uint16_t name[TEXT_CAPACITY];
  uint32_t code = 0;
  size_t units;
  if (!PyUnicode_Check(key)) {
    PyErr_SetString(PyExc_TypeError, "key must be a str");
    return NULL;
  }
  PyObject *bytes = th_py_utf16(key, &units), *list = bytes ? PyList_New(0) : NULL;
  for (uint32_t index = 0; list; index++) {
    uint32_t length = 0;
    Py_BEGIN_ALLOW_THREADS
    code = th_sys_registry_name(th_py_units(bytes), index, name, TEXT_CAPACITY, &length);
    Py_END_ALLOW_THREADS
    if (code)
      break;
    PyObject *item = th_py_text(name, length);
    if (!item || PyList_Append(list, item) < 0)
      Py_CLEAR(list);
    Py_XDECREF(item);
  }
  Py_XDECREF(bytes);
  if (list && code != TH_ERROR_NO_MORE_ITEMS && code != TH_ERROR_FILE_NOT_FOUND) {
    Py_CLEAR(list);
    return raise_code(module, "RegEnumValueW", code);
  }
  return list;
}

PyDoc_STRVAR(set_doc, "registry_set(key, name, value, /)\n--\n\nAn int as a DWORD, a str.");

static PyObject *set(PyObject *module, PyObject *args) {
  words of;
  uint32_t value = 0, code;
  size_t units;
  if (parse(args, "UUO:registry_set", &of) < 0)
    return NULL;
  bool is_text = PyUnicode_Check(of.third);
  PyObject *bytes = is_text ? th_py_utf16(of.third, &units) : NULL;
  if (is_text ? !bytes : th_py_u32(of.third, "value", &value) < 0) {
    free_words(&of);
    return NULL;
  }
  const uint16_t *key = th_py_units(of.key), *name = th_py_units(of.name);
  Py_BEGIN_ALLOW_THREADS
  code = is_text ? th_sys_registry_set_text(key, name, th_py_units(bytes))
                 : th_sys_registry_set_number(key, name, value);
  Py_END_ALLOW_THREADS
  Py_XDECREF(bytes);
  free_words(&of);
  if (code)
    return raise_code(module, "RegSetValueExW", code);
  Py_RETURN_NONE;
}

PyDoc_STRVAR(delete_doc, "registry_delete(key, name, /)\n--\n\n"
                         "Removes a value and then the key, if nothing else is in it. What is not "
                         "there is fine.");

static PyObject *delete_value(PyObject *module, PyObject *args) {
  words of;
  uint32_t code;
  if (parse(args, "UU:registry_delete", &of) < 0)
    return NULL;
  Py_BEGIN_ALLOW_THREADS
  code = th_sys_registry_delete(th_py_units(of.key), th_py_units(of.name));
  if (code == 0)
    (void)th_sys_registry_delete_empty(th_py_units(of.key));
  Py_END_ALLOW_THREADS
  free_words(&of);
  if (code && code != TH_ERROR_FILE_NOT_FOUND)
    return raise_code(module, "RegDeleteValueW", code);
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {{"registry_number", number, METH_VARARGS, number_doc},
                                  {"registry_text", text, METH_VARARGS, text_doc},
                                  {"registry_names", value_names, METH_O, names_doc},
                                  {"registry_set", set, METH_VARARGS, set_doc},
                                  {"registry_delete", delete_value, METH_VARARGS, delete_doc},
                                  {NULL, NULL, 0, NULL}};

int th_py_registry_init(PyObject *module) { return th_py_add_functions(module, functions); }
