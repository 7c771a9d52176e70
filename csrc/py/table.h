/* The Table object: a run of rows of a shared, finished th_table. */
#ifndef TH_PY_TABLE_H
#define TH_PY_TABLE_H

#include "py/value.h"

typedef struct th_table_object {
  PyObject ob_base;
  th_table *table;
  th_texts *texts;
  PyTypeObject *row_type;
  size_t first, count;
} th_table_object;

/* A Column over one field of `table`; `codes`: the numbers behind text or labels. */
PyObject *th_py_column(th_core_state *state, th_table_object *table, size_t field, bool codes);

extern const char th_py_table_reduce_doc[]; /* pickle.c */
PyObject *th_py_table_reduce(th_table_object *self, PyObject *ignored);

/* The str that a Table's `replaced_text` counts: how many text values hold lone surrogates. */
size_t th_py_replaced_text(const th_table_object *table);

#endif
