#include "py/core.h"
int th_py_snapshot_init(PyObject *module) { (void)module; return 0; }
int th_py_raw_init(PyObject *module) { (void)module; return 0; }
