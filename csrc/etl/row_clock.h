/* What time a row has while it waits: nanoseconds at once where the clock ticks in whole ones (most
   do, at 10 MHz), as no two raw times come to the same then; else raw, and nanoseconds are made of
   it when the row leaves. */
#ifndef TH_ETL_ROW_CLOCK_H
#define TH_ETL_ROW_CLOCK_H

#include "etl/clock.h"

typedef struct th_row_clock {
  const th_clock *clock;
  int64_t zero, factor; /* row time = (raw - zero) * factor ... */
  int64_t low, high;    /* ... for raw times from `low` up to `high`, without overflow */
  bool whole;           /* it is in nanoseconds */
} th_row_clock;

TH_INLINE th_row_clock th_row_clock_of(const th_clock *clock) {
  th_row_clock made = {clock, 0, 1, INT64_MIN, INT64_MAX, false};
  uint64_t factor = clock->numerator / clock->denominator;
  if (!factor || clock->numerator % clock->denominator)
    return made;
  int64_t most = (int64_t)(INT64_MAX / factor);
  made.zero = clock->zero;
  made.factor = (int64_t)factor;
  made.low = clock->zero < INT64_MIN + most ? INT64_MIN : clock->zero - most;
  made.high = clock->zero > INT64_MAX - most ? INT64_MAX : clock->zero + most;
  made.whole = true;
  return made;
}

/* Of a raw time within `low` and `high`; nothing sensible of others. */
TH_INLINE int64_t th_row_time_within(const th_row_clock *times, int64_t raw) {
  return (int64_t)(((uint64_t)raw - (uint64_t)times->zero) * (uint64_t)times->factor);
}
/* Of any; saturated. */
TH_INLINE int64_t th_row_time(const th_row_clock *times, int64_t raw) {
  if (TH_LIKELY(raw >= times->low && raw < times->high))
    return th_row_time_within(times, raw);
  return times->whole ? th_clock_ns(times->clock, raw) : raw;
}

#endif
