/* What the Python side of trace reading shares: sources, and runs of C code over them. */
#ifndef TH_PY_TRACE_H
#define TH_PY_TRACE_H

#include "py/core.h" /* first: Python.h sets what the system's headers look at */

#include "etl/source.h"
#include "etl/trace.h"

/* Places in th_core_state.trace_types. */
enum { TH_TRACE_TYPE_SOURCE, TH_TRACE_TYPE_PASS, TH_TRACE_TYPE_EVENTS, TH_TRACE_TYPE_ANALYSIS,
       TH_TRACE_TYPE_BLOCKS, TH_TRACE_TYPE_FREE };

/* Bytes of a trace: an object with a buffer, an open file, or a reader (a callable that takes an
   offset and a size and returns bytes). */
typedef struct th_source_object {
  PyObject ob_base;
  PyObject *owner;  /* keeps the file open; NULL */
  PyObject *reader; /* NULL */
  Py_buffer buffer; /* buffer.obj NULL: none */
  th_source source;
} th_source_object;

/* A reader of one source or several, for one thread at a time. While C code runs, the thread has
   given up the interpreter; a reader takes it back for its call, on the same thread. Must not
   move. */
typedef struct th_source_run {
  th_source *sources; /* hand these to C code */
  size_t count;
  struct th_source_use *uses; /* one for each */
  PyThreadState *saved;
  PyThread_type_lock lock; /* taken while a thread is at work with it */
} th_source_run;

/* `source`: a source, or a tuple of 1 to TH_MAX_STREAMS. -1 with TypeError when it is not. */
int th_source_run_init(th_source_run *run, th_core_state *state, PyObject *source);
int th_source_run_traverse(const th_source_run *run, visitproc visit, void *arg);
uint64_t th_source_run_size(const th_source_run *run); /* bytes in all */
void th_source_run_clear(th_source_run *run);
/* -1 with ValueError when another thread is at work with it. */
int th_source_run_enter(th_source_run *run);
void th_source_run_leave(th_source_run *run);
/* Around the C code, between these two. */
void th_source_run_begin(th_source_run *run);
void th_source_run_end(th_source_run *run);

/* Time between looks for Ctrl-C is that of so many events, some milliseconds. */
#define TH_SLICE_EVENTS 20000

/* ----- trace.c: for whoever else takes the batches of a pass ----- */
/* How many threads may help with the pass, or -1 with an exception. */
int th_py_pass_threads(th_core_state *state, PyObject *pass);
/* The next batch, which is then the caller's, or *taken false at the end. `progress` may be NULL or
   None. -1 with an exception. */
int th_py_pass_take(th_core_state *state, PyObject *pass, th_heap_batch *batch, bool *taken,
                    PyObject *progress);
/* The trace of a pass that has ended; NULL with an exception when `pass` is not one. */
const th_trace *th_py_pass_trace(th_core_state *state, PyObject *pass);

/* A dict of everything that was counted, and read from the header if there is a file; new
   reference. */
PyObject *th_py_trace_facts(const th_trace *trace, uint64_t size);
/* A list with a dict for each file: its header, and what was counted in it so far. */
PyObject *th_py_trace_files(const th_streams *streams, const th_source *sources);

/* Sets dict[name] = value, whose reference it takes; false on failure or when value is NULL. */
bool th_py_set(PyObject *dict, const char *name, PyObject *value);

int th_py_trace_source_init(PyObject *module);
int th_py_trace_pass_init(PyObject *module);
int th_py_trace_events_init(PyObject *module);

/* Gives what was noted to a trace: a sequence of (raw time, hook, version, pid, payload), or of (raw
   time, GUID, opcode, pid, payload) for classes without a hook; -1 with an exception set. */
int th_py_note(th_core_state *state, th_trace *trace, PyObject *notes);

/* Frees an object of a heap type with garbage collection. */
void th_py_free_object(PyObject *self);

#endif
