/* How fast the reader is, beside the bare loops and a copy of the same bytes: a table.

     bench [MEGABYTES [ROUNDS [ONLY]]]    ONLY: a number of the lines below, from 0; for profilers

   Everything is timed in turn, many times; the least of each counts. Times are of the processor,
   but for threads, where they are of the clock on the wall. `bench_trace.py` builds and runs it. */
#define _POSIX_C_SOURCE 200809L

#include "bare.h"
#include "base/cursor.h"
#include "reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- the table ------------------------------------------------------------------------------- */

enum { COPY, FILE_ORDER, TIME_ORDER, READER, WHAT };

static bare *loop;
static uint8_t *target;

static digest run(int what, const made_trace *made, int every) {
  switch (what) {
  case COPY:
    memcpy(target, made->bytes, made->size);
    return (digest){.rows = made->events, .sum = target[made->size / 2]};
  case FILE_ORDER:
    return bare_in_file_order(loop, made, every);
  case TIME_ORDER:
    return bare_in_time_order(loop, made, every);
  default:
    return read_all(made, 0, every);
  }
}

/* The same rows of everybody, and in order where that is promised. */
static void compare(const made_trace *made) {
  digest first = run(FILE_ORDER, made, 1);
  for (int what = FILE_ORDER; what < WHAT; what++) {
    digest d = run(what, made, 1);
    if (d.rows != made->events || d.sum != first.sum || d.with_stack != made->with_stack ||
        (what != FILE_ORDER && d.backwards)) {
      fprintf(stderr, "wrong answer of %d: %llu rows, %llu backwards, %llu with stack\n", what,
              (unsigned long long)d.rows, (unsigned long long)d.backwards,
              (unsigned long long)d.with_stack);
      exit(5);
    }
  }
}

static void line(const char *name, made_shape shape, unsigned rounds) {
  made_trace made = make_trace(shape);
  double best[WHAT];
  target = malloc(made.size);
  if (!target)
    exit(9);
  memset(target, 1, made.size);
  compare(&made);
  for (unsigned round = 0; round < rounds; round++)
    for (int what = 0; what < WHAT; what++) {
      double start = now(CLOCK_PROCESS_CPUTIME_ID);
      if (run(what, &made, 0).rows != made.events)
        exit(5);
      double took = now(CLOCK_PROCESS_CPUTIME_ID) - start;
      best[what] = !round || took < best[what] ? took : best[what];
    }
  printf("| %s |", name);
  for (int what = 0; what < WHAT; what++)
    printf(" %.1f |", (double)made.events / best[what] / 1e6);
  printf(" %.2f | %.2f |\n", best[TIME_ORDER] / best[READER], best[FILE_ORDER] / best[READER]);
  fflush(stdout);
  free(target);
  free(made.bytes);
}

static void packed_lines(size_t bytes, unsigned rounds) {
  made_trace made = make_trace((made_shape){bytes, 8, 1, 65536, 0, 1, 0});
  size_t expanded = 0;
  for (const uint8_t *at = made.bytes; at < made.bytes + made.size; at += th_load_u32(at))
    expanded += th_load_u32(at + 4);
  double wall[3], processor[3], own[3];
  for (unsigned round = 0; round < rounds; round++)
    for (unsigned threads = 0; threads < 3; threads++) {
      double start = now(CLOCK_PROCESS_CPUTIME_ID), start_wall = now(CLOCK_MONOTONIC);
      double start_own = now(CLOCK_THREAD_CPUTIME_ID);
      if (read_all(&made, threads, 0).rows != made.events)
        exit(5);
      double took = now(CLOCK_PROCESS_CPUTIME_ID) - start;
      double took_own = now(CLOCK_THREAD_CPUTIME_ID) - start_own;
      double took_wall = now(CLOCK_MONOTONIC) - start_wall;
      if (!round || took < processor[threads]) {
        processor[threads] = took;
        own[threads] = took_own;
      }
      wall[threads] = !round || took_wall < wall[threads] ? took_wall : wall[threads];
    }
  /* On a busy machine the clock on the wall says little: how the work is shared says what it would
     be if every thread had a processor. */
  puts("\n| packed with XPRESS, threads besides | MB/s of output by the wall | by the processor | "
       "processor time, ms | of it the caller's | wall, ms | times as fast by the wall | "
       "as the work is shared |\n| --- | --- | --- | --- | --- | --- | --- | --- |");
  for (unsigned threads = 0; threads < 3; threads++) {
    double others = threads ? (processor[threads] - own[threads]) / threads : 0;
    double longest = own[threads] > others ? own[threads] : others;
    printf("| %u | %.0f | %.0f | %.1f | %.1f | %.1f | %.2f | %.2f |\n", threads,
           (double)expanded / wall[threads] / 1e6, (double)expanded / processor[threads] / 1e6,
           1e3 * processor[threads], 1e3 * own[threads], 1e3 * wall[threads],
           wall[0] / wall[threads], processor[0] / longest);
  }
  free(made.bytes);
}

static const struct {
  const char *name;
  made_shape shape;
} lines[] = {
    {"1 processor", {0, 1, 1, 65536, 0, 0, 0}},
    {"1 processor, 1 M events/s", {0, 1, 1, 65536, 0, 0, 1000}},
    {"1 processor, 2,000 stacks", {0, 1, 1, 65536, 2000, 0, 0}},
    {"1 processor, 20,000 stacks", {0, 1, 1, 65536, 20000, 0, 0}},
    {"8 processors", {0, 8, 1, 65536, 0, 0, 0}},
    {"8 processors, 16 events at a time", {0, 8, 16, 65536, 0, 0, 0}},
    {"8 processors, 2,000 stacks", {0, 8, 1, 65536, 2000, 0, 0}},
    {"8 processors, 20,000 stacks", {0, 8, 1, 65536, 20000, 0, 0}},
    {"64 processors", {0, 64, 1, 65536, 0, 0, 0}},
};

int main(int argc, char **argv) {
  size_t bytes = (argc > 1 ? strtoul(argv[1], NULL, 10) : 256) << 20;
  unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 15;
  size_t count = sizeof lines / sizeof *lines, only = argc > 3 ? strtoul(argv[3], NULL, 10) : count;
  if (!(loop = bare_new()))
    exit(9);
  if (only == count)
    puts("| M heap events/s | memcpy | bare, file order | bare, time order | reader | "
         "reader / bare in time order | reader / bare in file order |\n"
         "| --- | --- | --- | --- | --- | --- | --- |");
  for (size_t i = 0; i < count; i++) {
    made_shape shape = lines[i].shape;
    shape.bytes = bytes;
    if (only == i && rounds == 0) { /* nothing but the reader, once */
      made_trace made = make_trace(shape);
      return read_all(&made, 0, 0).rows != made.events;
    }
    if (only == i || only == count)
      line(lines[i].name, shape, rounds);
  }
  if (only >= count)
    packed_lines(bytes / 4, rounds);
  bare_free(loop);
  return 0;
}
