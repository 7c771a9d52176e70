/* Tables for everybody who speaks Arrow, by its C data and C stream interfaces. The layouts of the
   three structs and the format strings are public: arrow.apache.org, "The Arrow C data interface"
   and "The Arrow C stream interface". */
#ifndef TH_TABLE_ARROW_H
#define TH_TABLE_ARROW_H

#include "table/table.h"

#define TH_ARROW_NULLABLE 2

typedef struct ArrowSchema {
  const char *format;
  const char *name;
  const char *metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema **children;
  struct ArrowSchema *dictionary;
  void (*release)(struct ArrowSchema *);
  void *private_data;
} ArrowSchema;

typedef struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void **buffers;
  struct ArrowArray **children;
  struct ArrowArray *dictionary;
  void (*release)(struct ArrowArray *);
  void *private_data;
} ArrowArray;

typedef struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream *, ArrowSchema *out);
  int (*get_next)(struct ArrowArrayStream *, ArrowArray *out);
  const char *(*get_last_error)(struct ArrowArrayStream *);
  void (*release)(struct ArrowArrayStream *);
  void *private_data;
} ArrowArrayStream;

/* A struct type with one child per column. False: no memory, *out untouched. */
TH_NODISCARD bool th_arrow_schema(const th_schema *schema, ArrowSchema *out);
/* Rows [first, first + count) as one struct array. Numbers are shared with the table, which stays
   alive until the array is released (from any thread); truth values and text are converted. */
TH_NODISCARD bool th_arrow_array(th_table *table, size_t first, size_t count, ArrowArray *out);
/* A stream of that one array. */
TH_NODISCARD bool th_arrow_stream(th_table *table, size_t first, size_t count,
                                  ArrowArrayStream *out);

#endif
