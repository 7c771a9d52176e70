#include "table/table.h"

#include <string.h>

const th_type_traits th_types[TH_TYPE_COUNT] = {
#define TH_TYPE_TRAITS(name, width, format, arrow, text) {width, format, arrow, text},
    TH_TYPE_LIST(TH_TYPE_TRAITS)
#undef TH_TYPE_TRAITS
};

static bool has_pool(th_type type) { return type == TH_TYPE_BYTES || type == TH_TYPE_ADDRESSES; }

/* Pools need one offset more than rows. */
static size_t data_rows(th_type type, size_t rows) { return rows + (has_pool(type) ? 1 : 0); }

static size_t bitmap_bytes(size_t rows) { return rows / 8 + 1; }

th_dictionary *th_dictionary_new(void) {
  th_dictionary *dictionary = th_mem_zero(sizeof *dictionary);
  if (dictionary)
    th_refcount_init(&dictionary->references);
  return dictionary;
}

void th_dictionary_take(th_dictionary *dictionary) { th_refcount_take(&dictionary->references); }

void th_dictionary_drop(th_dictionary *dictionary) {
  if (!dictionary || !th_refcount_drop(&dictionary->references))
    return;
  th_intern_free(&dictionary->strings);
  th_mem_free(dictionary);
}

th_table *th_table_new(const th_schema *schema, size_t capacity, th_dictionary *dictionary) {
  th_table *table = th_mem_zero(sizeof *table);
  if (!table)
    return NULL;
  th_refcount_init(&table->references);
  table->schema = schema;
  for (size_t field = 0; field < schema->field_count; field++) {
    if (schema->fields[field].type != TH_TYPE_TEXT)
      continue;
    th_dictionary *own = dictionary;
    if (own)
      th_dictionary_take(own);
    else if (!(own = th_dictionary_new()))
      goto failed;
    table->columns[field].dictionary = own;
  }
  if (!th_table_reserve(table, capacity))
    goto failed;
  return table;

failed:
  th_table_drop(table);
  return NULL;
}

th_table *th_table_of_block(const th_schema *schema, void *const *data, size_t count,
                            size_t capacity, th_table_block block) {
  th_table *table = th_mem_zero(sizeof *table);
  if (!table)
    return NULL;
  th_refcount_init(&table->references);
  table->schema = schema;
  table->count = count;
  table->capacity = capacity;
  table->block = block;
  for (size_t field = 0; field < schema->field_count; field++)
    table->columns[field].data = data[field];
  return table;
}

void th_table_take(th_table *table) { th_refcount_take(&table->references); }

void th_table_drop(th_table *table) {
  if (!table || !th_refcount_drop(&table->references))
    return;
  for (size_t field = 0; field < table->schema->field_count; field++) {
    th_column *column = &table->columns[field];
    if (!table->block.memory)
      th_mem_free(column->data);
    th_mem_free(column->valid);
    th_dictionary_drop(column->dictionary);
    th_vec_free(&column->pool);
  }
  if (table->block.memory)
    table->block.drop(table->block.memory);
  th_mem_free(table);
}

bool th_table_reserve(th_table *table, size_t wanted) {
  if (wanted <= table->capacity && table->capacity)
    return true;
  if (table->block.memory)
    return false;
  size_t capacity = table->capacity ? table->capacity : (wanted ? wanted : 1);
  while (capacity < wanted) {
    if (capacity > SIZE_MAX / 4)
      return false;
    capacity *= 2;
  }
  for (size_t field = 0; field < table->schema->field_count; field++) {
    th_column *column = &table->columns[field];
    th_type type = table->schema->fields[field].type;
    size_t width = th_types[type].width;
    size_t old_rows = column->data ? data_rows(type, table->capacity) : 0;
    size_t new_rows = data_rows(type, capacity);
    /* New memory often is zero already: the allocator knows. */
    uint8_t *data = column->data ? th_mem_resize_array(column->data, new_rows, width)
                                 : th_mem_zero_array(new_rows, width);
    if (!data)
      return false;
    if (column->data)
      memset(data + old_rows * width, 0, (new_rows - old_rows) * width);
    column->data = data;
    if (column->valid) {
      size_t old_bytes = bitmap_bytes(table->capacity), new_bytes = bitmap_bytes(capacity);
      uint8_t *valid = th_mem_resize(column->valid, new_bytes);
      if (!valid)
        return false;
      column->valid = valid;
      memset(valid + old_bytes, 0xff, new_bytes - old_bytes);
    }
  }
  table->capacity = capacity;
  return true;
}

void th_table_shrink(th_table *table, size_t count) {
  for (size_t field = 0; field < table->schema->field_count; field++) {
    th_column *column = &table->columns[field];
    th_type type = table->schema->fields[field].type;
    size_t width = th_types[type].width;
    if (has_pool(type)) {
      size_t unit = type == TH_TYPE_ADDRESSES ? sizeof(uint64_t) : 1;
      column->pool.count = (size_t)((int64_t *)column->data)[count] * unit;
    }
    memset((uint8_t *)column->data + data_rows(type, count) * width, 0,
           (table->count - count) * width);
    for (size_t row = count; column->valid && row < table->count; row++)
      column->valid[row >> 3] |= (uint8_t)(1u << (row & 7));
  }
  table->count = count;
}

bool th_table_set_missing(th_table *table, size_t field, size_t row) {
  th_column *column = &table->columns[field];
  if (!column->valid) {
    size_t bytes = bitmap_bytes(table->capacity);
    column->valid = th_mem_alloc(bytes);
    if (!column->valid)
      return false;
    memset(column->valid, 0xff, bytes);
  }
  column->valid[row >> 3] &= (uint8_t)~(1u << (row & 7));
  return true;
}

bool th_table_set_text(th_table *table, size_t field, size_t row, const uint16_t *text,
                       size_t units) {
  uint32_t code;
  if (!th_intern_put(&table->columns[field].dictionary->strings, text, units * sizeof *text, &code))
    return false;
  TH_COLUMN(table, field, uint32_t)[row] = code;
  return true;
}

bool th_table_set_ascii(th_table *table, size_t field, size_t row, const char *text) {
  uint16_t wide[256];
  size_t units = 0;
  for (; text[units] && units < sizeof wide / sizeof *wide; units++)
    wide[units] = (uint8_t)text[units];
  return th_table_set_text(table, field, row, wide, units);
}

const uint16_t *th_table_text(const th_table *table, size_t field, size_t row, size_t *units) {
  const th_intern *strings = &table->columns[field].dictionary->strings;
  size_t bytes;
  const uint8_t *text =
      th_intern_get(strings, TH_COLUMN(table, field, const uint32_t)[row], &bytes);
  *units = bytes / sizeof(uint16_t);
  return (const uint16_t *)(const void *)text;
}

bool th_table_set_pool(th_table *table, size_t field, size_t row, const void *bytes, size_t size) {
  th_column *column = &table->columns[field];
  int64_t *offsets = column->data;
  if (size > (size_t)INT64_MAX / 2 - column->pool.count ||
      !th_vec_reserve(&column->pool, column->pool.count + size + 1))
    return false;
  if (size)
    memcpy(column->pool.items + column->pool.count, bytes, size);
  column->pool.count += size;
  size_t unit = table->schema->fields[field].type == TH_TYPE_ADDRESSES ? sizeof(uint64_t) : 1;
  offsets[row + 1] = (int64_t)(column->pool.count / unit);
  return true;
}

const uint8_t *th_table_pool(const th_table *table, size_t field, size_t row, size_t *size) {
  const th_column *column = &table->columns[field];
  const int64_t *offsets = column->data;
  size_t unit = table->schema->fields[field].type == TH_TYPE_ADDRESSES ? sizeof(uint64_t) : 1;
  *size = (size_t)(offsets[row + 1] - offsets[row]) * unit;
  return column->pool.items + (size_t)offsets[row] * unit;
}

th_status th_table_gather(const th_table *table, const size_t *rows, size_t count, th_table **out,
                          th_failure *failure) {
  th_table *made = th_table_new(table->schema, count, NULL);
  if (!made)
    return th_fail_memory(failure);
  for (size_t field = 0; field < table->schema->field_count; field++) {
    const th_column *from = &table->columns[field];
    th_column *to = &made->columns[field];
    th_type type = table->schema->fields[field].type;
    size_t width = th_types[type].width;
    if (from->dictionary) {
      th_dictionary_take(from->dictionary);
      th_dictionary_drop(to->dictionary);
      to->dictionary = from->dictionary;
    }
    for (size_t i = 0; i < count; i++) {
      if (!th_table_is_valid(table, field, rows[i]) && !th_table_set_missing(made, field, i))
        goto failed;
      if (has_pool(type)) {
        size_t size;
        const uint8_t *bytes = th_table_pool(table, field, rows[i], &size);
        if (!th_table_set_pool(made, field, i, bytes, size))
          goto failed;
      } else {
        memcpy((uint8_t *)to->data + i * width, (const uint8_t *)from->data + rows[i] * width,
               width);
      }
    }
  }
  made->count = count;
  *out = made;
  return TH_OK;

failed:
  th_table_drop(made);
  return th_fail_memory(failure);
}

static bool own_texts(th_table *table, size_t field) {
  th_column *column = &table->columns[field];
  th_dictionary *texts = th_dictionary_new();
  uint32_t *codes = th_mem_zero_array(table->capacity, sizeof *codes);
  bool done = texts && codes;
  for (size_t row = 0; done && row < table->count; row++) {
    size_t units = 0;
    const void *text = ""; /* a missing text is a string all the same */
    if (th_table_is_valid(table, field, row))
      text = th_table_text(table, field, row, &units);
    done = th_intern_put(&texts->strings, text, units * sizeof(uint16_t), &codes[row]);
  }
  if (done) {
    th_dictionary *old_texts = column->dictionary;
    uint32_t *old_codes = column->data;
    column->dictionary = texts;
    column->data = codes;
    texts = old_texts;
    codes = old_codes;
  }
  th_dictionary_drop(texts);
  th_mem_free(codes);
  return done;
}

bool th_table_own_texts(th_table *table) {
  for (size_t field = 0; field < table->schema->field_count; field++)
    if (table->schema->fields[field].type == TH_TYPE_TEXT && !own_texts(table, field))
      return false;
  return true;
}

static bool same_value(const th_table *a, size_t a_row, const th_table *b, size_t b_row,
                       size_t field) {
  bool valid = th_table_is_valid(a, field, a_row);
  if (valid != th_table_is_valid(b, field, b_row))
    return false;
  if (!valid)
    return true;
  th_type type = a->schema->fields[field].type;
  size_t width = th_types[type].width, a_size, b_size;
  if (has_pool(type)) {
    const uint8_t *a_bytes = th_table_pool(a, field, a_row, &a_size);
    const uint8_t *b_bytes = th_table_pool(b, field, b_row, &b_size);
    return a_size == b_size && (a_size == 0 || memcmp(a_bytes, b_bytes, a_size) == 0);
  }
  if (type == TH_TYPE_TEXT) {
    const uint16_t *a_text = th_table_text(a, field, a_row, &a_size);
    const uint16_t *b_text = th_table_text(b, field, b_row, &b_size);
    return a_size == b_size && (a_size == 0 || memcmp(a_text, b_text, a_size * 2) == 0);
  }
  return memcmp((const uint8_t *)a->columns[field].data + a_row * width,
                (const uint8_t *)b->columns[field].data + b_row * width, width) == 0;
}

bool th_table_equal(const th_table *a, size_t a_first, const th_table *b, size_t b_first,
                    size_t count) {
  if (a->schema != b->schema)
    return false;
  for (size_t field = 0; field < a->schema->field_count; field++)
    for (size_t i = 0; i < count; i++)
      if (!same_value(a, a_first + i, b, b_first + i, field))
        return false;
  return true;
}
