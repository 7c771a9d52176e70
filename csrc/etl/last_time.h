/* The time of a trace's last event, guessed without reading the trace. */
#ifndef TH_ETL_LAST_TIME_H
#define TH_ETL_LAST_TIME_H

#include "etl/index.h"

/* The latest time in the last buffers of all lanes, raw; `zero` when there is none later. Only a
   guess: a trace whose events are out of order may have a later one elsewhere. */
th_status th_last_time(const th_source *source, const th_index *index, unsigned format,
                       int64_t zero, int64_t *last, th_failure *failure);

#endif
