#include "heap/histogram.h"

const uint64_t th_lifetime_class_ends[TH_LIFETIME_CLASSES] = {
    UINT64_C(10000),      UINT64_C(100000),      UINT64_C(1000000),      UINT64_C(10000000),
    UINT64_C(100000000), UINT64_C(1000000000), UINT64_C(10000000000), UINT64_MAX};

/* 2^13 < 10 us < 2^14, 2^16 < 100 us < 2^17 ... A span between two powers of two has at most one
   power of ten in it. */
const uint8_t th_lifetime_class_of_bit[64] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6,
    6, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7};
