/* The live half of the Recording object. */
#ifndef TH_PY_SESSION_LIVE_H
#define TH_PY_SESSION_LIVE_H

#include "py/session_plan.h"

extern const char th_py_live_next_doc[], th_py_live_counts_doc[], th_py_live_wait_end_doc[],
    th_py_live_close_doc[], th_py_live_analyze_doc[], th_py_live_result_doc[],
    th_py_live_note_doc[];

PyObject *th_py_live_next(th_recording_object *self, PyObject *milliseconds);
PyObject *th_py_live_counts(th_recording_object *self, PyObject *ignored);
PyObject *th_py_live_wait_end(th_recording_object *self, PyObject *milliseconds);
PyObject *th_py_live_close(th_recording_object *self, PyObject *ignored);
PyObject *th_py_live_analyze(th_recording_object *self, PyObject *args);
PyObject *th_py_live_result(th_recording_object *self, PyObject *ignored);
PyObject *th_py_live_note(th_recording_object *self, PyObject *notes);

#endif
