/* A program to launch, from what Python says. */
#ifndef TH_PY_SESSION_LAUNCH_H
#define TH_PY_SESSION_LAUNCH_H

#include "py/session_plan.h"

typedef struct th_py_launch {
  th_sys_launch launch;
  uint16_t *command_line; /* a copy that CreateProcessW may change */
  PyObject *environment, *directory;
} th_py_launch;

/* `environment` and `directory` are str or None. -1 with an exception set; freed in any case. */
int th_py_launch_parse(PyObject *command, PyObject *environment, PyObject *directory,
                       th_py_launch *launch);
void th_py_launch_free(th_py_launch *launch);

#endif
