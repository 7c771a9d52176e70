/* Columns of equal length: the one form in which rows leave the C core.

   Whoever fills a table owns it alone; once handed to Python it never changes, so that slices,
   buffers and Arrow consumers share it through its reference count from any thread. */
#ifndef TH_TABLE_TABLE_H
#define TH_TABLE_TABLE_H

#include "base/intern.h"
#include "base/status.h"
#include "table/schema.h"

/* Distinct UTF-16 strings, numbered; shared by the tables that use the codes. */
typedef struct th_dictionary {
  th_refcount references;
  th_intern strings;
} th_dictionary;

typedef struct th_column {
  void *data;                /* `width` bytes per row; offsets (rows + 1 of them) for pools */
  uint8_t *valid;            /* Arrow validity bitmap; NULL: no value is missing */
  th_dictionary *dictionary; /* TEXT only */
  TH_VEC(uint8_t) pool;      /* BYTES and ADDRESSES only */
} th_column;

/* Memory that all the columns of a table lie in, and how it goes. */
typedef struct th_table_block {
  void *memory;
  void (*drop)(void *memory);
} th_table_block;

typedef struct th_table {
  th_refcount references;
  const th_schema *schema;
  size_t count;    /* rows filled */
  size_t capacity; /* rows there is room for */
  th_table_block block; /* NULL: each column is the allocator's */
  th_column columns[TH_MAX_FIELDS];
} th_table;

/* An empty table with room for `capacity` rows; NULL when there is no memory. Every TEXT column
   gets a dictionary of its own unless `dictionary` is given, which then serves all of them. */
TH_NODISCARD th_table *th_table_new(const th_schema *schema, size_t capacity,
                                    th_dictionary *dictionary);
/* A table of `count` rows that were written elsewhere: column by column at `data`, all within
   `block`, which it takes over. For schemas without TEXT, BYTES and ADDRESSES. Such a table cannot
   grow beyond `capacity`. NULL when there is no memory, and then the block is still the caller's. */
TH_NODISCARD th_table *th_table_of_block(const th_schema *schema, void *const *data, size_t count,
                                         size_t capacity, th_table_block block);
void th_table_take(th_table *table);
void th_table_drop(th_table *table); /* NULL is fine */

/* Room for `wanted` rows in all; new rows are zero and valid. False: no memory, nothing lost. */
TH_NODISCARD bool th_table_reserve(th_table *table, size_t wanted);
/* Appends one zeroed row, whose index goes to *row. */
TH_INLINE TH_NODISCARD bool th_table_add(th_table *table, size_t *row) {
  if (table->count == table->capacity && !th_table_reserve(table, table->count + 1))
    return false;
  *row = table->count++;
  return true;
}

/* Takes back the rows from `count` on, as if they had never been added. */
void th_table_shrink(th_table *table, size_t count);

/* The values of a column as an array of its C type. */
#define TH_COLUMN(table, field, type) ((type *)(table)->columns[field].data)

/* Marks one value as missing (`None`). False: no memory. */
TH_NODISCARD bool th_table_set_missing(th_table *table, size_t field, size_t row);
/* Takes that back. */
TH_INLINE void th_table_set_known(th_table *table, size_t field, size_t row) {
  if (table->columns[field].valid)
    table->columns[field].valid[row >> 3] |= (uint8_t)(1u << (row & 7));
}
TH_INLINE bool th_table_is_valid(const th_table *table, size_t field, size_t row) {
  const uint8_t *valid = table->columns[field].valid;
  return !valid || (valid[row >> 3] >> (row & 7) & 1);
}

/* Sets a TEXT value from `units` UTF-16 units. False: no memory. */
TH_NODISCARD bool th_table_set_text(th_table *table, size_t field, size_t row,
                                    const uint16_t *text, size_t units);
/* The same from ASCII. */
TH_NODISCARD bool th_table_set_ascii(th_table *table, size_t field, size_t row, const char *text);
/* The UTF-16 units of a TEXT value. */
const uint16_t *th_table_text(const th_table *table, size_t field, size_t row, size_t *units);

/* Sets a BYTES or ADDRESSES value; rows must be set in order, each once. False: no memory. */
TH_NODISCARD bool th_table_set_pool(th_table *table, size_t field, size_t row, const void *bytes,
                                    size_t size);
/* Bytes of a BYTES or ADDRESSES value. */
const uint8_t *th_table_pool(const th_table *table, size_t field, size_t row, size_t *size);

/* A new table of the rows `rows[0..count)` of `table`, sharing its dictionaries. */
th_status th_table_gather(const th_table *table, const size_t *rows, size_t count, th_table **out,
                          th_failure *failure);
/* Gives each TEXT column a dictionary of its own with the strings of its rows alone, so that nobody
   who still adds to the one before is met. False: no memory, and every value is as it was. */
TH_NODISCARD bool th_table_own_texts(th_table *table);
/* Whether rows [a_first, a_first + count) of `a` hold the values of those of `b`. */
bool th_table_equal(const th_table *a, size_t a_first, const th_table *b, size_t b_first,
                    size_t count);

TH_NODISCARD th_dictionary *th_dictionary_new(void);
void th_dictionary_take(th_dictionary *dictionary);
void th_dictionary_drop(th_dictionary *dictionary); /* NULL is fine */

#endif
