/* Values of table cells as Python objects. */
#ifndef TH_PY_VALUE_H
#define TH_PY_VALUE_H

#include "py/core.h"

/* The str of every string of a dictionary, made when first asked for. One per dictionary and table;
   slices share it. */
typedef struct th_texts th_texts;

TH_NODISCARD th_texts *th_texts_new(const th_table *table);
void th_texts_take(th_texts *texts);
void th_texts_drop(th_texts *texts); /* NULL is fine */

/* The value of one cell; None when missing. */
PyObject *th_py_value(const th_table *table, th_texts *texts, size_t field, size_t row);
/* The str of code `code` of a TEXT or LABEL column. */
PyObject *th_py_code_text(const th_table *table, th_texts *texts, size_t field, uint32_t code);
/* How many strings a TEXT or LABEL column can name. */
size_t th_py_code_count(const th_table *table, size_t field);

#endif
