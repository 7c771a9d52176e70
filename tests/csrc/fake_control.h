/* What Python sees of the fake: functions of `toolhelp._core` whose names begin with fake_. */
#ifndef TH_TESTS_FAKE_CONTROL_H
#define TH_TESTS_FAKE_CONTROL_H

#include "py/core.h"

/* The exec slot: adds the functions of every area below. */
int fake_control_exec(PyObject *module);

extern PyMethodDef fake_session_methods[]; /* fake_control_session.c */
extern PyMethodDef fake_world_methods[]; /* fake_control_world.c */
extern PyMethodDef fake_heap_methods[];  /* fake_control_heap.c */

/* The same for areas that add types of their own. */
int fake_table_exec(PyObject *module); /* fake_control_table.c */

#endif
