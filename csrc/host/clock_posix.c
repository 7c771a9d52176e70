#define _POSIX_C_SOURCE 200809L

#include "host/host.h"

#include <errno.h>
#include <time.h>

uint64_t th_host_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

uint64_t th_host_file_time(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  /* 11,644,473,600 seconds lie between 1601 and 1970. */
  return ((uint64_t)now.tv_sec + UINT64_C(11644473600)) * 10000000u + (uint64_t)now.tv_nsec / 100u;
}

void th_host_sleep_ns(uint64_t duration) {
  struct timespec left = {.tv_sec = (time_t)(duration / UINT64_C(1000000000)),
                          .tv_nsec = (long)(duration % UINT64_C(1000000000))};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}
