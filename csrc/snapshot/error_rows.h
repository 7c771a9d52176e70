/* Failures as data: the rows of an errors table. */
#ifndef TH_SNAPSHOT_ERROR_ROWS_H
#define TH_SNAPSHOT_ERROR_ROWS_H

#include "table/table.h"

enum { TH_ERROR_PID, TH_ERROR_FUNCTION, TH_ERROR_WINERROR, TH_ERROR_REASON, TH_ERROR_ATTEMPTS };
extern const th_schema th_error_schema;

/* Appends what `failure` says of a process. False: no memory. */
TH_NODISCARD bool th_error_add(th_table *table, uint32_t pid, const th_failure *failure);

#endif
