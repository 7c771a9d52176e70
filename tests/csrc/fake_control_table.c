/* A Table with a column of every type, filled from Python: what no snapshot shows all of. */
#include "fake_control.h"

static const char *const colours[] = {"red", "green", "blue", NULL};

#define ANY(field, column_type) {.name = field, .type = column_type, .nullable = true, .doc = field}

static const th_schema sample_schema = {
    .name = "Sample",
    .doc = "A row with a value of every type.",
    .field_count = TH_TYPE_COUNT,
    .fields = {ANY("flag", TH_TYPE_BOOL), ANY("u8", TH_TYPE_U8), ANY("u16", TH_TYPE_U16),
               ANY("u32", TH_TYPE_U32), ANY("i32", TH_TYPE_I32), ANY("u64", TH_TYPE_U64),
               ANY("i64", TH_TYPE_I64), ANY("f64", TH_TYPE_F64), ANY("time", TH_TYPE_TIME),
               ANY("text", TH_TYPE_TEXT),
               {.name = "colour", .type = TH_TYPE_LABEL, .nullable = true, .labels = colours},
               ANY("raw", TH_TYPE_BYTES), ANY("stack", TH_TYPE_ADDRESSES)}};

static int set_text(th_table *table, size_t field, size_t row, PyObject *value) {
  PyObject *bytes = PyUnicode_AsEncodedString(value, "utf-16-le", "surrogatepass");
  if (!bytes)
    return -1;
  bool good = th_table_set_text(table, field, row,
                                (const uint16_t *)(const void *)PyBytes_AsString(bytes),
                                (size_t)PyBytes_Size(bytes) / 2);
  Py_DECREF(bytes);
  if (!good)
    PyErr_NoMemory();
  return good ? 0 : -1;
}

static int set_addresses(th_table *table, size_t field, size_t row, PyObject *value) {
  uint64_t frames[64];
  Py_ssize_t count = PyTuple_Size(value);
  if (count < 0 || count > 64)
    return -1;
  for (Py_ssize_t i = 0; i < count; i++)
    if (th_py_u64(PyTuple_GetItem(value, i), "address", &frames[i]) < 0)
      return -1;
  if (th_table_set_pool(table, field, row, frames, (size_t)count * sizeof *frames))
    return 0;
  PyErr_NoMemory();
  return -1;
}

static int set_bytes(th_table *table, size_t field, size_t row, PyObject *value) {
  char *bytes;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(value, &bytes, &size) < 0)
    return -1;
  if (th_table_set_pool(table, field, row, bytes, (size_t)size))
    return 0;
  PyErr_NoMemory();
  return -1;
}

static int set_missing(th_table *table, size_t field, size_t row) {
  th_type type = sample_schema.fields[field].type;
  bool pool = type == TH_TYPE_BYTES || type == TH_TYPE_ADDRESSES;
  if (th_table_set_missing(table, field, row) &&
      (!pool || th_table_set_pool(table, field, row, NULL, 0)))
    return 0;
  PyErr_NoMemory();
  return -1;
}

#define PUT(type, value) TH_COLUMN(table, field, type)[row] = (type)(value)

static int set_value(th_table *table, size_t field, size_t row, PyObject *value) {
  if (value == Py_None)
    return set_missing(table, field, row);
  switch (sample_schema.fields[field].type) {
  case TH_TYPE_BOOL: PUT(uint8_t, PyObject_IsTrue(value)); break;
  case TH_TYPE_U8:
  case TH_TYPE_LABEL: PUT(uint8_t, PyLong_AsUnsignedLong(value)); break;
  case TH_TYPE_U16: PUT(uint16_t, PyLong_AsUnsignedLong(value)); break;
  case TH_TYPE_U32: PUT(uint32_t, PyLong_AsUnsignedLong(value)); break;
  case TH_TYPE_I32: PUT(int32_t, PyLong_AsLong(value)); break;
  case TH_TYPE_U64: PUT(uint64_t, PyLong_AsUnsignedLongLong(value)); break;
  case TH_TYPE_I64:
  case TH_TYPE_TIME: PUT(int64_t, PyLong_AsLongLong(value)); break;
  case TH_TYPE_F64: PUT(double, PyFloat_AsDouble(value)); break;
  case TH_TYPE_TEXT: return set_text(table, field, row, value);
  case TH_TYPE_BYTES: return set_bytes(table, field, row, value);
  case TH_TYPE_ADDRESSES: return set_addresses(table, field, row, value);
  default: break;
  }
  return PyErr_Occurred() ? -1 : 0;
}

static PyObject *make_table(PyObject *module, PyObject *rows) {
  PyObject *list = PySequence_List(rows);
  if (!list)
    return NULL;
  th_table *table = th_table_new(&sample_schema, 1, NULL);
  if (!table)
    PyErr_NoMemory();
  for (Py_ssize_t i = 0; table && i < PyList_Size(list); i++) {
    PyObject *values = PyList_GetItem(list, i);
    size_t row;
    bool good = PyTuple_Check(values) && PyTuple_Size(values) == TH_TYPE_COUNT;
    if (!good)
      PyErr_Format(PyExc_TypeError, "a row is a tuple of %d values", TH_TYPE_COUNT);
    if (good && !th_table_add(table, &row)) {
      PyErr_NoMemory();
      good = false;
    }
    for (size_t field = 0; good && field < TH_TYPE_COUNT; field++)
      good = set_value(table, field, row, PyTuple_GetItem(values, (Py_ssize_t)field)) == 0;
    if (!good) {
      th_table_drop(table);
      table = NULL;
    }
  }
  Py_DECREF(list);
  return table ? th_py_table(th_core_state_of(module), table) : NULL;
}

static PyMethodDef methods[] = {
    {"fake_table", make_table, METH_O,
     "fake_table(rows): a Table of Sample; rows are tuples of 13 values, None for a missing one."},
    {NULL, NULL, 0, NULL}};

int fake_table_exec(PyObject *module) {
  if (th_py_add_row_type(module, &sample_schema) < 0)
    return -1;
  return PyModule_AddFunctions(module, methods);
}
