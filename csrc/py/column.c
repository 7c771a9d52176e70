#include "py/table.h"

#include "py/sequence.h"

typedef struct column_object {
  PyObject ob_base;
  th_table_object *owner;
  size_t field;
  bool codes; /* the numbers behind text or labels, not the words */
} column_object;

static th_type type_of(const column_object *self) {
  return self->owner->table->schema->fields[self->field].type;
}

static bool has_codes(th_type type) { return type == TH_TYPE_TEXT || type == TH_TYPE_LABEL; }

PyObject *th_py_column(th_core_state *state, th_table_object *table, size_t field, bool codes) {
  column_object *self = PyObject_New(column_object, state->column_type);
  if (!self)
    return NULL;
  self->owner = (th_table_object *)Py_NewRef((PyObject *)table);
  self->field = field;
  self->codes = codes;
  return (PyObject *)self;
}

static void column_dealloc(column_object *self) {
  PyTypeObject *type = TH_TYPE(self);
  Py_DECREF(self->owner);
  PyObject_Free(self);
  Py_DECREF(type);
}

static Py_ssize_t column_length(column_object *self) { return (Py_ssize_t)self->owner->count; }

static PyObject *column_item(column_object *self, Py_ssize_t index) {
  th_table_object *owner = self->owner;
  if (index < 0 || (size_t)index >= owner->count) {
    PyErr_SetString(PyExc_IndexError, "row index out of range");
    return NULL;
  }
  size_t row = owner->first + (size_t)index;
  if (self->codes) {
    if (!th_table_is_valid(owner->table, self->field, row))
      return Py_NewRef(Py_None);
    const void *data = owner->table->columns[self->field].data;
    return PyLong_FromUnsignedLong(type_of(self) == TH_TYPE_TEXT ? ((const uint32_t *)data)[row]
                                                                 : ((const uint8_t *)data)[row]);
  }
  return th_py_value(owner->table, owner->texts, self->field, row);
}

static PyObject *column_subscript(column_object *self, PyObject *key) {
  if (PySlice_Check(key)) {
    PyObject *part = PyObject_GetItem((PyObject *)self->owner, key);
    if (!part)
      return NULL;
    PyObject *column = th_py_column(th_core_state_of_type(TH_TYPE(self)), (th_table_object *)part,
                                    self->field, self->codes);
    Py_DECREF(part);
    return column;
  }
  Py_ssize_t index = PyNumber_AsSsize_t(key, PyExc_IndexError);
  if (index == -1 && PyErr_Occurred())
    return NULL;
  return column_item(self, index < 0 ? index + column_length(self) : index);
}

/* ===== buffer ===================================================================== */

/* Shape and stride of a one-dimensional view; freed with it. */
typedef struct view_layout {
  Py_ssize_t shape, stride;
} view_layout;

static int column_getbuffer(column_object *self, Py_buffer *view, int flags) {
  th_type type = type_of(self);
  const th_type_traits *traits = &th_types[type];
  view->obj = NULL; /* what a failure leaves */
  if (!traits->format || (has_codes(type) && !self->codes)) {
    PyErr_Format(PyExc_BufferError, "a column of %s has no plain buffer%s", traits->text,
                 has_codes(type) ? "; its .codes have" : "");
    return -1;
  }
  if (flags & PyBUF_WRITABLE) {
    PyErr_SetString(PyExc_BufferError, "columns are read-only");
    return -1;
  }
  view_layout *layout = th_mem_alloc(sizeof *layout);
  if (!layout) {
    PyErr_NoMemory();
    return -1;
  }
  const th_table_object *owner = self->owner;
  layout->shape = (Py_ssize_t)owner->count;
  layout->stride = (Py_ssize_t)traits->width;
  *view = (Py_buffer){
      .buf = (uint8_t *)owner->table->columns[self->field].data + owner->first * traits->width,
      .obj = Py_NewRef((PyObject *)self),
      .len = (Py_ssize_t)(owner->count * traits->width),
      .itemsize = (Py_ssize_t)traits->width,
      .readonly = 1,
      .ndim = 1,
      .format = flags & PyBUF_FORMAT ? (char *)traits->format : NULL,
      .shape = flags & PyBUF_ND ? &layout->shape : NULL,
      .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? &layout->stride : NULL,
      .internal = layout};
  return 0;
}

static void column_releasebuffer(column_object *self, Py_buffer *view) {
  (void)self;
  th_mem_free(view->internal);
}

/* ===== properties ================================================================= */

static PyObject *column_codes(column_object *self, void *closure) {
  (void)closure;
  if (!has_codes(type_of(self))) {
    PyErr_Format(PyExc_AttributeError, "a column of %s has no codes", th_types[type_of(self)].text);
    return NULL;
  }
  return th_py_column(th_core_state_of_type(TH_TYPE(self)), self->owner, self->field, true);
}

static PyObject *column_dictionary(column_object *self, void *closure) {
  (void)closure;
  if (!has_codes(type_of(self))) {
    PyErr_Format(PyExc_AttributeError, "a column of %s has no dictionary",
                 th_types[type_of(self)].text);
    return NULL;
  }
  size_t count = th_py_code_count(self->owner->table, self->field);
  PyObject *words = PyTuple_New((Py_ssize_t)count);
  for (size_t code = 0; words && code < count; code++) {
    PyObject *word =
        th_py_code_text(self->owner->table, self->owner->texts, self->field, (uint32_t)code);
    if (!word || PyTuple_SetItem(words, (Py_ssize_t)code, word) < 0)
      Py_CLEAR(words);
  }
  return words;
}

static bool any_missing(const column_object *self) {
  const th_table_object *owner = self->owner;
  if (!owner->table->columns[self->field].valid)
    return false;
  for (size_t row = owner->first; row < owner->first + owner->count; row++)
    if (!th_table_is_valid(owner->table, self->field, row))
      return true;
  return false;
}

static PyObject *column_valid(column_object *self, void *closure) {
  (void)closure;
  const th_table_object *owner = self->owner;
  if (!any_missing(self))
    Py_RETURN_NONE;
  uint8_t *flags = th_mem_alloc(owner->count);
  if (!flags)
    return PyErr_NoMemory();
  for (size_t i = 0; i < owner->count; i++)
    flags[i] = th_table_is_valid(owner->table, self->field, owner->first + i);
  PyObject *bytes = PyBytes_FromStringAndSize((char *)flags, (Py_ssize_t)owner->count);
  th_mem_free(flags);
  PyObject *view = bytes ? PyMemoryView_FromObject(bytes) : NULL;
  PyObject *cast = view ? PyObject_CallMethod(view, "cast", "s", "?") : NULL;
  Py_XDECREF(bytes);
  Py_XDECREF(view);
  return cast;
}

PyDoc_STRVAR(to_numpy_doc, "to_numpy($self, numpy=None, /)\n--\n\n"
                           "The column as a NumPy array: a read-only view for numbers without "
                           "missing values,\nelse an array of objects.");

static PyObject *column_to_numpy(column_object *self, PyObject *args) {
  PyObject *numpy = Py_None;
  if (!PyArg_ParseTuple(args, "|O:to_numpy", &numpy))
    return NULL;
  numpy = numpy == Py_None ? PyImport_ImportModule("numpy") : Py_NewRef(numpy);
  if (!numpy)
    return NULL;
  th_type type = type_of(self);
  PyObject *array = NULL;
  if (th_types[type].format && (self->codes || !has_codes(type)) && !any_missing(self)) {
    /* The view is made here: NumPy takes a failing buffer for none, and would copy items. */
    PyObject *view = PyMemoryView_FromObject((PyObject *)self);
    array = view ? PyObject_CallMethod(numpy, "asarray", "O", view) : NULL;
    Py_XDECREF(view);
  } else {
    /* Filled one by one: numpy.array() would make a matrix of equally long tuples. */
    array = PyObject_CallMethod(numpy, "empty", "ns", column_length(self), "O");
    for (Py_ssize_t i = 0; array && i < column_length(self); i++) {
      PyObject *value = column_item(self, i);
      PyObject *index = PyLong_FromSsize_t(i);
      if (!value || !index || PyObject_SetItem(array, index, value) < 0)
        Py_CLEAR(array);
      Py_XDECREF(index);
      Py_XDECREF(value);
    }
  }
  Py_DECREF(numpy);
  return array;
}

static PyObject *column_repr(column_object *self) {
  const th_schema *schema = self->owner->table->schema;
  return PyUnicode_FromFormat("<Column %s.%s of %zu %s%s>", schema->name,
                              schema->fields[self->field].name, self->owner->count,
                              th_types[type_of(self)].text, self->codes ? " codes" : "");
}

/* ===== the type =================================================================== */

static PyObject *column_reduce(PyObject *self, PyObject *ignored) {
  (void)self, (void)ignored;
  PyErr_SetString(PyExc_TypeError, "a Column is a view of its Table and cannot be pickled: pickle "
                                   "the Table, or list(column)");
  return NULL;
}

static PyMethodDef column_methods[] = {
    TH_SEQUENCE_METHODS,
    {"__reduce__", column_reduce, METH_NOARGS, NULL},
    {"to_numpy", (PyCFunction)column_to_numpy, METH_VARARGS, to_numpy_doc}, {NULL, NULL, 0, NULL}};

static PyGetSetDef column_properties[] = {
    {"codes", (getter)column_codes, NULL,
     "Of a text column: the number of each row's word in `dictionary`, a column with a buffer.",
     NULL},
    {"dictionary", (getter)column_dictionary, NULL,
     "Of a text column: the distinct words, a tuple of str.", NULL},
    {"valid", (getter)column_valid, NULL,
     "None when no value is missing, else a memoryview of bool, one per row.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

PyDoc_STRVAR(column_doc, "One column of a Table.\n\n"
                         "Indexing gives int, str, bytes, a tuple of int, or None where the value is "
                         "missing.\nNumbers are a read-only buffer (memoryview, NumPy) in which "
                         "missing values are 0.");

static PyType_Slot column_slots[] = {{Py_tp_doc, (void *)column_doc},
                                     {Py_tp_dealloc, column_dealloc},
                                     {Py_tp_repr, column_repr},
                                     {Py_tp_iter, PySeqIter_New},
                                     {Py_tp_methods, column_methods},
                                     {Py_tp_getset, column_properties},
                                     {Py_sq_length, column_length},
                                     {Py_sq_item, column_item},
                                     {Py_mp_length, column_length},
                                     {Py_mp_subscript, column_subscript},
                                     {Py_bf_getbuffer, column_getbuffer},
                                     {Py_bf_releasebuffer, column_releasebuffer},
                                     {0, NULL}};

static PyType_Spec column_spec = {.name = "toolhelp.Column",
                                  .basicsize = sizeof(column_object),
                                  .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE |
                                           Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                  .slots = column_slots};

int th_py_column_init(PyObject *module) {
  th_core_state *state = th_core_state_of(module);
  state->column_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &column_spec, NULL);
  if (!state->column_type)
    return -1;
  return PyModule_AddObjectRef(module, "Column", (PyObject *)state->column_type);
}
