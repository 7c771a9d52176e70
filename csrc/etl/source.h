/* Where the bytes of a trace come from: memory, an open file, or a caller's own reader. */
#ifndef TH_ETL_SOURCE_H
#define TH_ETL_SOURCE_H

#include "base/status.h"
#include "host/host.h"

typedef struct th_source th_source;

/* Reads up to `size` bytes at `offset`, fewer only at the end; fills the failure otherwise. */
typedef th_status (*th_source_reader)(void *context, uint64_t offset, void *buffer, size_t size,
                                      size_t *read, th_failure *failure);

struct th_source {
  const uint8_t *memory;   /* not NULL: all bytes are here, nothing is copied */
  uint64_t size;           /* bytes in all */
  th_file file;            /* used when there is neither memory nor a reader */
  th_source_reader reader; /* called only on the thread that asked for the events */
  void *context;
};

/* Reads exactly as a reader does. */
th_status th_source_read(const th_source *source, uint64_t offset, void *buffer, size_t size,
                         size_t *read, th_failure *failure);

#endif
