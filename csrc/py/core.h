/* The only layer that knows Python. Everything it needs of the others comes as tables, plain values
   and a th_failure; everything per interpreter is in th_core_state. */
#ifndef TH_PY_CORE_H
#define TH_PY_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "base/status.h"
#include "table/table.h"

#define TH_MAX_ROW_TYPES 48

typedef struct th_row_type {
  const th_schema *schema;
  PyTypeObject *type; /* struct sequence */
} th_row_type;

typedef struct th_core_state {
  PyObject *failure; /* toolhelp.errors.from_failure */
  PyTypeObject *table_type;
  PyTypeObject *column_type;
  PyTypeObject *raw_snapshot_type;
  PyTypeObject *recording_type, *child_type; /* heap sessions */
  PyTypeObject *memory_type;
  PyTypeObject *trace_types[8]; /* of the trace reader and the analysis */
  size_t row_type_count;
  th_row_type row_types[TH_MAX_ROW_TYPES];
} th_core_state;

TH_INLINE th_core_state *th_core_state_of(PyObject *module) {
  return (th_core_state *)PyModule_GetState(module);
}
TH_INLINE th_core_state *th_core_state_of_type(PyTypeObject *type) {
  return (th_core_state *)PyType_GetModuleState(type);
}

/* The type of an object of ours, whatever its struct. */
#define TH_TYPE(self) Py_TYPE((PyObject *)(self))

/* ----- core.c: what a module definition needs ----- */
int th_core_exec(PyObject *module);
int th_core_traverse(PyObject *module, visitproc visit, void *arg);
int th_core_clear(PyObject *module);
void th_core_free(void *module);

/* ----- errors.c ----- */
/* Raises what `failure` says (through toolhelp.errors); always returns NULL. */
PyObject *th_py_raise(th_core_state *state, const th_failure *failure);

/* ----- rows.c ----- */
/* Makes the row type of a schema and adds it to the module under the schema's name. */
int th_py_add_row_type(PyObject *module, const th_schema *schema);
PyTypeObject *th_py_row_type(const th_core_state *state, const th_schema *schema);

/* ----- table.c ----- */
int th_py_table_init(PyObject *module);
/* A Table over `table`, whose reference it takes over, also on failure (then NULL). The schema must
   have a row type. */
PyObject *th_py_table(th_core_state *state, th_table *table);
/* A str of UTF-16 units, lone surrogates kept. */
PyObject *th_py_text(const uint16_t *text, size_t units);

/* ----- column.c ----- */
int th_py_column_init(PyObject *module);

/* ----- one function per area: adds its types and functions to the module ----- */
int th_py_snapshot_init(PyObject *module);
int th_py_raw_init(PyObject *module);
int th_py_heaps_init(PyObject *module);
int th_py_scan_init(PyObject *module);
int th_py_trace_init(PyObject *module);
int th_py_session_init(PyObject *module);
/* Called by that of the sessions: */
int th_py_registry_init(PyObject *module);
int th_py_session_facts_init(PyObject *module);
int th_py_session_child_init(PyObject *module);
int th_py_analysis_init(PyObject *module);
int th_py_diff_init(PyObject *module);
int th_py_build_init(PyObject *module);
int th_py_memory_init(PyObject *module);
int th_py_raw_heap_init(PyObject *module);

/* Adds functions to the module, at most once each. */
#define th_py_add_functions(module, methods) PyModule_AddFunctions((module), (methods))

/* An exact range check for an argument that is a uint32: -1 with ValueError or TypeError set. */
int th_py_u32(PyObject *object, const char *name, uint32_t *out);
/* The same for a uint64. */
int th_py_u64(PyObject *object, const char *name, uint64_t *out);

#endif
