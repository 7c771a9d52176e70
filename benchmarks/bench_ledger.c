/* Speed of the ledger alone, on columns that lie ready in memory: alloc and free events per second
   at a given number of live blocks. Answers are checked before the time is told. Built and run by
   bench_ledger.py.

   usage: bench_ledger LIVE EVENTS STACKS [threads] */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include "heap/result.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BATCH 65536

static uint64_t state = 88172645463325252u;

static uint64_t next_random(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

/* Time on the processor, so that other work on the machine shows less. */
static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The least that could be done: addresses and sizes in one open table, the sum and its peak. */
typedef struct bare {
  uint64_t (*entries)[2];
  size_t mask;
  uint64_t sum, peak;
} bare;

static void bare_add(bare *bare, const th_heap_columns *columns, size_t rows) {
  for (size_t row = 0; row < rows; row++) {
    uint64_t address = columns->address[row];
    size_t at = th_hash_u64(address) & bare->mask;
    while (bare->entries[at][0] && bare->entries[at][0] != address)
      at = (at + 1) & bare->mask;
    if (columns->kind[row] == TH_HEAP_ALLOC) {
      bare->entries[at][0] = address;
      bare->entries[at][1] = columns->size[row];
      bare->sum += columns->size[row];
      if (bare->sum > bare->peak)
        bare->peak = bare->sum;
      continue;
    }
    bare->sum -= bare->entries[at][1];
    size_t hole = at;
    for (at = (at + 1) & bare->mask; bare->entries[at][0]; at = (at + 1) & bare->mask) {
      size_t home = th_hash_u64(bare->entries[at][0]) & bare->mask;
      if (((at - home) & bare->mask) >= ((at - hole) & bare->mask)) {
        bare->entries[hole][0] = bare->entries[at][0];
        bare->entries[hole][1] = bare->entries[at][1];
        hole = at;
      }
    }
    bare->entries[hole][0] = 0;
  }
}

int main(int count, char **words) {
  if (count < 4) {
    fprintf(stderr, "usage: bench_ledger LIVE EVENTS STACKS [threads]\n");
    return 2;
  }
  size_t live = strtoull(words[1], NULL, 0);
  size_t events = strtoull(words[2], NULL, 0);
  uint32_t stacks = (uint32_t)strtoul(words[3], NULL, 0);
  uint32_t threads = count > 4 ? (uint32_t)strtoul(words[4], NULL, 0) : 4;
  uint64_t *address = malloc(live * sizeof *address);
  uint64_t *size_of = malloc(live * sizeof *size_of);
  int64_t *time_ns = malloc(BATCH * sizeof *time_ns);
  uint32_t *pid = malloc(BATCH * 4), *tid = malloc(BATCH * 4), *stack = malloc(BATCH * 4);
  uint8_t *kind = malloc(BATCH);
  uint64_t *heap = malloc(BATCH * 8), *at = malloc(BATCH * 8), *size = malloc(BATCH * 8);
  uint64_t *zero = calloc(BATCH, 8);
  th_ledger *ledger = malloc(sizeof *ledger);
  th_failure failure;
  size_t total = live + events;
  bare bare = {.mask = 1024};
  while (bare.mask < live * 2)
    bare.mask *= 2;
  bare.entries = calloc(bare.mask--, sizeof *bare.entries);
  uint64_t bare_ns = 0;
  th_ledger_options options = {
      .rule_ns = 1000000, .buckets = 200, .duration_ns = (int64_t)total * 100};
  if (th_ledger_init(ledger, &options, &failure) != TH_OK)
    return 1;
  th_heap_columns columns = {.time_ns = time_ns, .pid = pid, .tid = tid, .stack_id = stack,
                             .kind = kind, .heap = heap, .address = at, .size = size,
                             .old_address = zero, .old_size = zero};
  uint64_t fill_ns = 0, steady_ns = 0, live_bytes = 0, peak = 0, fresh = 0x10000000;
  size_t done = 0, filled = 0, victim = 0;
  bool freeing = true;
  while (done < total) {
    size_t rows = 0;
    bool filling = filled < live;
    for (; rows < BATCH && done + rows < total && (filled < live) == filling; rows++) {
      time_ns[rows] = (int64_t)(done + rows) * 100;
      pid[rows] = 4812;
      tid[rows] = 4 * (uint32_t)((done + rows) / 16 % threads);
      heap[rows] = 0x1c0f0000;
      stack[rows] = (uint32_t)(next_random() % stacks);
      if (filling) {
        victim = filled++;
      } else if (freeing) {
        victim = next_random() % live;
        kind[rows] = TH_HEAP_FREE;
        at[rows] = address[victim];
        live_bytes -= size_of[victim];
        stack[rows] = TH_NO_STACK;
        freeing = false;
        continue;
      }
      kind[rows] = TH_HEAP_ALLOC;
      at[rows] = address[victim] = fresh += 16 * (1 + next_random() % 8);
      size[rows] = size_of[victim] = 1 + next_random() % 200;
      live_bytes += size[rows];
      if (live_bytes > peak)
        peak = live_bytes;
      freeing = true;
    }
    uint64_t start = now_ns();
    if (th_ledger_add(ledger, &columns, 0, rows, &failure) != TH_OK)
      return 1;
    *(filling ? &fill_ns : &steady_ns) += now_ns() - start;
    start = now_ns();
    bare_add(&bare, &columns, rows);
    if (!filling)
      bare_ns += now_ns() - start;
    done += rows;
  }
  th_result result;
  uint64_t start = now_ns();
  if (th_result_take(ledger, options.duration_ns, &result, &failure) != TH_OK)
    return 1;
  uint64_t result_ns = now_ns() - start;
  if (result.live.bytes != live_bytes || result.peak.bytes != peak || bare.peak != peak ||
      bare.sum != live_bytes) {
    fprintf(stderr, "wrong answer\n");
    return 1;
  }
  printf("live %zu, stacks %u: growing %.1f M events/s, steady %.1f M events/s (%.1f ns; bare loop %.1f ns), "
         "result %.3f s\n",
         live, stacks, (double)live * 1e3 / (double)fill_ns, (double)events * 1e3 / (double)steady_ns,
         (double)steady_ns / (double)events, (double)bare_ns / (double)events,
         (double)result_ns / 1e9);
  th_result_free(&result);
  th_ledger_free(ledger);
  return 0;
}
