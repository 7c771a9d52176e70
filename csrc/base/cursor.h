/* A bounded reader of little-endian bytes. Every byte of input goes through one of these; nothing
   is read past `end`, and a failed read moves nothing. Loads are by memcpy: no alignment needed. */
#ifndef TH_BASE_CURSOR_H
#define TH_BASE_CURSOR_H

#include "base/compiler.h"

#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "traces are read in place on little-endian machines only"
#endif

typedef struct th_cursor {
  const uint8_t *at;
  const uint8_t *end;
} th_cursor;

TH_INLINE th_cursor th_cursor_of(const void *bytes, size_t size) {
  return (th_cursor){(const uint8_t *)bytes, (const uint8_t *)bytes + size};
}

TH_INLINE size_t th_cursor_left(const th_cursor *cursor) {
  return (size_t)(cursor->end - cursor->at);
}

/* Unchecked loads, for bytes whose presence was checked in one go. */
TH_INLINE uint16_t th_load_u16(const uint8_t *at) {
  uint16_t value;
  memcpy(&value, at, sizeof value);
  return value;
}
TH_INLINE uint32_t th_load_u32(const uint8_t *at) {
  uint32_t value;
  memcpy(&value, at, sizeof value);
  return value;
}
TH_INLINE uint64_t th_load_u64(const uint8_t *at) {
  uint64_t value;
  memcpy(&value, at, sizeof value);
  return value;
}
/* A pointer-sized field of a 4- or 8-byte process. */
TH_INLINE uint64_t th_load_ptr(const uint8_t *at, unsigned pointer_size) {
  return pointer_size == 8 ? th_load_u64(at) : th_load_u32(at);
}

TH_INLINE bool th_cursor_take(th_cursor *cursor, size_t size, const uint8_t **bytes) {
  if (th_cursor_left(cursor) < size)
    return false;
  *bytes = cursor->at;
  cursor->at += size;
  return true;
}

TH_INLINE bool th_cursor_skip(th_cursor *cursor, size_t size) {
  const uint8_t *ignored;
  return th_cursor_take(cursor, size, &ignored);
}

#define TH_CURSOR_READ(name, type)                                                                 \
  TH_INLINE bool th_cursor_##name(th_cursor *cursor, type *out) {                                  \
    const uint8_t *bytes;                                                                          \
    if (!th_cursor_take(cursor, sizeof(type), &bytes))                                             \
      return false;                                                                                \
    memcpy(out, bytes, sizeof(type));                                                              \
    return true;                                                                                   \
  }
TH_CURSOR_READ(u8, uint8_t)
TH_CURSOR_READ(u16, uint16_t)
TH_CURSOR_READ(u32, uint32_t)
TH_CURSOR_READ(u64, uint64_t)
TH_CURSOR_READ(i64, int64_t)
#undef TH_CURSOR_READ

TH_INLINE bool th_cursor_ptr(th_cursor *cursor, unsigned pointer_size, uint64_t *out) {
  const uint8_t *bytes;
  if (!th_cursor_take(cursor, pointer_size == 8 ? 8 : 4, &bytes))
    return false;
  *out = th_load_ptr(bytes, pointer_size);
  return true;
}

#endif
