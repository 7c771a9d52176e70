/* Modules of one process. */
#ifndef TH_SNAPSHOT_MODULES_H
#define TH_SNAPSHOT_MODULES_H

#include "base/status.h"
#include "table/table.h"

/* An empty table for about `capacity` modules; NULL when there is no memory. */
TH_NODISCARD th_table *th_snapshot_module_table(size_t capacity);

/* Appends the modules of process `pid` (not 0) to `table`, of th_module_schema. On failure the
   table holds what it held before. */
th_status th_snapshot_modules(uint32_t pid, th_table *table, th_failure *failure);

#endif
