/* UTF-16 text as Windows gives it. */
#ifndef TH_BASE_TEXT_H
#define TH_BASE_TEXT_H

#include "base/compiler.h"

/* Units before the terminating zero, at most `capacity`. */
TH_INLINE size_t th_text_units(const uint16_t *text, size_t capacity) {
  size_t units = 0;
  while (units < capacity && text[units])
    units++;
  return units;
}

#endif
