/* UTF-16 text as Windows gives it. */
#ifndef TH_BASE_TEXT_H
#define TH_BASE_TEXT_H

#include "base/compiler.h"

#include <string.h>

/* Units before the terminating zero, at most `capacity`. Looks at four units at a time: this is a
   good part of what a row of text costs. */
TH_INLINE size_t th_text_units(const uint16_t *text, size_t capacity) {
  size_t units = 0;
  for (; units + 4 <= capacity; units += 4) {
    uint64_t four;
    memcpy(&four, text + units, sizeof four);
    /* A 16-bit lane is zero exactly where this leaves its top bit (the lowest such is exact). */
    if ((four - UINT64_C(0x0001000100010001)) & ~four & UINT64_C(0x8000800080008000))
      break;
  }
  while (units < capacity && text[units])
    units++;
  return units;
}

#endif
