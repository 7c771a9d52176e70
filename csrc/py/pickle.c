/* A Table as bytes and strings, from which build_table() makes it again. */
#include "py/table.h"

static PyObject *bytes_of(const void *data, size_t size) {
  return PyBytes_FromStringAndSize(data, (Py_ssize_t)size);
}

static PyObject *strings_of(const th_intern *strings) {
  size_t count = th_intern_count(strings), size;
  PyObject *tuple = PyTuple_New((Py_ssize_t)count);
  for (size_t i = 0; tuple && i < count; i++) {
    const void *text = th_intern_get(strings, (uint32_t)i, &size);
    PyObject *string = th_py_text(text, size / sizeof(uint16_t));
    if (!string || PyTuple_SetItem(tuple, (Py_ssize_t)i, string) < 0)
      Py_CLEAR(tuple);
  }
  return tuple;
}

/* The strings of a text column, the bytes of a pool, else None. */
static PyObject *more_of(th_type type, const th_column *column) {
  if (type == TH_TYPE_TEXT)
    return strings_of(&column->dictionary->strings);
  if (type == TH_TYPE_BYTES || type == TH_TYPE_ADDRESSES)
    return bytes_of(column->pool.items, column->pool.count);
  return Py_NewRef(Py_None);
}

static PyObject *column_parts(const th_table *table, size_t field) {
  const th_column *column = &table->columns[field];
  th_type type = table->schema->fields[field].type;
  size_t values = table->count + (type == TH_TYPE_BYTES || type == TH_TYPE_ADDRESSES);
  PyObject *parts = NULL, *data = bytes_of(column->data, values * th_types[type].width);
  PyObject *valid = column->valid ? bytes_of(column->valid, (table->count + 7) / 8)
                                  : Py_NewRef(Py_None);
  PyObject *more = more_of(type, column);
  if (data && valid && more)
    parts = PyTuple_Pack(3, data, valid, more);
  Py_XDECREF(data);
  Py_XDECREF(valid);
  Py_XDECREF(more);
  return parts;
}

/* The rows of `self` alone, with the strings of these rows alone. */
static th_table *own_rows(const th_table_object *self) {
  th_table *made = NULL;
  th_failure failure;
  size_t *rows = th_mem_array(self->count, sizeof *rows);
  if (!rows)
    return NULL;
  for (size_t i = 0; i < self->count; i++)
    rows[i] = self->first + i;
  if (th_table_gather(self->table, rows, self->count, &made, &failure) == TH_OK &&
      !th_table_own_texts(made)) {
    th_table_drop(made);
    made = NULL;
  }
  th_mem_free(rows);
  return made;
}

const char th_py_table_reduce_doc[] =
    "__reduce__($self, /)\n--\n\nFor pickle: these rows, with the strings of these rows alone.";

PyObject *th_py_table_reduce(th_table_object *self, PyObject *ignored) {
  (void)ignored;
  th_table *table = own_rows(self);
  if (!table)
    return PyErr_NoMemory();
  const th_schema *schema = table->schema;
  PyObject *result = NULL, *columns = PyTuple_New((Py_ssize_t)schema->field_count);
  for (size_t field = 0; columns && field < schema->field_count; field++) {
    PyObject *parts = column_parts(table, field);
    if (!parts || PyTuple_SetItem(columns, (Py_ssize_t)field, parts) < 0)
      Py_CLEAR(columns);
  }
  PyObject *build = PyObject_GetAttrString(PyType_GetModule(TH_TYPE(self)), "build_table");
  if (columns && build)
    result = Py_BuildValue("O(snO)", build, schema->name, (Py_ssize_t)table->count, columns);
  Py_XDECREF(build);
  Py_XDECREF(columns);
  th_table_drop(table);
  return result;
}
