#include "etl/payload_intern.h"

/* Events are shorter than 64 KiB. */
#define MAX_UNITS 65536

bool th_intern_utf16(th_dictionary *dictionary, const th_payload_text *text, uint32_t *code) {
  return th_intern_put(&dictionary->strings, text->units ? (const void *)text->bytes : "",
                       2 * text->units, code);
}

/* One character of valid UTF-8 (shortest form, no surrogates, up to U+10FFFF); 0: it is not. */
static size_t decode(const uint8_t *at, size_t left, uint32_t *character) {
  uint8_t first = at[0];
  size_t size = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3
                                                                  : first < 0xf5   ? 4
                                                                                   : 0;
  if (size == 0 || size > left)
    return 0;
  uint32_t value = size == 1 ? first : first & (0x7fu >> size);
  for (size_t i = 1; i < size; i++) {
    if ((at[i] & 0xc0) != 0x80)
      return 0;
    value = value << 6 | (at[i] & 0x3f);
  }
  if ((size == 3 && (value < 0x800 || (value >= 0xd800 && value < 0xe000))) ||
      (size == 4 && (value < 0x10000 || value > 0x10ffff)))
    return 0;
  *character = value;
  return size;
}

static bool from_utf8(const th_payload_text *text, uint16_t *units, size_t *count) {
  size_t made = 0;
  for (size_t at = 0; at < text->units;) {
    uint32_t character;
    size_t size = decode(text->bytes + at, text->units - at, &character);
    if (!size)
      return false;
    if (character >= 0x10000) {
      units[made++] = (uint16_t)(0xd800 + ((character - 0x10000) >> 10));
      units[made++] = (uint16_t)(0xdc00 + ((character - 0x10000) & 0x3ff));
    } else {
      units[made++] = (uint16_t)character;
    }
    at += size;
  }
  *count = made;
  return true;
}

bool th_intern_ansi(th_dictionary *dictionary, const th_payload_text *text, uint32_t *code) {
  th_payload_text taken = *text;
  if (taken.units > MAX_UNITS)
    taken.units = MAX_UNITS;
  uint16_t *units = th_mem_array(taken.units + 1, sizeof *units);
  size_t count;
  if (!units)
    return false;
  if (!from_utf8(&taken, units, &count))
    for (count = 0; count < taken.units; count++)
      units[count] = taken.bytes[count];
  bool done = th_intern_put(&dictionary->strings, units, count * sizeof *units, code);
  th_mem_free(units);
  return done;
}
