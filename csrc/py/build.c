/* Tables made of what was read from a file or a pickle: nothing in it is believed before it was
   checked. */
#include "py/core.h"

#include <string.h>

static const th_schema *find_schema(const th_core_state *state, const char *name) {
  for (size_t i = 0; i < state->row_type_count; i++)
    if (strcmp(state->row_types[i].schema->name, name) == 0)
      return state->row_types[i].schema;
  PyErr_Format(PyExc_ValueError, "no table is of kind '%s'", name);
  return NULL;
}

static int wrong(const th_field *field, const char *what) {
  PyErr_Format(PyExc_ValueError, "column %s: %s", field->name, what);
  return -1;
}

/* Copies exactly `size` bytes of an object with a buffer. */
static int copy_bytes(const th_field *field, PyObject *object, void *to, size_t size) {
  Py_buffer view;
  if (PyObject_GetBuffer(object, &view, PyBUF_SIMPLE) < 0)
    return -1;
  int result = (size_t)view.len == size ? 0 : wrong(field, "it has not the bytes of its rows");
  if (result == 0 && size)
    memcpy(to, view.buf, size);
  PyBuffer_Release(&view);
  return result;
}

/* ===== text ======================================================================= */

static int put_string(th_intern *strings, PyObject *text, uint32_t *code) {
  PyObject *bytes = PyUnicode_AsEncodedString(text, "utf-16-le", "surrogatepass");
  if (!bytes)
    return -1;
  bool room = th_intern_put(strings, PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes), code);
  Py_DECREF(bytes);
  if (!room)
    PyErr_NoMemory();
  return room ? 0 : -1;
}

/* From numbers in the file to numbers in the table: strings of a file may repeat. */
static uint32_t *take_strings(const th_field *field, th_column *column, PyObject *dictionary,
                              size_t *count) {
  th_intern *strings = &column->dictionary->strings;
  if (!PyTuple_Check(dictionary)) {
    wrong(field, "its strings must be a tuple of str");
    return NULL;
  }
  *count = (size_t)PyTuple_Size(dictionary);
  uint32_t *codes = th_mem_array(*count + 1, sizeof *codes);
  if (!codes) {
    PyErr_NoMemory();
    return NULL;
  }
  for (size_t i = 0; i < *count; i++) {
    PyObject *text = PyTuple_GetItem(dictionary, (Py_ssize_t)i);
    int failed = PyUnicode_Check(text) ? put_string(strings, text, &codes[i])
                                       : wrong(field, "its strings must be a tuple of str");
    if (failed < 0) {
      th_mem_free(codes);
      return NULL;
    }
  }
  return codes;
}

static int set_text(const th_field *field, th_table *table, size_t number, PyObject *dictionary,
                    size_t rows) {
  th_column *column = &table->columns[number];
  uint32_t *codes = column->data, nothing;
  size_t count = 0;
  uint32_t *map = take_strings(field, column, dictionary, &count);
  if (!map)
    return -1;
  int result = 0;
  for (size_t row = 0; result == 0 && row < rows; row++) {
    if (!th_table_is_valid(table, number, row)) { /* a missing text is a string all the same */
      if (!th_intern_put(&column->dictionary->strings, "", 0, &nothing)) {
        PyErr_NoMemory();
        result = -1;
      } else {
        codes[row] = nothing;
      }
    } else if (codes[row] >= count) {
      result = wrong(field, "it names a string that is not there");
    } else {
      codes[row] = map[codes[row]];
    }
  }
  th_mem_free(map);
  return result;
}

/* ===== columns ==================================================================== */

static int set_validity(const th_field *field, th_table *table, size_t number, PyObject *valid,
                        size_t rows) {
  if (valid == Py_None)
    return 0;
  if (!field->nullable)
    return wrong(field, "no value of it can be missing");
  uint8_t *bits = th_mem_alloc(rows / 8 + 1);
  if (!bits) {
    PyErr_NoMemory();
    return -1;
  }
  int result = copy_bytes(field, valid, bits, (rows + 7) / 8);
  for (size_t row = 0; result == 0 && row < rows; row++)
    if (!(bits[row >> 3] >> (row & 7) & 1) && !th_table_set_missing(table, number, row)) {
      PyErr_NoMemory();
      result = -1;
    }
  th_mem_free(bits);
  return result;
}

static int check_small(const th_field *field, const uint8_t *values, size_t rows) {
  size_t limit = 2;
  if (field->type == TH_TYPE_LABEL)
    for (limit = 0; field->labels[limit];)
      limit++;
  for (size_t row = 0; row < rows; row++)
    if (values[row] >= limit)
      return wrong(field, "a value is out of range");
  return 0;
}

/* Bytes of the values of so many rows; a column with a pool has one offset more than rows. */
static size_t data_size(th_type type, size_t rows) {
  bool has_pool = type == TH_TYPE_BYTES || type == TH_TYPE_ADDRESSES;
  return (rows + has_pool) * th_types[type].width;
}

static int set_pool(const th_field *field, th_column *column, PyObject *pool, size_t rows) {
  const int64_t *offsets = column->data;
  size_t unit = field->type == TH_TYPE_ADDRESSES ? sizeof(uint64_t) : 1;
  Py_ssize_t size = PyObject_Size(pool);
  if (size < 0)
    return -1;
  for (size_t row = 0; row < rows; row++)
    if (offsets[row + 1] < offsets[row])
      return wrong(field, "its offsets do not ascend");
  if (offsets[0] != 0 || (size_t)size % unit || (size_t)offsets[rows] != (size_t)size / unit)
    return wrong(field, "its offsets do not fit its bytes");
  if (!th_vec_reserve(&column->pool, (size_t)size + 1)) {
    PyErr_NoMemory();
    return -1;
  }
  column->pool.count = (size_t)size;
  return copy_bytes(field, pool, column->pool.items, (size_t)size);
}

/* `column` is (bytes, validity bits or None, strings or bytes of a pool or None). */
static int set_column(th_table *table, size_t number, PyObject *column, size_t rows) {
  const th_field *field = &table->schema->fields[number];
  PyObject *data, *valid, *dictionary;
  if (!PyTuple_Check(column) || !PyArg_ParseTuple(column, "OOO", &data, &valid, &dictionary))
    return PyErr_Occurred() ? -1 : wrong(field, "a tuple of three is needed");
  void *values = table->columns[number].data;
  if (copy_bytes(field, data, values, data_size(field->type, rows)) < 0 ||
      set_validity(field, table, number, valid, rows) < 0)
    return -1;
  if (field->type == TH_TYPE_TEXT)
    return set_text(field, table, number, dictionary, rows);
  if (field->type == TH_TYPE_BYTES || field->type == TH_TYPE_ADDRESSES)
    return set_pool(field, &table->columns[number], dictionary, rows);
  if (field->type == TH_TYPE_BOOL || field->type == TH_TYPE_LABEL)
    return check_small(field, values, rows);
  return 0;
}

PyDoc_STRVAR(build_doc,
             "build_table(kind, rows, columns, /)\n--\n\n"
             "A Table of a kind of rows. `columns` is a tuple, in the order of the kind, of (bytes, "
             "validity bits or None, strings or bytes of a pool or None).");

static PyObject *build_table(PyObject *module, PyObject *args) {
  th_core_state *state = th_core_state_of(module);
  const char *name;
  Py_ssize_t rows;
  PyObject *columns;
  if (!PyArg_ParseTuple(args, "snO!:build_table", &name, &rows, &PyTuple_Type, &columns))
    return NULL;
  const th_schema *schema = find_schema(state, name);
  if (!schema)
    return NULL;
  if (rows < 0 || rows > INT32_MAX || (size_t)PyTuple_Size(columns) != schema->field_count) {
    PyErr_SetString(PyExc_ValueError, "a number of rows or columns cannot be right");
    return NULL;
  }
  /* The bytes are there before room is made for them. */
  PyObject *first = PyTuple_GetItem(columns, 0);
  Py_ssize_t there = PyTuple_Check(first) && PyTuple_Size(first) == 3
                         ? PyObject_Size(PyTuple_GetItem(first, 0))
                         : 0;
  if (there < 0)
    return NULL;
  if ((size_t)there != data_size(schema->fields[0].type, (size_t)rows)) {
    wrong(&schema->fields[0], "it has not the bytes of its rows");
    return NULL;
  }
  th_table *table = th_table_new(schema, (size_t)rows, NULL);
  if (!table)
    return PyErr_NoMemory();
  table->count = (size_t)rows;
  for (size_t i = 0; i < schema->field_count; i++)
    if (set_column(table, i, PyTuple_GetItem(columns, (Py_ssize_t)i), (size_t)rows) < 0) {
      th_table_drop(table);
      return NULL;
    }
  return th_py_table(state, table);
}

static PyMethodDef functions[] = {{"build_table", build_table, METH_VARARGS, build_doc},
                                  {NULL, NULL, 0, NULL}};

int th_py_build_init(PyObject *module) { return th_py_add_functions(module, functions); }
