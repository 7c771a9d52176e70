#define PY_SSIZE_T_CLEAN
#include <Python.h>
static struct PyModuleDef_Slot slots[] = {{0, NULL}};
static struct PyModuleDef core = {PyModuleDef_HEAD_INIT, .m_name = "toolhelp._core", .m_slots = slots};
PyMODINIT_FUNC PyInit__core(void) { return PyModuleDef_Init(&core); }
