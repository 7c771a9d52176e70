#include "snapshot/block_columns.h"

#include <string.h>

/* Rows that addresses are set aside for at first; fewer when there are not that many addresses. */
#define FIRST_ROWS ((size_t)1 << (sizeof(void *) == 8 ? 22 : 18))
#define FEWEST_ROWS ((size_t)1 << 16)
/* Rows that get memory at once: as many as there are already, within these limits. Each number is
   a whole number of pages of any column. */
#define FIRST_STEP ((size_t)1 << 12)
#define LARGEST_STEP ((size_t)1 << 17)
/* A table of fewer rows is copied: its pages are not worth the addresses that they hold. */
#define FEWEST_KEPT ((size_t)1 << 14)

static size_t width_of(size_t field) { return th_types[th_heap_block_schema.fields[field].type].width; }

/* Where the columns begin in `pages` with room for `rows` each; the bytes of all of them. */
static size_t place_columns(uint8_t *pages, size_t rows, void **data) {
  size_t offset = 0;
  for (size_t field = 0; field < th_heap_block_schema.field_count; field++) {
    data[field] = pages + offset;
    offset += rows * width_of(field);
  }
  return offset;
}

static bool commit(void *const *data, size_t first, size_t count) {
  for (size_t field = 0; field < th_heap_block_schema.field_count; field++)
    if (!th_sys_pages_commit((uint8_t *)data[field] + first * width_of(field),
                             count * width_of(field)))
      return false;
  return true;
}

/* Addresses for more rows than before, with what was written so far. */
static bool reserve(th_block_columns *columns) {
  void *old[TH_MAX_FIELDS], *data[TH_MAX_FIELDS];
  size_t rows = columns->reserved ? columns->reserved * 2 : FIRST_ROWS;
  size_t row_bytes = 0;
  void *pages = NULL;
  for (size_t field = 0; field < th_heap_block_schema.field_count; field++)
    row_bytes += width_of(field);
  for (; !pages && rows >= FEWEST_ROWS && rows > columns->reserved; rows /= 2)
    if (rows <= SIZE_MAX / 2 / row_bytes)
      pages = th_sys_pages_reserve(rows * row_bytes);
  if (!pages)
    return false;
  rows *= 2; /* what the last turn took off */
  place_columns(pages, rows, data);
  if (columns->pages) {
    if (!commit(data, 0, columns->ready)) {
      th_sys_pages_drop(pages);
      return false;
    }
    place_columns(columns->pages, columns->reserved, old);
    for (size_t field = 0; field < th_heap_block_schema.field_count; field++)
      memcpy(data[field], old[field], columns->count * width_of(field));
    th_sys_pages_drop(columns->pages);
  }
  columns->pages = pages;
  columns->reserved = rows;
  columns->heap_ids = data[TH_BLOCK_HEAP_ID];
  columns->addresses = data[TH_BLOCK_ADDRESS];
  columns->sizes = data[TH_BLOCK_SIZE];
  columns->flags = data[TH_BLOCK_FLAGS];
  columns->kinds = data[TH_BLOCK_KIND];
  return true;
}

bool th_block_columns_grow(th_block_columns *columns) {
  void *data[TH_MAX_FIELDS];
  if (columns->ready == columns->reserved && !reserve(columns))
    return false;
  size_t step = columns->ready < FIRST_STEP ? FIRST_STEP : columns->ready;
  step = step < LARGEST_STEP ? step : LARGEST_STEP;
  if (step > columns->reserved - columns->ready)
    step = columns->reserved - columns->ready;
  place_columns(columns->pages, columns->reserved, data);
  if (!commit(data, columns->ready, step))
    return false;
  columns->ready += step;
  return true;
}

th_status th_block_columns_finish(th_block_columns *columns, th_table **table,
                                  th_failure *failure) {
  void *data[TH_MAX_FIELDS];
  th_table *made;
  if (columns->count)
    place_columns(columns->pages, columns->reserved, data);
  if (columns->count >= FEWEST_KEPT) {
    const th_table_block block = {columns->pages, th_sys_pages_drop};
    made = th_table_of_block(&th_heap_block_schema, data, columns->count, columns->ready, block);
    if (made)
      columns->pages = NULL; /* the table's */
  } else {
    made = th_table_new(&th_heap_block_schema, columns->count, NULL);
    for (size_t field = 0; made && columns->count && field < made->schema->field_count; field++)
      memcpy(made->columns[field].data, data[field], columns->count * width_of(field));
    if (made)
      made->count = columns->count;
  }
  if (!made)
    return th_fail_memory(failure);
  *table = made;
  return TH_OK;
}

void th_block_columns_free(th_block_columns *columns) {
  th_sys_pages_drop(columns->pages);
  columns->pages = NULL;
}
