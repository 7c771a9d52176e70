/* Reads one trace and prints what the reader met, as JSON: for tests that look at the reader alone.

     etl_dump [--memory] [--threads N] [--events] FILE

   With --events each event has a line of its own before that. */
#define _POSIX_C_SOURCE 200809L

#include "base/mem.h"
#include "etl/stream.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void print_failure(const th_failure *failure) {
  printf("{\"status\": \"%s\", \"offset\": %" PRIu64 ", \"detail\": \"%s\"}\n",
         th_status_name(failure->status), failure->offset, failure->detail ? failure->detail : "");
}

static void print_logfile(const th_logfile *l) {
  printf("\"os_version\": \"%u.%u\", \"os_build\": %u, \"processors\": %u, \"pointer_size\": %u, ",
         l->os_major, l->os_minor, l->os_build, l->processors, l->pointer_size);
  printf("\"log_file_mode\": %u, \"events_lost\": %u, \"buffers_lost\": %u, \"clock_type\": %u, ",
         l->log_file_mode, l->events_lost, l->buffers_lost, l->clock);
  printf("\"perf_freq\": %" PRIu64 ", \"start_time\": %" PRId64 ", \"end_time\": %" PRId64 ", ",
         l->perf_frequency, l->start_time, l->end_time);
}

static void print_counts(const th_stream_counts *c) {
  printf("\"buffers\": %" PRIu64 ", \"compressed_buffers\": %" PRIu64 ", \"events\": %" PRIu64,
         c->buffers, c->compressed_buffers, c->events);
  printf(", \"buffers_skipped\": %" PRIu64 ", \"bytes_skipped\": %" PRIu64, c->buffers_skipped,
         c->bytes_skipped);
  printf(", \"bad_events\": %" PRIu64 ", \"unknown_headers\": %" PRIu64, c->bad_events,
         c->unknown_headers);
  printf(", \"sequence_gaps\": %" PRIu64 ", \"unordered_streams\": %" PRIu64, c->sequence_gaps,
         c->unordered_streams);
  printf(", \"reordered\": %" PRIu64 ", \"lost_flags\": %" PRIu64 ", \"bytes_read\": %" PRIu64,
         c->reordered, c->flagged_loss, c->bytes_read);
  printf(", \"truncated\": %s, \"events_by_header\": {", c->truncated ? "true" : "false");
  const char *comma = "";
  for (unsigned kind = 0; kind < TH_HEADER_KINDS; kind++)
    if (c->events_by_kind[kind]) {
      printf("%s\"%s\": %" PRIu64, comma, th_header_kind_name(kind), c->events_by_kind[kind]);
      comma = ", ";
    }
  printf("}");
}

/* FNV-1a over everything that an event says, its payload's bytes included. */
static uint64_t mix(uint64_t hash, const void *bytes, size_t size) {
  for (size_t i = 0; i < size; i++)
    hash = (hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
  return hash;
}

static uint64_t mix_event(uint64_t hash, const th_event *e) {
  uint64_t words[] = {(uint64_t)e->time, e->pid,    e->tid,     e->hook,   e->size,
                      e->extended_size,  e->cpu,    e->logger,  e->id,     e->version,
                      e->kind,           e->opcode, e->level,   e->offset, e->pointer_size};
  hash = mix(hash, words, sizeof words);
  hash = mix(hash, e->payload, e->size);
  hash = mix(hash, e->extended, e->extended_size);
  return e->guid ? mix(hash, e->guid, 16) : hash;
}

static void print_id(const char *name, uint32_t id) {
  if (id == UINT32_MAX)
    printf(", \"%s\": null", name);
  else
    printf(", \"%s\": %u", name, id);
}

static void print_event(const th_event *e) {
  printf("{\"header\": \"%s\", \"time\": %" PRId64 ", \"offset\": %" PRIu64
         ", \"cpu\": %u, \"logger\": %u, \"pointer_size\": %u, \"op\": %u, \"version\": %u",
         th_header_kind_name(e->kind), e->time, e->offset, e->cpu, e->logger, e->pointer_size,
         e->opcode, e->version);
  print_id("pid", e->pid);
  print_id("tid", e->tid);
  print_id("hook", e->hook);
  printf(", \"extended_size\": %u, \"payload\": \"", e->extended_size);
  for (uint32_t i = 0; i < e->size; i++)
    printf("%02x", e->payload[i]);
  printf("\"}\n");
}

static int run(const th_source *source, unsigned threads, bool events) {
  static uint64_t hooks[65536];
  th_stream *stream;
  th_failure failure = {0};
  th_stream_options options = {.threads = threads};
  if (th_stream_open(source, &options, &stream, &failure) != TH_OK) {
    print_failure(&failure);
    return 3;
  }
  uint64_t hash = UINT64_C(0xcbf29ce484222325), inversions = 0;
  int64_t before = INT64_MIN;
  th_event event;
  bool more = true;
  while (th_stream_next(stream, &event, &more, &failure) == TH_OK && more) {
    bool kernel = event.kind <= TH_HEADER_COMPACT64 || event.kind == TH_HEADER_PERFINFO32 ||
                  event.kind == TH_HEADER_PERFINFO64;
    if (kernel)
      hooks[event.hook & 0xffff]++;
    inversions += event.time < before;
    before = event.time;
    hash = mix_event(hash, &event);
    if (events)
      print_event(&event);
  }
  if (failure.status != TH_OK) {
    print_failure(&failure);
    th_stream_close(stream);
    return 3;
  }
  printf("{\"status\": \"OK\", ");
  print_logfile(th_stream_logfile(stream));
  print_counts(th_stream_counters(stream));
  printf(", \"events_by_hook\": {");
  const char *comma = "";
  for (unsigned hook = 0; hook < 65536; hook++)
    if (hooks[hook]) {
      printf("%s\"%04x\": %" PRIu64, comma, hook, hooks[hook]);
      comma = ", ";
    }
  printf("}, \"inversions\": %" PRIu64 ", \"hash\": \"%016" PRIx64 "\"}\n", inversions, hash);
  th_stream_close(stream);
  return 0;
}

int main(int argc, char **argv) {
  bool in_memory = false, events = false;
  unsigned threads = 0;
  const char *path = NULL;
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--memory"))
      in_memory = true;
    else if (!strcmp(argv[i], "--events"))
      events = true;
    else if (!strcmp(argv[i], "--threads") && i + 1 < argc)
      threads = (unsigned)strtoul(argv[++i], NULL, 10);
    else
      path = argv[i];
  }
  int file = path ? open(path, O_RDONLY) : -1;
  th_source source = {.file = file};
  if (file < 0 || th_file_size(file, &source.size)) {
    fprintf(stderr, "usage: etl_dump [--memory] [--threads N] [--events] FILE\n");
    return 2;
  }
  uint8_t *bytes = NULL;
  if (in_memory) {
    size_t got;
    bytes = malloc(source.size ? source.size : 1);
    if (!bytes || th_file_read(file, 0, bytes, source.size, &got) || got != source.size)
      return 2;
    source.memory = bytes;
  }
  int code = run(&source, threads, events);
  free(bytes);
  close(file);
  return code;
}
