/* Says how large the objects of the running interpreter are in our headers' opinion. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

static PyObject *sizes(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  return Py_BuildValue(
      "{s:n,s:n,s:n,s:n,s:n,s:n,s:n,s:n,s:n}",
      "object", (Py_ssize_t)sizeof(PyObject),
      "type", (Py_ssize_t)sizeof(PyHeapTypeObject),
      "float", (Py_ssize_t)sizeof(PyFloatObject),
      "complex", (Py_ssize_t)sizeof(PyComplexObject),
      "list", (Py_ssize_t)sizeof(PyListObject),
      "dict", (Py_ssize_t)sizeof(PyDictObject),
      "set", (Py_ssize_t)sizeof(PySetObject),
      "str", (Py_ssize_t)sizeof(PyUnicodeObject),
      "bytearray", (Py_ssize_t)sizeof(PyByteArrayObject));
}

static PyObject *scalars(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  return Py_BuildValue(
      "{s:n,s:n,s:n,s:n}",
      "l", (Py_ssize_t)sizeof(long),
      "P", (Py_ssize_t)sizeof(void *),
      "n", (Py_ssize_t)sizeof(Py_ssize_t),
      "d", (Py_ssize_t)sizeof(double));
}

static PyMethodDef methods[] = {
    {"sizes", sizes, METH_NOARGS, "Size in bytes of the object of each type."},
    {"scalars", scalars, METH_NOARGS, "Size in bytes by the letter of the struct module."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef layout = {
    PyModuleDef_HEAD_INIT, .m_name = "_layout", .m_methods = methods};

PyMODINIT_FUNC PyInit__layout(void) { return PyModuleDef_Init(&layout); }
