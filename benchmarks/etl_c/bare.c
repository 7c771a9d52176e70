#include "bare.h"

#include "base/cursor.h"
#include "base/hash.h"

#include <stdlib.h>

#define MAX_CPUS 64

typedef struct slot {
  uint64_t hash;
  uint32_t number, count; /* number + 1 */
  const uint64_t *frames;
} slot;

typedef struct lane {
  const uint8_t *at, *end, *buffer;
  size_t row; /* of its last heap event, counted from the start */
  uint16_t cpu;
} lane;

struct bare {
  columns out;
  size_t rows;  /* counted from the start */
  size_t taken; /* thrown away */
  digest sum;
  lane lanes[MAX_CPUS];
  /* stacks */
  slot *slots;
  uint32_t slot_mask, stacks;
  uint64_t *pool, *first_frame;
  size_t pool_used;
};

bare *bare_new(void) { return calloc(1, sizeof(bare)); }
void bare_free(bare *loop) { free(loop); }

/* --- rows ------------------------------------------------------------------------------------ */

static void throw_away(bare *b, size_t count) {
  columns *c = &b->out;
  size_t from = b->taken & (RING - 1);
  if (b->sum.every)
    for (size_t i = from; i < from + count; i++)
      DIGEST_ROW(&b->sum, c, i, c->stack[i] == NO_STACK ? 0 : b->first_frame[c->stack[i]]);
  else
    for (size_t i = from; i < from + count; i += 1024)
      b->sum.sum += c->address[i];
  b->sum.rows += count;
  b->taken += count;
}

static inline void put_row(bare *b, lane *lane, const uint8_t *at, int64_t time) {
  columns *c = &b->out;
  size_t row = b->rows & (RING - 1);
  const uint8_t *payload = at + 0x20;
  c->time[row] = (time - 1000) * 100;
  c->cpu[row] = lane->cpu;
  c->tid[row] = th_load_u32(at + 8);
  c->pid[row] = th_load_u32(at + 12);
  c->kind[row] = (uint8_t)(at[6] - 32);
  c->heap[row] = th_load_u64(payload);
  c->stack[row] = NO_STACK;
  if (at[6] == 0x21) {
    c->size[row] = th_load_u64(payload + 8);
    c->address[row] = th_load_u64(payload + 16);
    c->source[row] = th_load_u32(payload + 24);
  } else {
    c->size[row] = 0;
    c->address[row] = th_load_u64(payload + 8);
    c->source[row] = th_load_u32(payload + 16);
  }
  lane->row = b->rows++;
  /* A full half has gone by since the oldest row: nothing comes for it any more. */
  if (!(b->rows & (HALF - 1)) && b->rows - b->taken == RING)
    throw_away(b, HALF);
}

/* --- stacks ---------------------------------------------------------------------------------- */

static uint64_t hash_of(const uint8_t *frames, size_t count) {
  uint64_t hash = count;
  for (size_t i = 0; i < count; i++)
    hash = th_hash_fold(hash ^ th_load_u64(frames + 8 * i), TH_HASH_A);
  return hash;
}

/* The stack of the lane's last heap event: the number of its frames, kept once. */
static inline void put_stack(bare *b, const lane *lane, const uint8_t *at, size_t size) {
  const uint8_t *frames = at + 0x20;
  size_t count = (size - 0x20) / 8;
  uint64_t hash = hash_of(frames, count);
  uint32_t at_slot = (uint32_t)hash & b->slot_mask;
  slot *found = &b->slots[at_slot];
  while (found->number && (found->hash != hash || found->count != count ||
                           memcmp(found->frames, frames, 8 * count) != 0))
    found = &b->slots[++at_slot & b->slot_mask];
  if (!found->number) {
    memcpy(b->pool + b->pool_used, frames, 8 * count);
    *found = (slot){hash, ++b->stacks, (uint32_t)count, b->pool + b->pool_used};
    b->first_frame[b->stacks - 1] = b->pool[b->pool_used];
    b->pool_used += count;
  }
  b->out.stack[lane->row & (RING - 1)] = found->number - 1;
}

/* --- the walks ------------------------------------------------------------------------------- */

static inline const uint8_t *step(bare *b, lane *lane, const uint8_t *at, int64_t time) {
  size_t size = th_load_u16(at + 4);
  if (at[7] == 0x10)
    put_row(b, lane, at, time);
  else
    put_stack(b, lane, at, size);
  return at + ((size + 7) & ~(size_t)7);
}

static inline int64_t time_of(const uint8_t *at) {
  return (int64_t)th_load_u64(at + (at[2] == 2 ? 16 : 8));
}

static void begin(bare *b, const made_trace *made, int every) {
  b->rows = b->taken = 0;
  b->sum = (digest){.every = every, .last_time = INT64_MIN};
  b->stacks = 0;
  b->pool_used = 0;
  if (made->stacks) {
    for (b->slot_mask = 1; b->slot_mask < made->stacks * 2; b->slot_mask *= 2)
      ;
    b->slots = calloc(b->slot_mask--, sizeof *b->slots);
    b->pool = malloc(made->stacks * MADE_FRAMES * sizeof *b->pool);
    b->first_frame = malloc(made->stacks * sizeof *b->first_frame);
  }
}

static digest end(bare *b) {
  while (b->taken != b->rows) {
    size_t left = b->rows - b->taken, half = HALF - (b->taken & (HALF - 1));
    throw_away(b, left < half ? left : half);
  }
  free(b->slots);
  free(b->pool);
  free(b->first_frame);
  b->slots = NULL;
  b->pool = b->first_frame = NULL;
  return b->sum;
}

digest bare_in_file_order(bare *b, const made_trace *made, int every) {
  begin(b, made, every);
  for (const uint8_t *buffer = made->bytes + 0x400; buffer < made->bytes + made->size;
       buffer += th_load_u32(buffer)) {
    const uint8_t *last = buffer + th_load_u32(buffer + 0x30), *at = buffer + 0x48;
    lane *lane = &b->lanes[th_load_u16(buffer + 0x28)];
    lane->cpu = th_load_u16(buffer + 0x28);
    while (at < last)
      at = step(b, lane, at, time_of(at));
  }
  return end(b);
}

/* The lane's next buffer, looked for in the file; false at the end. */
static int next_buffer(const made_trace *made, lane *lane) {
  const uint8_t *buffer = lane->buffer;
  do {
    buffer = buffer ? buffer + th_load_u32(buffer) : made->bytes + 0x400;
    if (buffer >= made->bytes + made->size)
      return 0;
  } while (th_load_u16(buffer + 0x28) != lane->cpu);
  lane->buffer = buffer;
  lane->at = buffer + 0x48;
  lane->end = buffer + th_load_u32(buffer + 0x30);
  return 1;
}

/* A tree of winners, 1 the earliest of all; leaves from `leaves` on. No branch depends on times. */
digest bare_in_time_order(bare *b, const made_trace *made, int every) {
  int64_t times[2 * MAX_CPUS];
  uint32_t winners[2 * MAX_CPUS];
  uint32_t leaves = 1;
  begin(b, made, every);
  while (leaves < made->cpus)
    leaves *= 2;
  for (uint32_t cpu = 0; cpu < leaves; cpu++) {
    b->lanes[cpu] = (lane){.cpu = (uint16_t)cpu};
    winners[leaves + cpu] = cpu;
    times[leaves + cpu] = next_buffer(made, &b->lanes[cpu]) ? time_of(b->lanes[cpu].at) : INT64_MAX;
  }
  for (uint32_t node = leaves - 1; node; node--) {
    uint32_t child = 2 * node + (times[2 * node + 1] < times[2 * node]);
    times[node] = times[child];
    winners[node] = winners[child];
  }
  uint32_t root = leaves > 1 ? 1 : leaves;
  while (times[root] != INT64_MAX) {
    lane *lane = &b->lanes[winners[root]];
    uint32_t node = leaves + lane->cpu;
    lane->at = step(b, lane, lane->at, times[root]);
    if (lane->at < lane->end || next_buffer(made, lane))
      times[node] = time_of(lane->at);
    else
      times[node] = INT64_MAX;
    int64_t time = times[node];
    uint32_t winner = lane->cpu;
    for (; node > 1; node /= 2) {
      int other = times[node ^ 1] < time;
      time = other ? times[node ^ 1] : time;
      winner = other ? winners[node ^ 1] : winner;
      times[node / 2] = time;
      winners[node / 2] = winner;
    }
  }
  return end(b);
}
