/* Copies of earlier output, as every LZ77 format wants them: source and target may overlap, and
   then the bytes repeat. Each returns the end of what was written. */
#ifndef TH_ETL_COPY_MATCH_H
#define TH_ETL_COPY_MATCH_H

#include "base/compiler.h"

#include <string.h>

/* Writes exactly `length` bytes. */
TH_INLINE uint8_t *th_copy_match_careful(uint8_t *out, size_t distance, size_t length) {
  const uint8_t *from = out - distance;
  if (distance >= length) {
    memcpy(out, from, length);
    return out + length;
  }
  uint8_t *end = out + length;
  while (out != end)
    *out++ = *from++;
  return end;
}

/* Spreads the last `distance` (1 to 7) bytes over 8 or more; returns a distance, now at least 8,
   at which the pattern repeats. Writes 8 bytes, which count as the first of the match. */
TH_INLINE size_t th_spread(uint8_t *out, size_t distance) {
  static const uint8_t step[8] = {0, 8, 8, 9, 8, 10, 12, 14};
  uint64_t bytes;
  memcpy(&bytes, out - distance, 8);
  unsigned shift = (unsigned)distance * 8;
  bytes &= (UINT64_C(1) << shift) - 1;
  for (; shift < 64; shift *= 2)
    bytes |= bytes << shift;
  memcpy(out, &bytes, 8);
  return step[distance];
}

/* Up to 16 bytes; may write 24. */
TH_INLINE uint8_t *th_copy_match_short(uint8_t *out, size_t distance, size_t length) {
  if (TH_LIKELY(distance >= 8)) {
    memcpy(out, out - distance, 8);
    memcpy(out + 8, out + 8 - distance, 8);
    return out + length;
  }
  size_t repeat = th_spread(out, distance);
  memcpy(out + 8, out + 8 - repeat, 8);
  return out + length;
}

/* Any length; may write 31 bytes more than that. */
TH_INLINE uint8_t *th_copy_match_wide(uint8_t *out, size_t distance, size_t length) {
  uint8_t *end = out + length;
  if (distance < 8) {
    distance = th_spread(out, distance);
    out += 8;
    if (out >= end)
      return end;
  }
  if (distance >= 16) {
    do {
      memcpy(out, out - distance, 16);
      out += 16;
    } while (out < end);
    return end;
  }
  do {
    memcpy(out, out - distance, 8);
    out += 8;
  } while (out < end);
  return end;
}

#endif
