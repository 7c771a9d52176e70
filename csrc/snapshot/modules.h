/* Modules of one process. */
#ifndef TH_SNAPSHOT_MODULES_H
#define TH_SNAPSHOT_MODULES_H

#include "base/status.h"
#include "table/table.h"

/* An empty table for about `capacity` modules with `texts` names and paths that differ; NULL when
   there is no memory. */
TH_NODISCARD th_table *th_snapshot_module_table(size_t capacity, size_t texts);

/* What modules met before are called, by address: most processes load the same DLLs at the same
   addresses, and comparing text is cheaper than hashing it. Zeroed to start with; it belongs to one
   table. */
typedef struct th_module_slot {
  uint64_t base;
  uint32_t name, path; /* numbers in the dictionaries of the table */
  bool used;
} th_module_slot;

typedef struct th_module_cache {
  th_module_slot slots[1024];
} th_module_cache;

/* Appends the modules of process `pid` (not 0) to `table`, of th_module_schema. On failure the
   table holds what it held before. `cache` may be NULL. */
th_status th_snapshot_modules(uint32_t pid, th_module_cache *cache, th_table *table,
                              th_failure *failure);

#endif
