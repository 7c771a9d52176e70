/* Modules of one process. */
#ifndef TH_SNAPSHOT_MODULES_H
#define TH_SNAPSHOT_MODULES_H

#include "base/status.h"
#include "table/table.h"

/* Appends the modules of process `pid` (not 0) to `table`, of th_module_schema. On failure the
   table holds what it held before. */
th_status th_snapshot_modules(uint32_t pid, th_table *table, th_failure *failure);

#endif
