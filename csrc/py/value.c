#include "py/value.h"

#include "base/cursor.h"
#include "host/host.h"

/* With a GIL, a str is made and stored in one go; without one, a lock keeps that true. */
#ifdef Py_GIL_DISABLED
#define LOCK(texts) th_mutex_lock(&(texts)->lock)
#define UNLOCK(texts) th_mutex_unlock(&(texts)->lock)
#else
#define LOCK(texts) ((void)0)
#define UNLOCK(texts) ((void)0)
#endif

typedef struct field_texts {
  size_t count;
  PyObject **strings;
} field_texts;

struct th_texts {
  th_refcount references;
  th_mutex lock;
  size_t field_count;
  field_texts fields[TH_MAX_FIELDS];
};

size_t th_py_code_count(const th_table *table, size_t field) {
  const th_field *description = &table->schema->fields[field];
  if (description->type == TH_TYPE_TEXT)
    return th_intern_count(&table->columns[field].dictionary->strings);
  size_t count = 0;
  while (description->labels[count])
    count++;
  return count;
}

th_texts *th_texts_new(const th_table *table) {
  th_texts *texts = th_mem_zero(sizeof *texts);
  if (!texts)
    return NULL;
  if (!th_mutex_init(&texts->lock)) {
    th_mem_free(texts);
    return NULL;
  }
  th_refcount_init(&texts->references);
  texts->field_count = table->schema->field_count;
  for (size_t field = 0; field < texts->field_count; field++) {
    th_type type = table->schema->fields[field].type;
    if (type != TH_TYPE_TEXT && type != TH_TYPE_LABEL)
      continue;
    field_texts *own = &texts->fields[field];
    own->count = th_py_code_count(table, field);
    own->strings = th_mem_zero_array(own->count, sizeof *own->strings);
    if (!own->strings) {
      th_texts_drop(texts);
      return NULL;
    }
  }
  return texts;
}

void th_texts_take(th_texts *texts) { th_refcount_take(&texts->references); }

void th_texts_drop(th_texts *texts) {
  if (!texts || !th_refcount_drop(&texts->references))
    return;
  for (size_t field = 0; field < texts->field_count; field++) {
    field_texts *own = &texts->fields[field];
    for (size_t i = 0; own->strings && i < own->count; i++)
      Py_XDECREF(own->strings[i]);
    th_mem_free(own->strings);
  }
  th_mutex_destroy(&texts->lock);
  th_mem_free(texts);
}

PyObject *th_py_text(const uint16_t *text, size_t units) {
  char ascii[280];
  if (units <= sizeof ascii) {
    size_t i = 0;
    for (; i < units && text[i] < 0x80; i++)
      ascii[i] = (char)text[i];
    if (i == units)
      return PyUnicode_FromStringAndSize(ascii, (Py_ssize_t)units);
  }
  int little_endian = -1;
  return PyUnicode_DecodeUTF16((const char *)text, (Py_ssize_t)(units * 2), "surrogatepass",
                               &little_endian);
}

PyObject *th_py_code_text(const th_table *table, th_texts *texts, size_t field, uint32_t code) {
  field_texts *own = &texts->fields[field];
  if (code >= own->count)
    return Py_NewRef(Py_None);
  LOCK(texts);
  PyObject *string = own->strings[code];
  if (!string) {
    if (table->schema->fields[field].type == TH_TYPE_LABEL) {
      string = PyUnicode_FromString(table->schema->fields[field].labels[code]);
    } else {
      size_t size;
      const void *text =
          th_intern_get(&table->columns[field].dictionary->strings, code, &size);
      string = th_py_text(text, size / 2);
    }
    own->strings[code] = string;
  }
  Py_XINCREF(string);
  UNLOCK(texts);
  return string;
}

static PyObject *addresses(const uint8_t *bytes, size_t size) {
  Py_ssize_t count = (Py_ssize_t)(size / sizeof(uint64_t));
  PyObject *tuple = PyTuple_New(count);
  for (Py_ssize_t i = 0; tuple && i < count; i++) {
    PyObject *item = PyLong_FromUnsignedLongLong(th_load_u64(bytes + (size_t)i * 8));
    if (!item || PyTuple_SetItem(tuple, i, item) < 0)
      Py_CLEAR(tuple);
  }
  return tuple;
}

PyObject *th_py_value(const th_table *table, th_texts *texts, size_t field, size_t row) {
  if (!th_table_is_valid(table, field, row))
    return Py_NewRef(Py_None);
  const void *data = table->columns[field].data;
  size_t size;
  switch (table->schema->fields[field].type) {
  case TH_TYPE_BOOL: return PyBool_FromLong(((const uint8_t *)data)[row]);
  case TH_TYPE_U8: return PyLong_FromUnsignedLong(((const uint8_t *)data)[row]);
  case TH_TYPE_U16: return PyLong_FromUnsignedLong(((const uint16_t *)data)[row]);
  case TH_TYPE_U32: return PyLong_FromUnsignedLong(((const uint32_t *)data)[row]);
  case TH_TYPE_I32: return PyLong_FromLong(((const int32_t *)data)[row]);
  case TH_TYPE_U64: return PyLong_FromUnsignedLongLong(((const uint64_t *)data)[row]);
  case TH_TYPE_I64:
  case TH_TYPE_TIME: return PyLong_FromLongLong(((const int64_t *)data)[row]);
  case TH_TYPE_F64: return PyFloat_FromDouble(((const double *)data)[row]);
  case TH_TYPE_TEXT:
    return th_py_code_text(table, texts, field, ((const uint32_t *)data)[row]);
  case TH_TYPE_LABEL:
    return th_py_code_text(table, texts, field, ((const uint8_t *)data)[row]);
  case TH_TYPE_BYTES: {
    const uint8_t *bytes = th_table_pool(table, field, row, &size);
    return PyBytes_FromStringAndSize((const char *)bytes, (Py_ssize_t)size);
  }
  case TH_TYPE_ADDRESSES: {
    const uint8_t *bytes = th_table_pool(table, field, row, &size);
    return addresses(bytes, size);
  }
  default: break;
  }
  PyErr_SetString(PyExc_SystemError, "a column of unknown type");
  return NULL;
}
