/* Joining tables that several threads filled, each alone, in an order of their own. */
#ifndef TH_SNAPSHOT_MERGE_H
#define TH_SNAPSHOT_MERGE_H

#include "table/table.h"

/* From the numbers of a source's strings to those of the target's, per column; zeroed to start. */
typedef struct th_merge_map {
  uint32_t *codes[TH_MAX_FIELDS]; /* number + 1; 0: not met yet */
} th_merge_map;

/* Appends rows [first, first + count) of `from` to `to`, which has the same schema and no pool
   columns. False: no memory. */
TH_NODISCARD bool th_merge_rows(th_table *to, const th_table *from, size_t first, size_t count,
                                th_merge_map *map);
void th_merge_map_free(th_merge_map *map);

#endif
