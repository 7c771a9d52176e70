/* Runs the ledger over arrays of events and writes its result as JSON: for tests through ctypes,
   where no trace and no Python extension is in between. */
#include "heap/result.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct text {
  char *bytes;
  size_t count, room;
} text;

static void say(text *text, const char *format, ...) {
  for (;;) {
    va_list arguments;
    va_start(arguments, format);
    int wrote = vsnprintf(text->bytes + text->count, text->room - text->count, format, arguments);
    va_end(arguments);
    if ((size_t)wrote < text->room - text->count) {
      text->count += (size_t)wrote;
      return;
    }
    text->room = (text->room + (size_t)wrote) * 2;
    text->bytes = realloc(text->bytes, text->room);
    if (!text->bytes)
      abort();
  }
}

static void amount(text *text, const char *name, th_amount amount) {
  say(text, "\"%s\":[%" PRIu64 ",%" PRIu64 "],", name, amount.blocks, amount.bytes);
}

static void summary(text *text, const th_summary *figures) {
  amount(text, "live", figures->live);
  amount(text, "at_peak", figures->at_peak);
  amount(text, "allocated", figures->allocated);
  amount(text, "temporary", figures->temporary);
  say(text, "\"growth_bytes\":%" PRId64 ",\"first_ns\":%" PRId64 ",\"last_ns\":%" PRId64
            ",\"age_ns\":%.17g}",
      figures->growth_bytes, figures->first_ns, figures->last_ns, figures->age_ns);
}

static void totals(text *text, const th_totals *totals) {
  say(text, "\"totals\":{");
  amount(text, "allocations", totals->allocations);
  amount(text, "frees", totals->frees);
  amount(text, "adopted", totals->adopted);
  amount(text, "overwritten", totals->overwritten);
  amount(text, "destroyed", totals->destroyed);
  say(text, "\"reallocations\":%" PRIu64 ",\"heaps_created\":%" PRIu64
            ",\"heaps_destroyed\":%" PRIu64 "},",
      totals->reallocations, totals->heaps_created, totals->heaps_destroyed);
}

static void oddities(text *text, const th_oddities *oddities) {
  say(text,
      "\"oddities\":{\"unmatched_frees\":%" PRIu64 ",\"adopted_blocks\":%" PRIu64
      ",\"realloc_repairs\":%" PRIu64 ",\"size_mismatches\":%" PRIu64
      ",\"handle_mismatches\":%" PRIu64 ",\"heaps_reused\":%" PRIu64 ",\"unattributed\":%" PRIu64
      ",\"stack_wanted\":%" PRIu64 ",\"stack_seen\":%" PRIu64 "},",
      oddities->unmatched_frees, oddities->adopted_blocks, oddities->realloc_repairs,
      oddities->size_mismatches, oddities->handle_mismatches, oddities->heaps_reused,
      oddities->unattributed, oddities->stack_wanted, oddities->stack_seen);
}

static void write_result(text *text, const th_result *result) {
  say(text, "{");
  totals(text, &result->totals);
  oddities(text, &result->oddities);
  amount(text, "live", result->live);
  amount(text, "peak", result->peak);
  amount(text, "temporary", result->temporary);
  say(text, "\"peak_ns\":%" PRId64 ",\"events\":%" PRIu64 ",\"sites\":[", result->peak_ns,
      result->events);
  for (size_t i = 0; i < result->sites.count; i++) {
    const th_site_row *row = &result->sites.items[i];
    say(text, "%s{\"stack_id\":%" PRIu32 ",\"instance\":%" PRIu32 ",", i ? "," : "",
        row->stack_id, row->instance);
    summary(text, &row->figures);
  }
  say(text, "],\"heaps\":[");
  for (size_t i = 0; i < result->heaps.count; i++) {
    const th_heap_row *row = &result->heaps.items[i];
    say(text, "%s{\"handle\":%" PRIu64 ",\"instance\":%" PRIu32 ",", i ? "," : "", row->handle,
        row->instance);
    summary(text, &row->figures);
  }
  say(text, "],\"threads\":[");
  for (size_t i = 0; i < result->threads.count; i++) {
    const th_thread_row *row = &result->threads.items[i];
    say(text, "%s{\"tid\":%" PRIu32 ",\"instance\":%" PRIu32 ",", i ? "," : "", row->tid,
        row->instance);
    summary(text, &row->figures);
  }
  say(text, "],\"processes\":[");
  for (size_t i = 0; i < result->processes.count; i++) {
    const th_process_row *row = &result->processes.items[i];
    say(text, "%s{\"pid\":%" PRIu32 ",\"ended\":%s,\"process_first_ns\":%" PRId64
              ",\"end_ns\":%" PRId64 ",\"peak_ns\":%" PRId64 ",",
        i ? "," : "", row->pid, row->ended ? "true" : "false", row->first_ns, row->end_ns,
        row->peak_ns);
    amount(text, "peak", row->peak);
    totals(text, &row->totals);
    summary(text, &row->figures);
  }
  say(text, "],\"sizes\":[");
  for (unsigned i = 0; i < TH_SIZE_CLASSES; i++) {
    say(text, "%s{\"max\":%" PRIu64 ",", i ? "," : "", th_size_class_max(i));
    amount(text, "all", result->sizes[i].all);
    amount(text, "live", result->sizes[i].live);
    say(text, "\"class\":%u}", i);
  }
  say(text, "],\"lifetimes\":[");
  for (unsigned i = 0; i < TH_LIFETIME_CLASSES; i++)
    say(text, "%s[%" PRIu64 ",%" PRIu64 "]", i ? "," : "", result->lifetimes[i].blocks,
        result->lifetimes[i].bytes);
  say(text, "],\"timeline\":[");
  for (size_t i = 0; i < result->timeline.count; i++)
    say(text, "%s[%" PRId64 ",%" PRIu64 ",%" PRIu64 "]", i ? "," : "",
        result->timeline.items[i].time_ns, result->timeline.items[i].running.blocks,
        result->timeline.items[i].running.bytes);
  say(text, "]");
}

static bool write_block(void *context, const th_ledger *ledger, uint32_t block, th_block_end end,
                        int64_t end_ns) {
  text *rows = context;
  say(rows, "%s[%" PRIu64 ",%d,%" PRId64 "]", rows->count ? "," : "",
      *th_block_serial(&ledger->map, block), (int)end, end_ns);
  return true;
}

typedef struct test_run {
  uint64_t rule_ns;
  int64_t duration_ns, end_ns;
  int64_t since_ns, until_ns;
  uint32_t buckets, has_filter;
  const uint32_t *pids, *tids;
  const uint64_t *handles;
  size_t pid_count, tid_count, handle_count;
} test_run;

/* kind 200 ends the process of the row's pid. Returns JSON to be given to test_ledger_free, or
   NULL when there was no memory. */
char *test_ledger(const test_run *run, const th_heap_columns *columns, size_t count);
void test_ledger_free(char *json);

char *test_ledger(const test_run *run, const th_heap_columns *columns, size_t count) {
  th_failure failure = {0};
  th_ledger *ledger = malloc(sizeof *ledger);
  th_result result = {0};
  text text = {.bytes = malloc(1024), .room = 1024};
  struct text rows = {.bytes = malloc(1024), .room = 1024};
  bool done = false;
  rows.bytes[0] = 0;
  th_block_filter filter = TH_BLOCK_FILTER_ALL;
  filter.pids = run->pids;
  filter.pid_count = run->pid_count;
  filter.tids = run->tids;
  filter.tid_count = run->tid_count;
  filter.heaps = run->handles;
  filter.heap_count = run->handle_count;
  filter.since_ns = run->since_ns;
  filter.until_ns = run->until_ns;
  th_ledger_options options = {.rule_ns = run->rule_ns,
                               .buckets = run->buckets,
                               .duration_ns = run->duration_ns,
                               .filter = run->has_filter ? &filter : NULL,
                               .sink = write_block,
                               .sink_context = &rows,
                               .numbered = true};
  if (th_ledger_init(ledger, &options, &failure) != TH_OK)
    goto empty;
  size_t first = 0;
  for (size_t i = 0; i <= count; i++) {
    if (i < count && columns->kind[i] != 200)
      continue;
    if (th_ledger_add(ledger, columns, first, i, &failure) != TH_OK)
      goto done;
    if (i < count && th_ledger_end_process(ledger, columns->pid[i], columns->time_ns[i],
                                           &failure) != TH_OK)
      goto done;
    first = i + 1;
    if (i % 7 == 0) { /* looking at it on the way must not change anything */
      if (th_result_take(ledger, ledger->latest_ns, &result, &failure) != TH_OK)
        goto done;
      th_result_free(&result);
      result = (th_result){0};
    }
  }
  if (th_result_take(ledger, run->end_ns, &result, &failure) != TH_OK)
    goto done;
  write_result(&text, &result);
  say(&text, ",\"ends\":[%s]}", rows.bytes);
  done = true;

done:
  th_ledger_free(ledger);
empty:
  th_result_free(&result);
  free(ledger);
  free(rows.bytes);
  if (done)
    return text.bytes;
  free(text.bytes);
  return NULL;
}

void test_ledger_free(char *json) { free(json); }
