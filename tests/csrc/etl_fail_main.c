/* Every allocation of reading a trace failing in turn. Linked in place of base/mem.c.

     etl_fail_main THREADS FILE...

   For each file and each n: the n-th allocation fails once; what reads the trace is asked again and
   must then give the same events; or it and all after it fail, and everything must be given back.
   Prints the number of allocations tried, or what went wrong. */
#include "etl/stream.h"

#include "failing_mem.h"

#include <inttypes.h>
#include <stdio.h>

static void die(const char *why, const char *file, long nth) {
  printf("%s: %s at allocation %ld\n", file, why, nth);
  exit(1);
}

typedef struct outcome {
  th_status status;
  uint64_t hash, events;
} outcome;

static uint64_t mix(uint64_t hash, const th_event *event) {
  hash = (hash ^ (uint64_t)event->time) * UINT64_C(0x9e3779b97f4a7c15);
  hash = (hash ^ event->offset) * UINT64_C(0x9e3779b97f4a7c15);
  hash = (hash ^ event->size) * UINT64_C(0x9e3779b97f4a7c15);
  for (uint32_t i = 0; i < event->size; i++)
    hash = (hash ^ event->payload[i]) * UINT64_C(0x100000001b3);
  return hash;
}

/* Reads all of it; asks again up to `patience` times. */
static outcome read_all(const th_source *source, unsigned threads, int patience) {
  outcome met = {TH_OK, 0, 0};
  th_stream_options options = {.threads = threads};
  th_stream *stream;
  th_failure failure;
  while ((met.status = th_stream_open(source, &options, &stream, &failure)) != TH_OK)
    if (patience-- == 0)
      return met;
  bool more = true;
  while (more) {
    th_event event;
    met.status = th_stream_next(stream, &event, &more, &failure);
    if (met.status != TH_OK) {
      if (patience-- == 0)
        break;
      continue;
    }
    if (more) {
      met.hash = mix(met.hash, &event);
      met.events++;
    }
  }
  const th_stream_counts *c = th_stream_counters(stream);
  met.hash ^= c->events + 3 * c->bad_events + 7 * c->bytes_skipped + 31 * c->buffers_skipped;
  th_stream_close(stream);
  return met;
}

static long try_file(const char *path, const th_source *source, unsigned threads) {
  atomic_store(&until, 0);
  atomic_store(&for_ever, false);
  long before = atomic_load(&asked);
  outcome sound = read_all(source, threads, 0);
  long allocations = atomic_load(&asked) - before;
  for (long nth = 1; nth <= allocations; nth++) {
    for (int ever = 0; ever < 2; ever++) {
      atomic_store(&until, nth);
      atomic_store(&for_ever, ever);
      outcome met = read_all(source, threads, ever ? 0 : 1);
      atomic_store(&until, 0);
      atomic_store(&for_ever, false);
      if (atomic_load(&live))
        die("memory is kept", path, nth);
      if (met.status != TH_OK && met.status != TH_NO_MEMORY && met.status != sound.status)
        die("another failure than that of memory", path, nth);
      if (!ever && (met.status != sound.status || met.hash != sound.hash))
        die("asked again, it gives something else", path, nth);
    }
  }
  return allocations;
}

static uint8_t *load(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file)
    die("cannot be opened", path, 0);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  uint8_t *bytes = malloc(*size ? *size : 1);
  if (!bytes || fread(bytes, 1, *size, file) != *size)
    die("cannot be read", path, 0);
  fclose(file);
  return bytes;
}

static th_status from_memory(void *context, uint64_t offset, void *buffer, size_t size,
                             size_t *read, th_failure *failure) {
  (void)failure;
  for (size_t i = 0; i < size; i++)
    ((uint8_t *)buffer)[i] = ((const uint8_t *)context)[offset + i];
  *read = size;
  return TH_OK;
}

int main(int argc, char **argv) {
  unsigned threads = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
  long tried = 0;
  for (int i = 2; i < argc; i++) {
    size_t size;
    uint8_t *bytes = load(argv[i], &size);
    th_source memory = {.memory = bytes, .size = size};
    th_source reader = {.reader = from_memory, .context = bytes, .size = size};
    tried += try_file(argv[i], &memory, threads);
    tried += try_file(argv[i], &reader, threads);
    free(bytes);
  }
  printf("%ld allocations\n", tried);
  return 0;
}
