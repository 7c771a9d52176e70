#include "host/host.h"

#include <windows.h>

uint64_t th_host_now_ns(void) {
  LARGE_INTEGER now, frequency;
  QueryPerformanceCounter(&now);
  QueryPerformanceFrequency(&frequency);
  uint64_t ticks = (uint64_t)now.QuadPart, per_second = (uint64_t)frequency.QuadPart;
  return ticks / per_second * UINT64_C(1000000000) +
         ticks % per_second * UINT64_C(1000000000) / per_second;
}

uint64_t th_host_file_time(void) {
  FILETIME now;
  GetSystemTimeAsFileTime(&now);
  return (uint64_t)now.dwHighDateTime << 32 | now.dwLowDateTime;
}

void th_host_sleep_ns(uint64_t duration) {
  /* Sleep counts whole milliseconds: round up, a back-off must not become a busy loop. */
  uint64_t milliseconds = (duration + 999999u) / 1000000u;
  Sleep(milliseconds < INFINITE ? (DWORD)milliseconds : INFINITE - 1);
}
