#include "made_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD 0x48
#define MAX_CPUS 64

static void put(uint8_t *at, uint64_t value, size_t size) { memcpy(at, &value, size); }

static uint64_t random_state = 0x9e3779b97f4a7c15u;
static uint64_t draw(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

static uint32_t event_head(uint8_t *at, unsigned hook, uint32_t payload, uint32_t cpu,
                           uint64_t time) {
  uint32_t size = 0x20 + payload;
  memset(at, 0, size);
  at[0] = 2;
  at[2] = 2;
  at[3] = 0xc0;
  put(at + 4, size, 2);
  put(at + 6, hook, 2);
  put(at + 8, 1000 + 4 * cpu, 4);
  put(at + 12, 4242, 4);
  put(at + 16, time, 8);
  return size;
}

static uint32_t aligned(uint32_t size) { return (size + 7) & ~7u; }

/* A simple, greedy XPRESS packer with a hash of 3 bytes; the size of the result. */
static size_t pack(const uint8_t *in, size_t size, uint8_t *out) {
  static int32_t last[1 << 14];
  memset(last, 0xff, sizeof last);
  size_t at = 0, to = 4, flag_at = 0, half = 0;
  uint32_t flags = 0;
  unsigned count = 0;
  while (at < size) {
    size_t length = 0, distance = 0;
    if (at + 4 <= size) {
      uint32_t word;
      memcpy(&word, in + at, 4);
      int32_t *slot = &last[(word * 2654435761u) >> 18];
      if (*slot >= 0 && at - (size_t)*slot <= 8192) {
        distance = at - (size_t)*slot;
        while (at + length < size && length < 60000 &&
               in[at + length] == in[at + length - distance])
          length++;
      }
      *slot = (int32_t)at;
    }
    if (length < 3) {
      flags <<= 1;
      out[to++] = in[at++];
    } else {
      flags = flags << 1 | 1;
      size_t rest = length - 3;
      put(out + to, (distance - 1) << 3 | (rest < 7 ? rest : 7), 2);
      to += 2;
      if (rest >= 7) {
        rest -= 7;
        unsigned nibble = rest < 15 ? (unsigned)rest : 15;
        if (half) {
          out[half] |= (uint8_t)(nibble << 4);
          half = 0;
        } else {
          half = to;
          out[to++] = (uint8_t)nibble;
        }
        if (rest >= 15) {
          rest -= 15;
          if (rest < 255) {
            out[to++] = (uint8_t)rest;
          } else {
            out[to++] = 255;
            put(out + to, rest + 22, 2);
            to += 2;
          }
        }
      }
      at += length;
    }
    if (++count == 32) {
      put(out + flag_at, flags, 4);
      flag_at = to;
      to += 4;
      count = 0;
      flags = 0;
    }
  }
  flags = count ? flags << (32 - count) | (uint32_t)((UINT64_C(1) << (32 - count)) - 1) : ~0u;
  put(out + flag_at, flags, 4);
  return to;
}

typedef struct cpu_buffer {
  uint8_t *bytes;
  uint32_t used;
} cpu_buffer;

static uint64_t sequence;

static void flush(made_trace *made, cpu_buffer *from, uint32_t cpu, uint32_t size, int packed) {
  uint8_t *head = from->bytes;
  memset(head, 0, HEAD);
  put(head + 0x00, size, 4);
  put(head + 0x04, from->used, 4);
  put(head + 0x08, from->used, 4);
  put(head + 0x18, sequence++, 8);
  put(head + 0x28, cpu, 2);
  put(head + 0x2c, 3, 4);
  put(head + 0x30, from->used, 4);
  put(head + 0x34, packed ? 0x60 : 0x20, 2);
  uint8_t *to = made->bytes + made->size;
  if (packed) {
    memcpy(to, head, HEAD);
    size_t small = HEAD + pack(head + HEAD, from->used - HEAD, to + HEAD);
    put(to, small, 4);
    made->size += small;
  } else {
    memset(head + from->used, 0xff, size - from->used);
    memcpy(to, head, size);
    made->size += size;
  }
  from->used = HEAD;
}

static void first_buffer(made_trace *made, int packed) {
  uint8_t *head = made->bytes, *payload = head + HEAD + 0x20;
  memset(head, 0, 0x400);
  uint32_t size = event_head(head + HEAD, 0, 0x118 + 4, 0, 1000);
  put(head, 0x400, 4);
  put(head + 0x04, HEAD + aligned(size), 4);
  put(head + 0x2c, 3, 4);
  put(head + 0x30, HEAD + aligned(size), 4);
  put(head + 0x36, 4, 2);
  put(payload + 0x00, 65536, 4);
  payload[4] = 10;
  put(payload + 0x08, 19041, 4);
  put(payload + 0x0c, 8, 4);
  put(payload + 0x20, packed ? 0x04000001 : 1, 4);
  put(payload + 0x24, 1, 4);
  put(payload + 0x2c, 8, 4);
  put(payload + 0x100, 10000000, 8);
  put(payload + 0x110, 1, 4);
  made->size = 0x400;
  sequence = 1;
}

/* Frames of one of the stacks: where its number leads. */
static uint32_t put_frames(uint8_t *at, uint32_t stack) {
  uint64_t state = stack * UINT64_C(0x9e3779b97f4a7c15) + 1;
  uint32_t count = MADE_FRAMES / 2 + stack % (MADE_FRAMES / 2);
  for (uint32_t i = 0; i < count; i++) {
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    put(at + 8 * i, UINT64_C(0x7ff600000000) + (state >> 24 & 0xffffffff), 8);
  }
  return 8 * count;
}

static uint32_t stack_event(uint8_t *at, uint32_t stack, uint32_t cpu, uint64_t of, uint64_t time) {
  uint32_t size = 0x20 + put_frames(at + 0x20, stack);
  memset(at, 0, 0x20);
  at[0] = 2;
  at[2] = 0x11;
  at[3] = 0xc0;
  put(at + 4, size, 2);
  put(at + 6, 0x1820, 2);
  put(at + 8, time, 8);
  put(at + 16, of, 8);
  put(at + 24, 4242, 4);
  put(at + 28, 1000 + 4 * cpu, 4);
  return size;
}

made_trace make_trace(made_shape shape) {
  size_t room = shape.bytes + 2 * (size_t)shape.cpus * shape.buffer + 65536;
  made_trace made = {.bytes = malloc(room), .cpus = shape.cpus, .stacks = shape.stacks};
  cpu_buffer buffers[MAX_CPUS];
  for (unsigned cpu = 0; cpu < shape.cpus; cpu++)
    buffers[cpu] = (cpu_buffer){malloc(shape.buffer), HEAD};
  if (!made.bytes)
    exit(9);
  first_buffer(&made, shape.packed);
  uint64_t time = 2000, address = 0x20000000;
  uint32_t cpu = 0, spread = 2 * 10000 / (shape.rate ? shape.rate : 250) - 1;
  while (made.size < shape.bytes) {
    if (draw() % shape.burst == 0)
      cpu = (uint32_t)(draw() % shape.cpus);
    cpu_buffer *to = &buffers[cpu];
    if (to->used + 128 + 64 + 8 * MADE_FRAMES > shape.buffer)
      flush(&made, to, cpu, shape.buffer, shape.packed);
    uint8_t *at = to->bytes + to->used;
    time += 1 + draw() % spread; /* no two at once: one order is the only one */
    uint32_t size;
    int allocates = draw() & 1;
    if (allocates) {
      size = event_head(at, 0x1021, 28, cpu, time);
      put(at + 0x20, 0x1e0000, 8);
      put(at + 0x28, 16 + draw() % 4096, 8);
      put(at + 0x30, address += 0x1000 + draw() % 0x1000, 8);
      put(at + 0x38, 3, 4);
    } else {
      size = event_head(at, 0x1024, 20, cpu, time);
      put(at + 0x20, 0x1e0000, 8);
      put(at + 0x28, address - draw() % 0x100000, 8);
      put(at + 0x30, 3, 4);
    }
    to->used += aligned(size);
    made.events++;
    if (allocates && shape.stacks) {
      uint64_t of = time;
      time += 1 + draw() % 3;
      /* Some are much more frequent than others. */
      uint32_t stack = (uint32_t)(draw() % shape.stacks);
      if (draw() & 1)
        stack %= 1 + shape.stacks / 16;
      to->used += aligned(stack_event(to->bytes + to->used, stack, cpu, of, time));
      made.with_stack++;
    }
  }
  for (cpu = 0; cpu < shape.cpus; cpu++) {
    flush(&made, &buffers[cpu], cpu, shape.buffer, shape.packed);
    free(buffers[cpu].bytes);
  }
  return made;
}
