/* What the two Python sides of the heap ledger share: the filter. */
#ifndef TH_PY_ANALYSIS_H
#define TH_PY_ANALYSIS_H

#include "py/trace.h"

#include "heap/analysis.h"

/* A filter and the buffers it points into. */
typedef struct th_filter_object {
  th_block_filter filter;
  Py_buffer buffers[5]; /* pids, tids, heaps, blocks, sites; obj NULL: none */
} th_filter_object;

/* From None (accepts all: *given is false) or a tuple (pids, tids, heaps, since, until, min_size,
   min_lifetime, max_lifetime, blocks, sites), lists as arrays and bits as bytes or None. */
int th_py_filter_init(th_filter_object *filter, PyObject *tuple, bool *given);
void th_py_filter_clear(th_filter_object *filter);

/* A HeapAnalysis of what `analysis` knows now. Modules and stacks are those of `trace`, whose module
   look-up must be settled. */
PyObject *th_py_analysis_take(th_core_state *state, const th_analysis *analysis,
                              const th_trace *trace);

int th_py_blocks_init(PyObject *module);

#endif
