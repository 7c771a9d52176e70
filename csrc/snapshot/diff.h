/* What two tables of one kind have in common and what they do not. */
#ifndef TH_SNAPSHOT_DIFF_H
#define TH_SNAPSHOT_DIFF_H

#include "table/table.h"

#define TH_DIFF_MAX_KEYS 8u

/* Rows [first, first + count) of a table. */
typedef struct th_rows {
  const th_table *table;
  size_t first, count;
} th_rows;

typedef struct th_diff_request {
  th_rows before, after; /* their schemas begin with the same fields */
  size_t keys[TH_DIFF_MAX_KEYS], key_count; /* fields whose values name a row */
  bool processes; /* process tables: rows are the same process when the ids are, and the creation
                     times, or without them name and parent; `keys` is not used */
} th_diff_request;

/* New tables; before_changed and after_changed have their rows in the same order. */
typedef struct th_diff {
  th_table *removed, *added, *before_changed, *after_changed;
  size_t same; /* rows that are equal in both */
} th_diff;

/* A value that is missing on one side is not known, which is no change. Rows whose names are equal
   are paired in order. Time and memory are in proportion to the rows. */
th_status th_diff_tables(const th_diff_request *request, th_diff *diff, th_failure *failure);

#endif
