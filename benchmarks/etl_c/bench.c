/* How fast the reader is, beside a bare loop that looks at nothing and a copy of the same bytes.

     cc -std=c11 -O2 -Icsrc -Ibenchmarks/etl_c, the files of this folder, those of csrc/etl,
       csrc/table, csrc/base and the POSIX ones of csrc/host, -lpthread -o bench
     bench [MEGABYTES [ROUNDS]]

   Times are of the processor, not of the clock on the wall: for threads look at both. */
#define _POSIX_C_SOURCE 200809L

#include "columns.h"
#include "etl/layout.h"
#include "etl/stream_inline.h"
#include "made_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static columns batch;

static inline void put_row(const uint8_t *at, int64_t time, uint16_t cpu) {
  size_t row = batch.rows++;
  const uint8_t *payload = at + 0x20;
  batch.time[row] = time;
  batch.cpu[row] = cpu;
  batch.tid[row] = th_load_u32(at + 8);
  batch.pid[row] = th_load_u32(at + 12);
  batch.kind[row] = (uint8_t)(at[6] - 32);
  batch.heap[row] = th_load_u64(payload);
  if (at[6] == 0x21) {
    batch.size[row] = th_load_u64(payload + 8);
    batch.address[row] = th_load_u64(payload + 16);
    batch.source[row] = th_load_u32(payload + 24);
  } else {
    batch.size[row] = 0;
    batch.address[row] = th_load_u64(payload + 8);
    batch.source[row] = th_load_u32(payload + 16);
  }
}

/* The bare loop: file order, no checks, no merge. */
static digest bare(const made_trace *made) {
  digest d = {0, 0};
  for (const uint8_t *buffer = made->bytes + 0x400; buffer < made->bytes + made->size;
       buffer += th_load_u32(buffer)) {
    const uint8_t *end = buffer + th_load_u32(buffer + 0x30);
    uint16_t cpu = th_load_u16(buffer + 0x28);
    for (const uint8_t *at = buffer + 0x48; at < end; at += (th_load_u16(at + 4) + 7u) & ~7u) {
      if (batch.rows == ROWS)
        empty(&batch, &d);
      put_row(at, (int64_t)th_load_u64(at + 16), cpu);
    }
  }
  empty(&batch, &d);
  return d;
}

static digest reader(const made_trace *made, unsigned threads) {
  digest d = {0, 0};
  th_source source = {.memory = made->bytes, .size = made->size};
  th_stream_options options = {.threads = threads};
  th_stream *stream;
  th_failure failure;
  if (th_stream_open(&source, &options, &stream, &failure) != TH_OK)
    exit(3);
  const th_event_ref *refs;
  size_t count;
  int64_t before = INT64_MIN;
  while (th_stream_refs(stream, &refs, &count, &failure) == TH_OK && count) {
    const uint16_t *cpus = th_stream_cpus(stream);
    for (size_t i = 0; i < count; i++) {
      const th_event_ref *ref = &refs[i];
      if (ref->kind != TH_HEADER_SYSTEM64 || ref->size < 0x20 + 20 || ref->at[7] != 0x10 ||
          ref->at[1] != 0)
        continue;
      if (ref->at[6] == 0x21 && ref->size < 0x20 + 28)
        continue;
      if (batch.rows == ROWS)
        empty(&batch, &d);
      put_row(ref->at, ref->time, cpus[ref->leaf]);
      if (ref->time < before)
        exit(4);
      before = ref->time;
    }
  }
  empty(&batch, &d);
  th_stream_close(stream);
  return d;
}

static uint64_t only_next(const made_trace *made, unsigned threads) {
  th_source source = {.memory = made->bytes, .size = made->size};
  th_stream_options options = {.threads = threads};
  th_stream *stream;
  th_failure failure;
  if (th_stream_open(&source, &options, &stream, &failure) != TH_OK)
    exit(3);
  th_event event;
  bool more;
  uint64_t events = 0;
  while (th_stream_next(stream, &event, &more, &failure) == TH_OK && more)
    events += event.hook >> 8 == 0x10;
  th_stream_close(stream);
  return events;
}

static void check(digest d, uint64_t events) {
  if (d.rows != events) {
    printf("wrong: %llu rows of %llu\n", (unsigned long long)d.rows, (unsigned long long)events);
    exit(5);
  }
}

static void report(const char *what, double seconds, const made_trace *made, size_t bytes) {
  printf("%-28s %7.1f M events/s %8.0f MB/s\n", what, (double)made->events / seconds / 1e6,
         (double)bytes / seconds / 1e6);
}

#define BEST(var, expression)                                                                      \
  for (unsigned round = 0; round < rounds; round++) {                                              \
    double start = now();                                                                          \
    expression;                                                                                    \
    double took = now() - start;                                                                   \
    var = !round || took < var ? took : var;                                                       \
  }

int main(int argc, char **argv) {
  size_t megabytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 256;
  unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 5;
  made_trace made = make_trace(megabytes << 20, 8, 65536, 0);
  fprintf(stderr, "%llu events\n", (unsigned long long)made.events);
  double copy = 0, loop = 0, read = 0, next = 0;
  uint8_t *target = malloc(made.size);
  memset(target, 1, made.size);
  BEST(copy, memcpy(target, made.bytes, made.size));
  if (target[made.size / 2] != made.bytes[made.size / 2])
    return 1;
  free(target);
  BEST(loop, check(bare(&made), made.events));
  BEST(read, check(reader(&made, 0), made.events));
  BEST(next, check((digest){only_next(&made, 0), 0}, made.events));
  report("memcpy", copy, &made, made.size);
  report("bare loop", loop, &made, made.size);
  report("reader into columns", read, &made, made.size);
  report("th_stream_next", next, &made, made.size);
  if (argc > 3)
    return 0;
  printf("reader / bare loop: %.2f\n", loop / read);
  free(made.bytes);

  made = make_trace(megabytes << 18, 8, 65536, 1);
  fprintf(stderr, "%llu events\n", (unsigned long long)made.events);
  size_t expanded = 0;
  for (const uint8_t *at = made.bytes; at < made.bytes + made.size; at += th_load_u32(at))
    expanded += th_load_u32(at + 4);
  for (unsigned threads = 0; threads < 3; threads++) {
    char what[40];
    BEST(read, check(reader(&made, threads), made.events));
    snprintf(what, sizeof what, "packed, %u threads ahead", threads);
    report(what, read, &made, expanded);
  }
  free(made.bytes);
  return 0;
}
