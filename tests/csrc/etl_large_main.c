/* Reads a trace of any size that nobody has to store: buffers are stamped from one as they are
   asked for. Prints the events and the most memory that was held, in KiB.

     etl_large_main GIGABYTES THREADS */
#define _DEFAULT_SOURCE /* getrusage */

#include "base/cursor.h"
#include "etl/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define FIRST 0x400
#define BUFFER 65536
#define EVENT 64
#define EVENTS ((BUFFER - 0x48) / EVENT)
#define CPUS 64

static uint8_t first[FIRST], model[BUFFER], stamped[BUFFER];

static void put(uint8_t *at, uint64_t value, size_t size) { memcpy(at, &value, size); }

static void put_event(uint8_t *at, unsigned hook, unsigned size) {
  at[0] = 2;
  at[2] = 2;
  at[3] = 0xc0;
  put(at + 4, size, 2);
  put(at + 6, hook, 2);
}

static void make(void) {
  uint8_t *payload = first + 0x48 + 0x20;
  put(first, FIRST, 4);
  put(first + 0x30, 0x48 + 0x20 + 0x118, 4);
  put(first + 0x36, 4, 2);
  put_event(first + 0x48, 0, 0x20 + 0x118);
  put(payload + 0x2c, 8, 4);
  put(payload + 0x100, 10000000, 8);
  put(payload + 0x110, 1, 4);
  put(model, BUFFER, 4);
  put(model + 0x30, 0x48 + EVENTS * EVENT, 4);
  put(model + 0x34, 0x20, 2);
  for (unsigned i = 0; i < EVENTS; i++)
    put_event(model + 0x48 + i * EVENT, 0x1021, 60);
}

/* Buffer `number`, from 0: times of all processors lie between each other. */
static const uint8_t *stamp(uint64_t number) {
  static uint64_t held = UINT64_MAX;
  if (number == held)
    return stamped;
  if (held == UINT64_MAX)
    memcpy(stamped, model, BUFFER);
  held = number;
  uint64_t cpu = number % CPUS, round = number / CPUS;
  put(stamped + 0x18, number + 1, 8);
  put(stamped + 0x28, cpu, 2);
  for (uint64_t i = 0; i < EVENTS; i++)
    put(stamped + 0x48 + i * EVENT + 0x10, (round * EVENTS + i) * CPUS + cpu, 8);
  return stamped;
}

static th_status read_at(void *context, uint64_t offset, void *buffer, size_t size, size_t *read,
                         th_failure *failure) {
  (void)context, (void)failure;
  uint8_t *to = buffer;
  for (size_t left = size; left;) {
    size_t within, room;
    const uint8_t *from;
    if (offset < FIRST) {
      within = (size_t)offset;
      room = FIRST - within;
      from = first;
    } else {
      within = (size_t)((offset - FIRST) % BUFFER);
      room = BUFFER - within;
      from = stamp((offset - FIRST) / BUFFER);
    }
    size_t part = room < left ? room : left;
    memcpy(to, from + within, part);
    to += part;
    offset += part;
    left -= part;
  }
  *read = size;
  return TH_OK;
}

/* KiB. Linux counts in ru_maxrss what the process held that started this one: not so in VmHWM. */
static long most_held(void) {
  FILE *status = fopen("/proc/self/status", "r");
  char line[256];
  long held = -1;
  while (status && fgets(line, sizeof line, status))
    if (strncmp(line, "VmHWM:", 6) == 0)
      held = strtol(line + 6, NULL, 10);
  if (status)
    fclose(status);
  if (held >= 0)
    return held;
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
#if defined(__APPLE__)
  return usage.ru_maxrss / 1024; /* bytes there */
#else
  return usage.ru_maxrss;
#endif
}

int main(int argc, char **argv) {
  uint64_t gigabytes = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  uint64_t buffers = (gigabytes << 30) / BUFFER;
  make();
  th_source source = {.reader = read_at, .size = FIRST + buffers * BUFFER};
  th_stream_options options = {.threads = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0};
  th_stream *stream;
  th_failure failure;
  if (th_stream_open(&source, &options, &stream, &failure) != TH_OK) {
    printf("not opened: %s\n", failure.detail ? failure.detail : "");
    return 1;
  }
  uint64_t events = 0, inversions = 0;
  int64_t before = INT64_MIN;
  th_event event;
  bool more = true;
  while (th_stream_next(stream, &event, &more, &failure) == TH_OK && more) {
    events += event.hook == 0x1021;
    inversions += event.time < before;
    before = event.time;
  }
  th_stream_close(stream);
  long held = most_held();
  bool right = events == buffers * EVENTS && !inversions;
  printf("%s %llu events, %ld KiB\n", right ? "right:" : "wrong:", (unsigned long long)events,
         held);
  return !right;
}
