/* A fast 64-bit hash of bytes. Not for secrets: a hostile trace can make collisions, so whoever
   uses it compares the keys themselves and keeps chains short by growing. */
#ifndef TH_BASE_HASH_H
#define TH_BASE_HASH_H

#include "base/compiler.h"

#include <string.h>

/* Multiply to 128 bits and fold. */
TH_INLINE uint64_t th_hash_fold(uint64_t a, uint64_t b) {
#if defined(_MSC_VER) && defined(_M_X64)
  uint64_t high;
  uint64_t low = _umul128(a, b, &high);
  return low ^ high;
#elif defined(__SIZEOF_INT128__)
  unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
  uint64_t low = (a & 0xffffffffu) * (b & 0xffffffffu);
  uint64_t high = (a >> 32) * (b >> 32);
  uint64_t cross = (a >> 32) * (b & 0xffffffffu) + (a & 0xffffffffu) * (b >> 32);
  return low ^ high ^ (cross << 32 | cross >> 32);
#endif
}

#define TH_HASH_A UINT64_C(0x9e3779b97f4a7c15)
#define TH_HASH_B UINT64_C(0xd6e8feb86659fd93)

TH_INLINE uint64_t th_hash_u64(uint64_t value) { return th_hash_fold(value ^ TH_HASH_A, TH_HASH_B); }

TH_INLINE uint64_t th_hash_bytes(const void *bytes, size_t size) {
  const uint8_t *at = bytes;
  uint64_t hash = TH_HASH_A ^ size;
  while (size >= 16) {
    uint64_t pair[2];
    memcpy(pair, at, sizeof pair);
    hash = th_hash_fold(pair[0] ^ TH_HASH_B ^ hash, pair[1] ^ TH_HASH_A);
    at += 16;
    size -= 16;
  }
  uint64_t tail[2] = {0, 0};
  memcpy(tail, at, size);
  return th_hash_fold(tail[0] ^ TH_HASH_B ^ hash, tail[1] ^ TH_HASH_A);
}

#endif
