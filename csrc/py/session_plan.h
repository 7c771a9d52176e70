/* What Python says about a session, as the plan of the C core. */
#ifndef TH_PY_SESSION_PLAN_H
#define TH_PY_SESSION_PLAN_H

#include "py/core.h"

#include "session/recording.h"

/* A plan and the memory behind its pointers. */
typedef struct th_py_plan {
  th_session_plan plan;
  PyObject *name, *file, *library, *guid; /* bytes */
  uint32_t *pids;
  uint16_t *hooks;
} th_py_plan;

typedef struct th_recording_object {
  PyObject ob_base;
  th_recording *recording;
  struct th_analysis *analysis; /* fed by the recording; NULL */
} th_recording_object;

/* UTF-16 units of a str and a zero, as bytes; *units counts without the zero. NULL: exception. */
PyObject *th_py_utf16(PyObject *text, size_t *units);
const uint16_t *th_py_units(PyObject *bytes);

/* Sequences of ints; -1 with an exception set. *items is freed with th_mem_free. */
int th_py_u32_list(PyObject *sequence, const char *name, uint32_t **items, size_t *count);
int th_py_u16_list(PyObject *sequence, const char *name, uint16_t **items, size_t *count);

/* Fills a plan from keywords; -1 with an exception set. Freed in any case. */
int th_py_plan_parse(PyObject *keywords, th_py_plan *plan);
void th_py_plan_free(th_py_plan *plan);

#endif
