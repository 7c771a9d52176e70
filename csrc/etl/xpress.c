#include "etl/xpress.h"

#include "base/cursor.h"
#include "etl/copy_match.h"

/* A match of the shortest form is 2 bytes of input and at most 9 of output; the longest form is
   2 + 1 + 1 + 2 + 4 bytes. Well inside these margins nothing needs to be looked at twice. */
#define IN_MARGIN 32
#define OUT_MARGIN 32

typedef struct state {
  const uint8_t *in, *in_end;
  uint8_t *out, *out_start, *out_end;
  const uint8_t *half; /* the byte whose high half the next long length takes; NULL: none */
} state;

/* The length beyond the 3 bits of the token. Returns 0 when the input ends or is wrong. */
static uint64_t long_length(state *s) {
  unsigned nibble;
  if (s->half) {
    nibble = *s->half >> 4;
    s->half = NULL;
  } else {
    if (s->in == s->in_end)
      return 0;
    s->half = s->in++;
    nibble = *s->half & 15;
  }
  if (nibble < 15)
    return nibble + 10;
  if (s->in == s->in_end)
    return 0;
  unsigned byte = *s->in++;
  if (byte < 255)
    return byte + 25;
  if (s->in_end - s->in < 2)
    return 0;
  uint64_t length = th_load_u16(s->in);
  s->in += 2;
  if (!length) {
    if (s->in_end - s->in < 4)
      return 0;
    length = th_load_u32(s->in);
    s->in += 4;
  }
  return length < 22 ? 0 : length + 3;
}

/* One token, every byte looked at. False: the input ends or is wrong. */
static bool careful_token(state *s, bool match) {
  if (!match) {
    if (s->in == s->in_end)
      return false;
    *s->out++ = *s->in++;
    return true;
  }
  if (s->in_end - s->in < 2)
    return false;
  unsigned token = th_load_u16(s->in);
  s->in += 2;
  size_t distance = (token >> 3) + 1;
  uint64_t length = token & 7;
  length = length < 7 ? length + 3 : long_length(s);
  if (!length || length > (uint64_t)(s->out_end - s->out) ||
      distance > (size_t)(s->out - s->out_start))
    return false;
  s->out = th_copy_match_careful(s->out, distance, (size_t)length);
  return true;
}

bool th_xpress_expand(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size) {
  state s = {in, in + in_size, out, out, out + out_size, NULL};
  while (s.out != s.out_end) {
    if (s.in_end - s.in < 4)
      return false;
    uint32_t flags = th_load_u32(s.in);
    s.in += 4;
    unsigned left = 32;
    /* Fast: both ends far enough away for a run of literals or a short match in wide steps. */
    while (left && s.in_end - s.in >= IN_MARGIN + 32 && s.out_end - s.out >= OUT_MARGIN + 32) {
      if (!(flags & UINT32_C(0x80000000))) {
        unsigned run = flags ? th_leading_zeros(flags) : 32;
        if (run > left)
          run = left;
        memcpy(s.out, s.in, 32);
        s.out += run;
        s.in += run;
        left -= run;
        flags = run == 32 ? 0 : flags << run;
        continue;
      }
      flags <<= 1;
      left--;
      unsigned token = th_load_u16(s.in);
      s.in += 2;
      size_t distance = (token >> 3) + 1;
      uint64_t length = (token & 7) + 3;
      if (TH_UNLIKELY(distance > (size_t)(s.out - s.out_start)))
        return false;
      if (TH_LIKELY(length < 10)) {
        s.out = th_copy_match_short(s.out, distance, (size_t)length);
        continue;
      }
      length = long_length(&s);
      if (!length || length > (uint64_t)(s.out_end - s.out))
        return false;
      s.out = (uint64_t)(s.out_end - s.out) - length >= OUT_MARGIN
                  ? th_copy_match_wide(s.out, distance, (size_t)length)
                  : th_copy_match_careful(s.out, distance, (size_t)length);
    }
    for (; left && s.out != s.out_end; left--, flags <<= 1)
      if (!careful_token(&s, flags >> 31))
        return false;
  }
  return true;
}
