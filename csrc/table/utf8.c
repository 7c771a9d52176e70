#include "table/utf8.h"

#define REPLACEMENT 0xfffdu

/* The code point at *at, which moves behind it. */
static uint32_t next_point(const uint16_t *text, size_t units, size_t *at, bool *lone) {
  uint32_t unit = text[(*at)++];
  *lone = false;
  if (unit < 0xd800u || unit > 0xdfffu)
    return unit;
  if (unit < 0xdc00u && *at < units && text[*at] >= 0xdc00u && text[*at] <= 0xdfffu)
    return 0x10000u + ((unit - 0xd800u) << 10) + (text[(*at)++] - 0xdc00u);
  *lone = true;
  return REPLACEMENT;
}

size_t th_utf8_size(const uint16_t *text, size_t units, size_t *replaced) {
  size_t size = 0;
  for (size_t at = 0; at < units;) {
    bool lone;
    uint32_t point = next_point(text, units, &at, &lone);
    size += point < 0x80u ? 1 : point < 0x800u ? 2 : point < 0x10000u ? 3 : 4;
    *replaced += lone;
  }
  return size;
}

void th_utf8_write(const uint16_t *text, size_t units, uint8_t *out) {
  for (size_t at = 0; at < units;) {
    bool lone;
    uint32_t point = next_point(text, units, &at, &lone);
    if (point < 0x80u) {
      *out++ = (uint8_t)point;
    } else if (point < 0x800u) {
      *out++ = (uint8_t)(0xc0u | point >> 6);
      *out++ = (uint8_t)(0x80u | (point & 0x3fu));
    } else if (point < 0x10000u) {
      *out++ = (uint8_t)(0xe0u | point >> 12);
      *out++ = (uint8_t)(0x80u | (point >> 6 & 0x3fu));
      *out++ = (uint8_t)(0x80u | (point & 0x3fu));
    } else {
      *out++ = (uint8_t)(0xf0u | point >> 18);
      *out++ = (uint8_t)(0x80u | (point >> 12 & 0x3fu));
      *out++ = (uint8_t)(0x80u | (point >> 6 & 0x3fu));
      *out++ = (uint8_t)(0x80u | (point & 0x3fu));
    }
  }
}
