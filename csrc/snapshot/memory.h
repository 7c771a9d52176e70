/* Memory of a process, as far as it can be read. */
#ifndef TH_SNAPSHOT_MEMORY_H
#define TH_SNAPSHOT_MEMORY_H

#include "base/status.h"
#include "sys/sys.h"

th_status th_memory_open(uint32_t pid, th_handle *process, th_failure *failure);

/* Reads `size` bytes at `address`, or those before the first page that cannot be read, whose number
   goes to *read. TH_OK: at least one (or none were asked for). */
th_status th_memory_read(th_handle process, uint32_t pid, uint64_t address, void *buffer,
                         size_t size, size_t *read, th_failure *failure);

#endif
