/* A clock that is turned by hand, and by whoever sleeps. */
#include "host/host.h"

#include "fake_state.h"

/* 2024-01-01 00:00 UTC as a Windows file time, when the clock stands at 0. */
#define START_OF_TIME UINT64_C(133485408000000000)

uint64_t th_host_now_ns(void) {
  fake_lock();
  uint64_t now = fake.now;
  fake_unlock();
  return now;
}

uint64_t th_host_file_time(void) { return START_OF_TIME + th_host_now_ns() / 100u; }

void th_host_sleep_ns(uint64_t duration) {
  fake_lock();
  fake.now += duration;
  fake.sleeps++;
  fake_unlock();
}
