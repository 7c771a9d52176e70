/* An analysis fed from a thread of its own: the same figures as without, whatever fails. Linked in
   place of base/mem.c and host/host_posix.c.

     feeder_main same FILE    with a thread, without, with none to be had, given up in the middle
     feeder_main fail FILE    every allocation failing in turn, once and for ever

   Prints what was compared or tried, or what went wrong. */
#if defined(__linux__)
#define _GNU_SOURCE /* as host_posix.c, which is included below */
#endif

#include "heap/feeder.h"

#include "etl/trace.h"

#include "failing_mem.h"

#include <stdio.h>
#include <string.h>

/* The threads of the system, unless they are refused. */
#define th_thread_start real_thread_start
#include "host/host_posix.c"
#undef th_thread_start

static atomic_bool refuse_threads;
static atomic_int threads_begun;

bool th_thread_start(th_thread *thread, th_thread_body function, void *argument) {
  if (atomic_load(&refuse_threads) || !real_thread_start(thread, function, argument))
    return false;
  atomic_fetch_add(&threads_begun, 1);
  return true;
}

static void die(const char *why, long nth) {
  printf("%s (%ld)\n", why, nth);
  exit(1);
}

/* Reads the trace, `most` batches of it, and takes the figures unless something fails. */
static th_status analyze(const th_source *source, bool threaded, size_t most, th_result *result) {
  th_failure failure = {0}, other = {0};
  th_trace *trace = NULL;
  th_analysis *analysis = NULL;
  th_stream_options stream_options = {0};
  th_ledger_options options = {.rule_ns = 1000000, .buckets = 200, .duration_ns = -1};
  th_status status = th_trace_open(source, 1, &stream_options, &trace, &failure);
  if (!status)
    status = th_analysis_new(&options, &analysis, &failure);
  if (status)
    goto done;
  th_feeder feeder;
  th_feeder_begin(&feeder, analysis, threaded);
  bool more = true;
  while (!status && more && most--) {
    th_heap_batch batch = {0};
    status = th_trace_next(trace, &batch, &more, &failure);
    if (!status && more)
      status = th_feeder_put(&feeder, &batch, &failure);
  }
  bool all = !status && !more;
  th_status end = th_feeder_end(&feeder, !all, &other);
  if (!status)
    status = end;
  if (all && !status)
    status = th_analysis_result(analysis, 0, result, &failure);
done:
  th_analysis_free(analysis);
  th_trace_close(trace);
  return status;
}

static bool same(const th_result *a, const th_result *b) {
  return a->events == b->events && !memcmp(&a->totals, &b->totals, sizeof a->totals) &&
         !memcmp(&a->peak, &b->peak, sizeof a->peak) && a->peak_ns == b->peak_ns &&
         !memcmp(&a->live, &b->live, sizeof a->live) && a->sites.count == b->sites.count &&
         !memcmp(a->sites.items, b->sites.items, a->sites.count * sizeof *a->sites.items) &&
         a->timeline.count == b->timeline.count &&
         !memcmp(a->timeline.items, b->timeline.items,
                 a->timeline.count * sizeof *a->timeline.items) &&
         !memcmp(a->sizes, b->sizes, sizeof a->sizes);
}

static void compare(const th_source *source, const th_result *wanted, bool threads, int expected) {
  th_result result;
  atomic_store(&threads_begun, 0);
  atomic_store(&refuse_threads, !threads);
  if (analyze(source, true, SIZE_MAX, &result) != TH_OK)
    die("it failed", threads);
  if (atomic_load(&threads_begun) != expected)
    die("another number of threads", atomic_load(&threads_begun));
  if (!same(&result, wanted))
    die("other figures", threads);
  th_result_free(&result);
  atomic_store(&refuse_threads, false);
}

static long fail_in_turn(const th_source *source, const th_result *wanted, bool ever) {
  long base = atomic_load(&live);
  for (long nth = 1;; nth++) {
    th_result result;
    atomic_store(&for_ever, ever);
    atomic_store(&until, nth);
    th_status status = analyze(source, true, SIZE_MAX, &result);
    bool reached = atomic_load(&until) < 1;
    atomic_store(&for_ever, false);
    atomic_store(&until, 0);
    if (status != TH_OK && status != TH_NO_MEMORY)
      die("another failure", nth);
    if (!status && !same(&result, wanted))
      die("other figures", nth);
    if (!status)
      th_result_free(&result);
    if (atomic_load(&live) != base)
      die("something was kept", nth);
    if (!reached)
      return nth - 1;
  }
}

int main(int count, char **words) {
  if (count != 3)
    return 2;
  FILE *file = fopen(words[2], "rb");
  if (!file || fseek(file, 0, SEEK_END) || ftell(file) <= 0)
    return 2;
  size_t size = (size_t)ftell(file);
  uint8_t *bytes = malloc(size);
  rewind(file);
  if (!bytes || fread(bytes, 1, size, file) != size)
    return 2;
  fclose(file);
  th_source source = {.size = size, .memory = bytes};
  th_result wanted;
  if (analyze(&source, false, SIZE_MAX, &wanted) != TH_OK || wanted.sites.count < 2)
    die("no figures to compare with", 0);
  if (!strcmp(words[1], "same")) {
    long base = atomic_load(&live);
    for (int round = 0; round < 3; round++)
      compare(&source, &wanted, true, 1);
    compare(&source, &wanted, false, 0);
    for (size_t most = 0; most < 6; most++)
      if (analyze(&source, true, most, NULL) != TH_OK || atomic_load(&live) != base)
        die("given up in the middle", (long)most);
    printf("%lu events, all as they should be\n", (unsigned long)wanted.events);
  } else {
    long tried = fail_in_turn(&source, &wanted, false);
    printf("%ld allocations\n", tried + fail_in_turn(&source, &wanted, true));
  }
  th_result_free(&wanted);
  if (atomic_load(&live))
    die("something is left", atomic_load(&live));
  free(bytes);
  return 0;
}
