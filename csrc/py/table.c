#include "py/table.h"

#include "py/sequence.h"
#include "table/arrow.h"
#include "table/utf8.h"

#include <string.h>

/* ===== making ===================================================================== */

static PyObject *make(PyTypeObject *type, th_table *table, th_texts *texts, PyTypeObject *row_type,
                      size_t first, size_t count) {
  th_table_object *self = PyObject_New(th_table_object, type);
  if (!self) {
    th_table_drop(table);
    th_texts_drop(texts);
    return NULL;
  }
  self->table = table;
  self->texts = texts;
  self->row_type = (PyTypeObject *)Py_NewRef((PyObject *)row_type);
  self->first = first;
  self->count = count;
  return (PyObject *)self;
}

PyObject *th_py_table(th_core_state *state, th_table *table) {
  PyTypeObject *row_type = th_py_row_type(state, table->schema);
  th_texts *texts = row_type ? th_texts_new(table) : NULL;
  if (!texts) {
    th_table_drop(table);
    return PyErr_Occurred() ? NULL : PyErr_NoMemory();
  }
  return make(state->table_type, table, texts, row_type, 0, table->count);
}

static PyObject *part(th_table_object *self, size_t first, size_t count) {
  th_table_take(self->table);
  th_texts_take(self->texts);
  return make(TH_TYPE(self), self->table, self->texts, self->row_type, self->first + first, count);
}

static void table_dealloc(th_table_object *self) {
  PyTypeObject *type = TH_TYPE(self);
  th_table_drop(self->table);
  th_texts_drop(self->texts);
  Py_DECREF(self->row_type);
  PyObject_Free(self);
  Py_DECREF(type);
}

/* ===== rows ======================================================================= */

static Py_ssize_t table_length(th_table_object *self) { return (Py_ssize_t)self->count; }

static PyObject *table_row(th_table_object *self, size_t index) {
  PyObject *row = PyStructSequence_New(self->row_type);
  if (!row)
    return NULL;
  for (size_t field = 0; field < self->table->schema->field_count; field++) {
    PyObject *value = th_py_value(self->table, self->texts, field, self->first + index);
    if (!value) {
      Py_DECREF(row);
      return NULL;
    }
    PyStructSequence_SetItem(row, (Py_ssize_t)field, value);
  }
  return row;
}

static PyObject *table_item(th_table_object *self, Py_ssize_t index) {
  if (index < 0 || (size_t)index >= self->count) {
    PyErr_SetString(PyExc_IndexError, "row index out of range");
    return NULL;
  }
  return table_row(self, (size_t)index);
}

static PyObject *gather(th_table_object *self, const size_t *rows, size_t count) {
  th_core_state *state = th_core_state_of_type(TH_TYPE(self));
  th_table *made;
  th_failure failure;
  th_status status = th_table_gather(self->table, rows, count, &made, &failure);
  if (status != TH_OK)
    return th_py_raise(state, &failure);
  th_texts_take(self->texts); /* same dictionaries, same strings */
  return make(TH_TYPE(self), made, self->texts, self->row_type, 0, count);
}

static PyObject *table_slice(th_table_object *self, PyObject *slice) {
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(slice, &start, &stop, &step) < 0)
    return NULL;
  Py_ssize_t count = PySlice_AdjustIndices((Py_ssize_t)self->count, &start, &stop, step);
  if (step == 1)
    return part(self, (size_t)start, (size_t)count);
  size_t *rows = th_mem_array((size_t)count, sizeof *rows);
  if (!rows)
    return PyErr_NoMemory();
  for (Py_ssize_t i = 0; i < count; i++)
    rows[i] = self->first + (size_t)(start + i * step);
  PyObject *made = gather(self, rows, (size_t)count);
  th_mem_free(rows);
  return made;
}

PyDoc_STRVAR(take_doc, "take($self, indices, /)\n--\n\n"
                       "A new Table of the rows with these indices, in their order.\n\n"
                       "Text is shared, numbers are copied. IndexError for an index out of range.");

static PyObject *table_take(th_table_object *self, PyObject *indices) {
  PyObject *list = PySequence_List(indices);
  if (!list)
    return NULL;
  Py_ssize_t count = PyList_Size(list);
  PyObject *made = NULL;
  size_t *rows = th_mem_array((size_t)count, sizeof *rows);
  if (!rows) {
    PyErr_NoMemory();
    goto done;
  }
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *item = PyList_GetItem(list, i);
    Py_ssize_t index = item ? PyNumber_AsSsize_t(item, PyExc_IndexError) : -1;
    if (index == -1 && PyErr_Occurred())
      goto done;
    if (index < 0)
      index += (Py_ssize_t)self->count;
    if (index < 0 || (size_t)index >= self->count) {
      PyErr_SetString(PyExc_IndexError, "row index out of range");
      goto done;
    }
    rows[i] = self->first + (size_t)index;
  }
  made = gather(self, rows, (size_t)count);

done:
  th_mem_free(rows);
  Py_DECREF(list);
  return made;
}

/* ===== columns ==================================================================== */

static int find_field(th_table_object *self, PyObject *name, size_t *field) {
  const th_schema *schema = self->table->schema;
  for (size_t i = 0; i < schema->field_count; i++) {
    if (PyUnicode_CompareWithASCIIString(name, schema->fields[i].name) == 0) {
      *field = i;
      return 0;
    }
  }
  PyErr_SetObject(PyExc_KeyError, name);
  return -1;
}

static PyObject *table_subscript(th_table_object *self, PyObject *key) {
  if (PyUnicode_Check(key)) {
    size_t field;
    if (find_field(self, key, &field) < 0)
      return NULL;
    return th_py_column(th_core_state_of_type(TH_TYPE(self)), self, field, false);
  }
  if (PySlice_Check(key))
    return table_slice(self, key);
  if (!PyIndex_Check(key)) {
    PyErr_Format(PyExc_TypeError, "a Table is indexed by an int, a slice or a column name, not %R",
                 (PyObject *)Py_TYPE(key));
    return NULL;
  }
  Py_ssize_t index = PyNumber_AsSsize_t(key, PyExc_IndexError);
  if (index == -1 && PyErr_Occurred())
    return NULL;
  return table_item(self, index < 0 ? index + (Py_ssize_t)self->count : index);
}

static PyObject *table_columns(th_table_object *self, void *closure) {
  (void)closure;
  const th_schema *schema = self->table->schema;
  PyObject *names = PyTuple_New((Py_ssize_t)schema->field_count);
  for (size_t i = 0; names && i < schema->field_count; i++) {
    PyObject *name = PyUnicode_FromString(schema->fields[i].name);
    if (!name || PyTuple_SetItem(names, (Py_ssize_t)i, name) < 0)
      Py_CLEAR(names);
  }
  return names;
}

static PyObject *table_schema(th_table_object *self, void *closure) {
  (void)closure;
  const th_schema *schema = self->table->schema;
  PyObject *types = PyDict_New();
  for (size_t i = 0; types && i < schema->field_count; i++) {
    PyObject *text = PyUnicode_FromString(th_types[schema->fields[i].type].text);
    if (!text || PyDict_SetItemString(types, schema->fields[i].name, text) < 0)
      Py_CLEAR(types);
    Py_XDECREF(text);
  }
  return types;
}

PyDoc_STRVAR(to_dict_doc, "to_dict($self, /)\n--\n\nA dict of column name to list of values.");

static PyObject *table_to_dict(th_table_object *self, PyObject *ignored) {
  (void)ignored;
  const th_schema *schema = self->table->schema;
  PyObject *dict = PyDict_New();
  for (size_t field = 0; dict && field < schema->field_count; field++) {
    PyObject *list = PyList_New((Py_ssize_t)self->count);
    for (size_t row = 0; list && row < self->count; row++) {
      PyObject *value = th_py_value(self->table, self->texts, field, self->first + row);
      if (!value || PyList_SetItem(list, (Py_ssize_t)row, value) < 0)
        Py_CLEAR(list);
    }
    if (!list || PyDict_SetItemString(dict, schema->fields[field].name, list) < 0)
      Py_CLEAR(dict);
    Py_XDECREF(list);
  }
  return dict;
}

PyDoc_STRVAR(to_numpy_doc, "to_numpy($self, /)\n--\n\n"
                           "A dict of column name to NumPy array (needs NumPy).\n\n"
                           "Numbers without missing values are read-only views of the column's own "
                           "memory; text,\nbytes and columns with missing values are arrays of "
                           "objects.");

static PyObject *table_to_numpy(th_table_object *self, PyObject *ignored) {
  (void)ignored;
  th_core_state *state = th_core_state_of_type(TH_TYPE(self));
  const th_schema *schema = self->table->schema;
  PyObject *dict = NULL, *numpy = PyImport_ImportModule("numpy");
  if (!numpy)
    return NULL;
  dict = PyDict_New();
  for (size_t field = 0; dict && field < schema->field_count; field++) {
    PyObject *column = th_py_column(state, self, field, false);
    PyObject *array = column ? PyObject_CallMethod(column, "to_numpy", "O", numpy) : NULL;
    if (!array || PyDict_SetItemString(dict, schema->fields[field].name, array) < 0)
      Py_CLEAR(dict);
    Py_XDECREF(array);
    Py_XDECREF(column);
  }
  Py_DECREF(numpy);
  return dict;
}

size_t th_py_replaced_text(const th_table_object *self) {
  const th_schema *schema = self->table->schema;
  size_t values = 0;
  for (size_t field = 0; field < schema->field_count; field++) {
    if (schema->fields[field].type != TH_TYPE_TEXT)
      continue;
    for (size_t row = self->first; row < self->first + self->count; row++) {
      if (!th_table_is_valid(self->table, field, row))
        continue;
      size_t units, lone = 0;
      const uint16_t *text = th_table_text(self->table, field, row, &units);
      th_utf8_size(text, units, &lone);
      values += lone > 0;
    }
  }
  return values;
}

static PyObject *table_replaced_text(th_table_object *self, void *closure) {
  (void)closure;
  return PyLong_FromSize_t(th_py_replaced_text(self));
}

/* ===== arrow ====================================================================== */

static void free_schema_capsule(PyObject *capsule) {
  ArrowSchema *schema = PyCapsule_GetPointer(capsule, "arrow_schema");
  if (schema->release)
    schema->release(schema);
  th_mem_free(schema);
}

static void free_stream_capsule(PyObject *capsule) {
  ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
  if (stream->release)
    stream->release(stream);
  th_mem_free(stream);
}

PyDoc_STRVAR(arrow_schema_doc, "__arrow_c_schema__($self, /)\n--\n\n"
                               "The schema as a PyCapsule (Arrow PyCapsule interface).");

static PyObject *table_arrow_schema(th_table_object *self, PyObject *ignored) {
  (void)ignored;
  ArrowSchema *schema = th_mem_zero(sizeof *schema);
  if (!schema || !th_arrow_schema(self->table->schema, schema)) {
    th_mem_free(schema);
    return PyErr_NoMemory();
  }
  PyObject *capsule = PyCapsule_New(schema, "arrow_schema", free_schema_capsule);
  if (!capsule) {
    schema->release(schema);
    th_mem_free(schema);
  }
  return capsule;
}

PyDoc_STRVAR(arrow_stream_doc, "__arrow_c_stream__($self, requested_schema=None)\n--\n\n"
                               "The rows as a PyCapsule (Arrow PyCapsule interface).\n\n"
                               "One record batch; numbers are shared, not copied. "
                               "`requested_schema` is not followed, as the\ninterface allows.");

static PyObject *table_arrow_stream(th_table_object *self, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"requested_schema", NULL};
  PyObject *requested = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:__arrow_c_stream__", names, &requested))
    return NULL;
  ArrowArrayStream *stream = th_mem_zero(sizeof *stream);
  if (!stream || !th_arrow_stream(self->table, self->first, self->count, stream)) {
    th_mem_free(stream);
    return PyErr_NoMemory();
  }
  PyObject *capsule = PyCapsule_New(stream, "arrow_array_stream", free_stream_capsule);
  if (!capsule) {
    stream->release(stream);
    th_mem_free(stream);
  }
  return capsule;
}

/* ===== the type =================================================================== */

static PyObject *table_compare(PyObject *self, PyObject *other, int op) {
  if ((op != Py_EQ && op != Py_NE) || Py_TYPE(self) != Py_TYPE(other))
    return Py_NewRef(Py_NotImplemented);
  const th_table_object *a = (th_table_object *)self, *b = (th_table_object *)other;
  bool same = a->count == b->count && th_table_equal(a->table, a->first, b->table, b->first, a->count);
  return PyBool_FromLong(same == (op == Py_EQ));
}

static PyObject *table_repr(th_table_object *self) {
  return PyUnicode_FromFormat("<Table of %zu %s rows>", self->count, self->table->schema->name);
}

static PyMethodDef table_methods[] = {
    TH_SEQUENCE_METHODS,
    {"__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS,
     "Table[Row], for annotations: a Table of such rows."},
    {"__reduce__", (PyCFunction)th_py_table_reduce, METH_NOARGS, th_py_table_reduce_doc},
    {"take", (PyCFunction)table_take, METH_O, take_doc},
    {"to_dict", (PyCFunction)table_to_dict, METH_NOARGS, to_dict_doc},
    {"to_numpy", (PyCFunction)table_to_numpy, METH_NOARGS, to_numpy_doc},
    {"__arrow_c_schema__", (PyCFunction)table_arrow_schema, METH_NOARGS, arrow_schema_doc},
    {"__arrow_c_stream__", (PyCFunction)(void (*)(void))table_arrow_stream,
     METH_VARARGS | METH_KEYWORDS, arrow_stream_doc},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef table_properties[] = {
    {"columns", (getter)table_columns, NULL, "Names of the columns, a tuple of str.", NULL},
    {"schema", (getter)table_schema, NULL, "Column name to type name, a dict.", NULL},
    {"replaced_text", (getter)table_replaced_text, NULL,
     "How many text values hold lone surrogates: Arrow, JSON and CSV show U+FFFD there.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

PyDoc_STRVAR(table_doc,
             "A sequence of immutable rows over columns in plain memory.\n\n"
             "t[i] is a row (a named tuple), t[a:b] a Table of the same memory, t[\"name\"] a "
             "Column.\nRows are made when asked for. Equal when kind and all values are equal. A Table "
             "and its rows can\nbe pickled, and so sent to other processes; text that a slice does not "
             "use stays behind.");

static PyType_Slot table_slots[] = {{Py_tp_doc, (void *)table_doc},
                                    {Py_tp_dealloc, table_dealloc},
                                    {Py_tp_repr, table_repr},
                                    {Py_tp_hash, PyObject_HashNotImplemented},
                                    {Py_tp_richcompare, table_compare},
                                    {Py_tp_iter, PySeqIter_New},
                                    {Py_tp_methods, table_methods},
                                    {Py_tp_getset, table_properties},
                                    {Py_sq_length, table_length},
                                    {Py_sq_item, table_item},
                                    {Py_mp_length, table_length},
                                    {Py_mp_subscript, table_subscript},
                                    {0, NULL}};

static PyType_Spec table_spec = {.name = "toolhelp.Table",
                                 .basicsize = sizeof(th_table_object),
                                 .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE |
                                          Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                 .slots = table_slots};

int th_py_table_init(PyObject *module) {
  th_core_state *state = th_core_state_of(module);
  state->table_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &table_spec, NULL);
  if (!state->table_type)
    return -1;
  return PyModule_AddObjectRef(module, "Table", (PyObject *)state->table_type);
}
