/* What differs between compilers, in one place. */
#ifndef TH_BASE_COMPILER_H
#define TH_BASE_COMPILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_MSC_VER)
#include <intrin.h>
#define TH_NODISCARD _Check_return_
#define TH_LIKELY(x) (x)
#define TH_UNLIKELY(x) (x)
#define TH_INLINE static __forceinline
#define TH_NOINLINE __declspec(noinline)
#define TH_PREFETCH(p) _mm_prefetch((const char *)(p), _MM_HINT_T0)
#else
#if defined(__SSE2__)
#include <emmintrin.h>
#endif
#define TH_NODISCARD __attribute__((warn_unused_result))
#define TH_LIKELY(x) __builtin_expect(!!(x), 1)
#define TH_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define TH_INLINE static inline __attribute__((always_inline, unused))
#define TH_NOINLINE __attribute__((noinline))
#define TH_PREFETCH(p) __builtin_prefetch(p)
#endif

/* Zero bits above the highest set bit of a number that is not 0. */
TH_INLINE unsigned th_leading_zeros(uint32_t value) {
#if defined(_MSC_VER)
  unsigned long highest;
  _BitScanReverse(&highest, value);
  return 31 - (unsigned)highest;
#else
  return (unsigned)__builtin_clz(value);
#endif
}

/* Number of the highest bit that is set; `value` is not 0. */
TH_INLINE unsigned th_top_bit(uint64_t value) {
#if defined(_MSC_VER)
  unsigned long bit;
  if (_BitScanReverse(&bit, (unsigned long)(value >> 32)))
    return (unsigned)bit + 32;
  _BitScanReverse(&bit, (unsigned long)value);
  return (unsigned)bit;
#else
  return 63 - (unsigned)__builtin_clzll(value);
#endif
}

/* Number of the lowest bit that is set; `value` is not 0. */
TH_INLINE unsigned th_low_bit(uint32_t value) {
#if defined(_MSC_VER)
  unsigned long bit;
  _BitScanForward(&bit, value);
  return (unsigned)bit;
#else
  return (unsigned)__builtin_ctz(value);
#endif
}

/* A bit for each of eight words, 16-byte aligned, that equals `wanted`. */
TH_INLINE uint32_t th_match_eight(const uint32_t *words, uint32_t wanted) {
#if defined(__SSE2__) || defined(_M_X64)
  __m128i key = _mm_set1_epi32((int)wanted);
  __m128i low = _mm_cmpeq_epi32(_mm_load_si128((const __m128i *)words), key);
  __m128i high = _mm_cmpeq_epi32(_mm_load_si128((const __m128i *)words + 1), key);
  __m128i both = _mm_packs_epi16(_mm_packs_epi32(low, high), _mm_setzero_si128());
  return (uint32_t)_mm_movemask_epi8(both) & 0xff;
#else
  uint32_t bits = 0;
  for (unsigned i = 0; i < 8; i++)
    bits |= (uint32_t)(words[i] == wanted) << i;
  return bits;
#endif
}

/* A reference count that several threads may change. C11 atomics are still an option of MSVC. */
typedef struct th_refcount {
  volatile long value;
} th_refcount;

TH_INLINE void th_refcount_init(th_refcount *count) { count->value = 1; }

#if defined(_MSC_VER)
TH_INLINE void th_refcount_take(th_refcount *count) { _InterlockedIncrement(&count->value); }
/* True when the last reference went. */
TH_INLINE bool th_refcount_drop(th_refcount *count) {
  return _InterlockedDecrement(&count->value) == 0;
}
/* True when the caller's reference is the only one: nobody else can make another. */
TH_INLINE bool th_refcount_is_one(th_refcount *count) {
  return _InterlockedCompareExchange(&count->value, 1, 1) == 1;
}
#else
TH_INLINE void th_refcount_take(th_refcount *count) {
  __atomic_add_fetch(&count->value, 1, __ATOMIC_RELAXED);
}
/* True when the last reference went. */
TH_INLINE bool th_refcount_drop(th_refcount *count) {
  return __atomic_sub_fetch(&count->value, 1, __ATOMIC_ACQ_REL) == 0;
}
/* True when the caller's reference is the only one: nobody else can make another. */
TH_INLINE bool th_refcount_is_one(th_refcount *count) {
  return __atomic_load_n(&count->value, __ATOMIC_ACQUIRE) == 1;
}
#endif

#endif
