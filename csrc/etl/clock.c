#include "etl/clock.h"

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_FILE_TIME 100

void th_clock_init(th_clock *clock, const th_logfile *logfile) {
  clock->zero = logfile->first_time;
  clock->start = logfile->start_time;
  switch (logfile->clock) {
  case 2:
    clock->start = logfile->first_time;
    clock->numerator = NS_PER_FILE_TIME;
    clock->denominator = 1;
    break;
  case 3:
    clock->numerator = 1000;
    clock->denominator = logfile->cpu_mhz ? logfile->cpu_mhz : 1;
    break;
  default:
    clock->numerator = NS_PER_S;
    clock->denominator = logfile->perf_frequency ? logfile->perf_frequency : NS_PER_S;
    break;
  }
}

/* floor(ticks * numerator / denominator), saturated at UINT64_MAX; *exact when nothing was cut
   off. The numerator is at most 10^9. */
static uint64_t scale(uint64_t ticks, uint64_t numerator, uint64_t denominator, bool *exact) {
  uint64_t whole = ticks / denominator, part = ticks % denominator;
  if (whole > (UINT64_MAX - numerator) / numerator) {
    *exact = false;
    return UINT64_MAX;
  }
  uint64_t quotient;
  if (part <= UINT64_MAX / numerator) {
    quotient = part * numerator / denominator;
    *exact = part * numerator % denominator == 0;
  } else {
    /* Long division, a bit of the numerator at a time; part < denominator all along. */
    uint64_t rest = 0;
    quotient = 0;
    for (int bit = 29; bit >= 0; bit--) {
      quotient *= 2;
      /* rest = 2 * rest (+ part), each step reduced without overflow */
      if (rest >= denominator - rest) {
        rest -= denominator - rest;
        quotient++;
      } else {
        rest *= 2;
      }
      if (numerator >> bit & 1) {
        if (part && rest >= denominator - part) {
          rest -= denominator - part;
          quotient++;
        } else {
          rest += part;
        }
      }
    }
    *exact = rest == 0;
  }
  return whole * numerator + quotient;
}

/* floor((raw - zero) * numerator / denominator), saturated. */
static int64_t scaled(const th_clock *clock, int64_t raw, uint64_t numerator,
                      uint64_t denominator) {
  bool exact;
  if (raw >= clock->zero) {
    uint64_t value = scale((uint64_t)raw - (uint64_t)clock->zero, numerator, denominator, &exact);
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
  }
  uint64_t value = scale((uint64_t)clock->zero - (uint64_t)raw, numerator, denominator, &exact);
  if (!exact && value != UINT64_MAX)
    value++;
  return value > INT64_MAX ? INT64_MIN : -(int64_t)value;
}

int64_t th_clock_ns(const th_clock *clock, int64_t raw) {
  return scaled(clock, raw, clock->numerator, clock->denominator);
}

int64_t th_clock_file_time(const th_clock *clock, int64_t raw) {
  /* Every numerator is a multiple of 100. */
  int64_t since = scaled(clock, raw, clock->numerator / NS_PER_FILE_TIME, clock->denominator);
  if (since > 0 && clock->start > INT64_MAX - since)
    return INT64_MAX;
  if (since < 0 && clock->start < INT64_MIN - since)
    return INT64_MIN;
  return clock->start + since;
}
