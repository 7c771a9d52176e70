#include "table/arrow.h"

#include "table/utf8.h"

#include <errno.h>
#include <string.h>

/* ===== schema ===================================================================== */

static void release_schema(ArrowSchema *schema) {
  for (int64_t i = 0; i < schema->n_children; i++) {
    if (schema->children[i] && schema->children[i]->release)
      schema->children[i]->release(schema->children[i]);
    th_mem_free(schema->children[i]);
  }
  th_mem_free(schema->children);
  if (schema->dictionary) {
    schema->dictionary->release(schema->dictionary);
    th_mem_free(schema->dictionary);
  }
  schema->release = NULL;
}

static void leaf_schema(ArrowSchema *out, const char *format, const char *name, bool nullable) {
  *out = (ArrowSchema){.format = format,
                       .name = name,
                       .flags = nullable ? TH_ARROW_NULLABLE : 0,
                       .release = release_schema};
}

static bool add_children(ArrowSchema *schema, size_t count) {
  schema->children = th_mem_zero_array(count, sizeof *schema->children);
  if (!schema->children)
    return false;
  for (size_t i = 0; i < count; i++) {
    schema->children[i] = th_mem_zero(sizeof **schema->children);
    schema->n_children = (int64_t)i + 1;
    if (!schema->children[i])
      return false;
  }
  return true;
}

static bool field_schema(const th_field *field, ArrowSchema *out) {
  leaf_schema(out, th_types[field->type].arrow, field->name, field->nullable);
  if (field->type == TH_TYPE_TEXT || field->type == TH_TYPE_LABEL) {
    out->dictionary = th_mem_zero(sizeof *out->dictionary);
    if (!out->dictionary)
      return false;
    leaf_schema(out->dictionary, "U", "", false);
  } else if (field->type == TH_TYPE_ADDRESSES) {
    if (!add_children(out, 1))
      return false;
    leaf_schema(out->children[0], "L", "item", false);
  }
  return true;
}

bool th_arrow_schema(const th_schema *schema, ArrowSchema *out) {
  ArrowSchema made;
  leaf_schema(&made, "+s", "", false);
  if (!add_children(&made, schema->field_count))
    goto failed;
  for (size_t i = 0; i < schema->field_count; i++)
    if (!field_schema(&schema->fields[i], made.children[i]))
      goto failed;
  *out = made;
  return true;

failed:
  release_schema(&made);
  return false;
}

/* ===== array ====================================================================== */

/* What an array owns besides its children. */
typedef struct owned {
  th_table *table; /* shared numbers live there */
  void *made[3];   /* buffers converted for this array */
  const void *buffers[3];
} owned;

static void release_array(ArrowArray *array) {
  owned *own = array->private_data;
  for (int64_t i = 0; i < array->n_children; i++) {
    if (array->children[i] && array->children[i]->release)
      array->children[i]->release(array->children[i]);
    th_mem_free(array->children[i]);
  }
  th_mem_free(array->children);
  if (array->dictionary) {
    if (array->dictionary->release)
      array->dictionary->release(array->dictionary);
    th_mem_free(array->dictionary);
  }
  if (own) {
    for (size_t i = 0; i < 3; i++)
      th_mem_free(own->made[i]);
    th_table_drop(own->table);
    th_mem_free(own);
  }
  array->release = NULL;
}

static bool start_array(ArrowArray *out, th_table *table, size_t length, size_t buffers) {
  owned *own = th_mem_zero(sizeof *own);
  if (!own)
    return false;
  if (table) {
    th_table_take(table);
    own->table = table;
  }
  *out = (ArrowArray){.length = (int64_t)length,
                      .n_buffers = (int64_t)buffers,
                      .buffers = own->buffers,
                      .release = release_array,
                      .private_data = own};
  return true;
}

/* Strings as one large_utf8 array. */
static bool text_array(const th_intern *strings, ArrowArray *out) {
  size_t count = th_intern_count(strings), total = 0, replaced = 0, units;
  if (!start_array(out, NULL, count, 3))
    return false;
  owned *own = out->private_data;
  int64_t *offsets = own->made[1] = th_mem_array(count + 1, sizeof *offsets);
  if (!offsets)
    return false;
  offsets[0] = 0;
  for (size_t i = 0; i < count; i++) {
    const void *text = th_intern_get(strings, (uint32_t)i, &units);
    total += th_utf8_size(text, units / 2, &replaced);
    offsets[i + 1] = (int64_t)total;
  }
  uint8_t *bytes = own->made[2] = th_mem_alloc(total);
  if (!bytes)
    return false;
  for (size_t i = 0; i < count; i++) {
    const void *text = th_intern_get(strings, (uint32_t)i, &units);
    th_utf8_write(text, units / 2, bytes + offsets[i]);
  }
  own->buffers[1] = offsets;
  own->buffers[2] = bytes;
  return true;
}

static bool label_array(const char *const *labels, ArrowArray *out) {
  size_t count = 0, total = 0;
  for (; labels[count]; count++)
    total += strlen(labels[count]);
  if (!start_array(out, NULL, count, 3))
    return false;
  owned *own = out->private_data;
  int64_t *offsets = own->made[1] = th_mem_array(count + 1, sizeof *offsets);
  char *bytes = own->made[2] = th_mem_alloc(total);
  if (!offsets || !bytes)
    return false;
  offsets[0] = 0;
  for (size_t i = 0; i < count; i++) {
    size_t size = strlen(labels[i]);
    memcpy(bytes + offsets[i], labels[i], size);
    offsets[i + 1] = offsets[i] + (int64_t)size;
  }
  own->buffers[1] = offsets;
  own->buffers[2] = bytes;
  return true;
}

static int64_t count_missing(const uint8_t *valid, size_t first, size_t count) {
  int64_t missing = 0;
  for (size_t row = first; valid && row < first + count; row++)
    missing += !(valid[row >> 3] >> (row & 7) & 1);
  return missing;
}

static bool pack_bits(const uint8_t *values, size_t rows, owned *own) {
  uint8_t *bits = own->made[1] = th_mem_zero(rows / 8 + 1);
  if (!bits)
    return false;
  for (size_t row = 0; row < rows; row++)
    bits[row >> 3] |= (uint8_t)((values[row] != 0) << (row & 7));
  own->buffers[1] = bits;
  return true;
}

static bool field_array(th_table *table, size_t index, size_t first, size_t count,
                        ArrowArray *out) {
  const th_field *field = &table->schema->fields[index];
  const th_column *column = &table->columns[index];
  if (!start_array(out, table, count, field->type == TH_TYPE_BYTES ? 3 : 2))
    return false;
  owned *own = out->private_data;
  out->offset = (int64_t)first;
  out->null_count = count_missing(column->valid, first, count);
  own->buffers[0] = column->valid;
  own->buffers[1] = column->data;
  switch (field->type) {
  case TH_TYPE_BOOL: return pack_bits(column->data, first + count, own);
  case TH_TYPE_BYTES: own->buffers[2] = column->pool.items; return true;
  case TH_TYPE_TEXT:
  case TH_TYPE_LABEL:
    out->dictionary = th_mem_zero(sizeof *out->dictionary);
    if (!out->dictionary)
      return false;
    return field->type == TH_TYPE_TEXT ? text_array(&column->dictionary->strings, out->dictionary)
                                       : label_array(field->labels, out->dictionary);
  case TH_TYPE_ADDRESSES:
    out->children = th_mem_zero_array(1, sizeof *out->children);
    if (!out->children)
      return false;
    out->n_children = 1;
    out->children[0] = th_mem_zero(sizeof **out->children);
    if (!out->children[0] ||
        !start_array(out->children[0], table, column->pool.count / sizeof(uint64_t), 2))
      return false;
    ((owned *)out->children[0]->private_data)->buffers[1] = column->pool.items;
    return true;
  default: return true;
  }
}

bool th_arrow_array(th_table *table, size_t first, size_t count, ArrowArray *out) {
  size_t fields = table->schema->field_count;
  ArrowArray made = {0};
  if (!start_array(&made, table, count, 1))
    return false;
  made.children = th_mem_zero_array(fields, sizeof *made.children);
  if (!made.children)
    goto failed;
  for (size_t i = 0; i < fields; i++) {
    made.children[i] = th_mem_zero(sizeof **made.children);
    made.n_children = (int64_t)i + 1;
    if (!made.children[i] || !field_array(table, i, first, count, made.children[i]))
      goto failed;
  }
  *out = made;
  return true;

failed:
  release_array(&made);
  return false;
}

/* ===== stream ===================================================================== */

typedef struct single {
  th_table *table;
  size_t first, count;
  bool done;
} single;

static int stream_schema(ArrowArrayStream *stream, ArrowSchema *out) {
  single *state = stream->private_data;
  return th_arrow_schema(state->table->schema, out) ? 0 : ENOMEM;
}

static int stream_next(ArrowArrayStream *stream, ArrowArray *out) {
  single *state = stream->private_data;
  if (state->done) {
    *out = (ArrowArray){0}; /* a released array says: no more */
    return 0;
  }
  if (!th_arrow_array(state->table, state->first, state->count, out))
    return ENOMEM;
  state->done = true;
  return 0;
}

static const char *stream_error(ArrowArrayStream *stream) {
  (void)stream;
  return "out of memory";
}

static void stream_release(ArrowArrayStream *stream) {
  single *state = stream->private_data;
  th_table_drop(state->table);
  th_mem_free(state);
  stream->release = NULL;
}

bool th_arrow_stream(th_table *table, size_t first, size_t count, ArrowArrayStream *out) {
  single *state = th_mem_zero(sizeof *state);
  if (!state)
    return false;
  th_table_take(table);
  *state = (single){.table = table, .first = first, .count = count};
  *out = (ArrowArrayStream){.get_schema = stream_schema,
                            .get_next = stream_next,
                            .get_last_error = stream_error,
                            .release = stream_release,
                            .private_data = state};
  return true;
}
