/* Raw session time to nanoseconds and to UTC, without overflow for any 64-bit input. */
#ifndef TH_ETL_CLOCK_H
#define TH_ETL_CLOCK_H

#include "etl/stream.h"

typedef struct th_clock {
  int64_t zero;         /* raw time of the trace's start */
  int64_t start;        /* FILETIME of the trace's start */
  uint64_t numerator;   /* nanoseconds = ticks * numerator / denominator */
  uint64_t denominator; /* never 0 */
} th_clock;

void th_clock_init(th_clock *clock, const th_logfile *logfile);
/* Nanoseconds since the trace's start, rounded down; negative before it; saturated. */
int64_t th_clock_ns(const th_clock *clock, int64_t raw);
/* FILETIME (100 ns since 1601 UTC) of a raw time, rounded down; saturated. */
int64_t th_clock_file_time(const th_clock *clock, int64_t raw);

#endif
