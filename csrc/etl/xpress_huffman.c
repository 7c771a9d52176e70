#include "etl/xpress_huffman.h"

#include "base/cursor.h"
#include "etl/copy_match.h"

#define SYMBOLS 512
#define LITERALS 256
#define TABLE_BYTES 256
#define CODE_MAX 15
#define BLOCK 65536

/* Code lengths, 4 bits each, to a table by the next 15 bits. False unless the codes fill the code
   space exactly. */
static bool build(const uint8_t *lengths, th_xpress_huffman_table *table) {
  size_t at = 0;
  for (unsigned length = 1; length <= CODE_MAX; length++) {
    size_t room = (size_t)1 << (CODE_MAX - length);
    for (unsigned symbol = 0; symbol < SYMBOLS; symbol++) {
      unsigned own = symbol & 1 ? lengths[symbol / 2] >> 4 : lengths[symbol / 2] & 15;
      if (own != length)
        continue;
      if (room > ((size_t)1 << CODE_MAX) - at)
        return false;
      uint16_t value = (uint16_t)(symbol << 4 | length);
      for (size_t i = 0; i < room; i++)
        table->symbols[at++] = value;
    }
  }
  return at == (size_t)1 << CODE_MAX;
}

/* Bits in 16-bit words, highest first. Past the input they read as zero; `unreal` of the bits held
   are such. */
typedef struct bits {
  const uint8_t *in, *in_end;
  uint32_t held;   /* the next bit is the highest */
  unsigned count;  /* 16 to 32 of them */
  unsigned unreal; /* at the low end */
} bits;

static uint32_t next_word(bits *b) {
  if (b->in_end - b->in < 2) {
    b->unreal += 16;
    return 0;
  }
  uint32_t word = th_load_u16(b->in);
  b->in += 2;
  return word;
}

static void start(bits *b) {
  b->held = next_word(b) << 16;
  b->held |= next_word(b);
  b->count = 32;
}

/* Drops `used` bits; false when one of them was not in the input. */
static bool drop(bits *b, unsigned used) {
  b->held <<= used;
  b->count -= used;
  if (b->count < b->unreal)
    return false;
  if (b->count < 16) {
    b->held |= next_word(b) << (16 - b->count);
    b->count += 16;
  }
  return true;
}

/* Expands one block from *in on; the end of the output, or NULL when it is wrong. */
static uint8_t *expand_block(const uint8_t **in, const uint8_t *in_end, uint8_t *out,
                             uint8_t *out_start, uint8_t *out_end,
                             const th_xpress_huffman_table *table) {
  bits b = {*in, in_end, 0, 0, 0};
  start(&b);
  uint8_t *block_end = (size_t)(out_end - out) > BLOCK ? out + BLOCK : out_end;
  while (out < block_end) {
    unsigned found = table->symbols[b.held >> (32 - CODE_MAX)];
    unsigned symbol = found >> 4;
    if (!drop(&b, found & 15))
      return NULL;
    if (symbol < LITERALS) {
      *out++ = (uint8_t)symbol;
      continue;
    }
    size_t length = symbol & 15;
    unsigned distance_bits = (symbol - LITERALS) >> 4;
    if (length == 15) {
      if (b.in == b.in_end)
        return NULL;
      length += *b.in++;
      if (length == 15 + 255) {
        if (b.in_end - b.in < 2)
          return NULL;
        length = th_load_u16(b.in);
        b.in += 2;
        if (length < 15)
          return NULL;
      }
    }
    length += 3;
    size_t distance = (size_t)1 << distance_bits;
    if (distance_bits) {
      distance += b.held >> (32 - distance_bits);
      if (!drop(&b, distance_bits))
        return NULL;
    }
    if (distance > (size_t)(out - out_start) || length > (size_t)(out_end - out))
      return NULL;
    out = th_copy_match_careful(out, distance, length);
  }
  *in = b.in;
  return out;
}

bool th_xpress_huffman_expand(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size,
                              th_xpress_huffman_table *table) {
  const uint8_t *in_end = in + in_size;
  uint8_t *at = out, *out_end = out + out_size;
  while (at != out_end) {
    if (in_end - in < TABLE_BYTES || !build(in, table))
      return false;
    in += TABLE_BYTES;
    at = expand_block(&in, in_end, at, out, out_end, table);
    if (!at)
      return false;
  }
  return true;
}
