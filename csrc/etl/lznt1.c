#include "etl/lznt1.h"

#include "base/cursor.h"
#include "etl/copy_match.h"

#define CHUNK_MAX 4096
#define CHUNK_PACKED 0x8000
#define CHUNK_SIGNATURE 3

/* One packed chunk; the end of the output, or NULL when it is wrong. */
static uint8_t *expand_chunk(const uint8_t *in, const uint8_t *in_end, uint8_t *out,
                             uint8_t *out_end) {
  uint8_t *start = out;
  unsigned offset_bits = 4; /* max(4, bit length of bytes so far - 1) */
  while (in != in_end && out != out_end) {
    unsigned flags = *in++;
    for (unsigned bit = 0; bit < 8 && in != in_end && out != out_end; bit++, flags >>= 1) {
      if (!(flags & 1)) {
        if (out - start == CHUNK_MAX)
          return NULL;
        *out++ = *in++;
        continue;
      }
      if (in_end - in < 2)
        return NULL;
      unsigned token = th_load_u16(in);
      in += 2;
      size_t done = (size_t)(out - start);
      while (done > (size_t)1 << offset_bits)
        offset_bits++;
      size_t distance = (token >> (16 - offset_bits)) + 1;
      size_t length = (token & (0xffffu >> offset_bits)) + 3;
      if (distance > done || length > CHUNK_MAX - done || length > (size_t)(out_end - out))
        return NULL;
      out = th_copy_match_careful(out, distance, length);
    }
  }
  return out;
}

bool th_lznt1_expand(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size) {
  const uint8_t *in_end = in + in_size;
  uint8_t *out_end = out + out_size;
  while (out != out_end) {
    if (in_end - in < 2)
      return false;
    unsigned head = th_load_u16(in);
    in += 2;
    size_t size = (head & 0xfff) + 1;
    if (!head || (head >> 12 & 7) != CHUNK_SIGNATURE || size > (size_t)(in_end - in))
      return false;
    if (head & CHUNK_PACKED) {
      out = expand_chunk(in, in + size, out, out_end);
      if (!out)
        return false;
    } else {
      if (size > (size_t)(out_end - out))
        return false;
      memcpy(out, in, size);
      out += size;
    }
    in += size;
  }
  return true;
}
