/* The first event of a file: what the recorder wrote about the session. */
#ifndef TH_ETL_LOGFILE_H
#define TH_ETL_LOGFILE_H

#include "etl/stream.h"

/* Reads it from a first buffer of which `size` bytes are valid, its head with them. `session_name`
   is left pointing into `bytes` and may not be aligned: whoever keeps it copies. */
th_status th_logfile_read(const uint8_t *bytes, size_t size, th_logfile *logfile,
                          const uint8_t **session_name, th_failure *failure);

#endif
