/* Classes of sizes and of lifetimes. */
#ifndef TH_HEAP_HISTOGRAM_H
#define TH_HEAP_HISTOGRAM_H

#include "base/compiler.h"

/* Class 0 holds up to 16 bytes, class k up to 16 << k, the last one all the rest. */
#define TH_SIZE_CLASSES 60

TH_INLINE unsigned th_size_class(uint64_t size) {
  if (size <= 16)
    return 0;
  unsigned index = th_top_bit((size - 1) >> 4) + 1;
  return index < TH_SIZE_CLASSES ? index : TH_SIZE_CLASSES - 1;
}
TH_INLINE uint64_t th_size_class_max(unsigned index) {
  return index == TH_SIZE_CLASSES - 1 ? UINT64_MAX : UINT64_C(16) << index;
}
TH_INLINE uint64_t th_size_class_min(unsigned index) {
  return index ? th_size_class_max(index - 1) + 1 : 0;
}

/* Class 0 holds lifetimes below 10 us, class k below 10 us * 10^k, the last one all the rest. */
#define TH_LIFETIME_CLASSES 8

extern const uint64_t th_lifetime_class_ends[TH_LIFETIME_CLASSES]; /* the last: UINT64_MAX */
/* Of the smallest lifetime with this top bit. */
extern const uint8_t th_lifetime_class_of_bit[64];

TH_INLINE unsigned th_lifetime_class(uint64_t lifetime_ns) {
  unsigned index = th_lifetime_class_of_bit[th_top_bit(lifetime_ns | 1)];
  return index + (lifetime_ns >= th_lifetime_class_ends[index]);
}

#endif
