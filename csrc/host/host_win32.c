#include "host/host.h"

#include <windows.h>

#include <assert.h>
#include <process.h>

static_assert(sizeof(SRWLOCK) <= sizeof(th_mutex), "th_mutex is too small");
static_assert(sizeof(CONDITION_VARIABLE) <= sizeof(th_condition), "th_condition is too small");

bool th_mutex_init(th_mutex *mutex) {
  InitializeSRWLock((SRWLOCK *)mutex->opaque);
  return true;
}
void th_mutex_lock(th_mutex *mutex) { AcquireSRWLockExclusive((SRWLOCK *)mutex->opaque); }
void th_mutex_unlock(th_mutex *mutex) { ReleaseSRWLockExclusive((SRWLOCK *)mutex->opaque); }
void th_mutex_destroy(th_mutex *mutex) { (void)mutex; }

bool th_condition_init(th_condition *condition) {
  InitializeConditionVariable((CONDITION_VARIABLE *)condition->opaque);
  return true;
}
void th_condition_wait(th_condition *condition, th_mutex *mutex) {
  SleepConditionVariableSRW((CONDITION_VARIABLE *)condition->opaque, (SRWLOCK *)mutex->opaque,
                            INFINITE, 0);
}
void th_condition_wait_ns(th_condition *condition, th_mutex *mutex, uint64_t duration) {
  uint64_t milliseconds = (duration + 999999u) / 1000000u;
  SleepConditionVariableSRW((CONDITION_VARIABLE *)condition->opaque, (SRWLOCK *)mutex->opaque,
                            milliseconds < INFINITE ? (DWORD)milliseconds : INFINITE - 1, 0);
}
void th_condition_signal(th_condition *condition) {
  WakeConditionVariable((CONDITION_VARIABLE *)condition->opaque);
}
void th_condition_broadcast(th_condition *condition) {
  WakeAllConditionVariable((CONDITION_VARIABLE *)condition->opaque);
}
void th_condition_destroy(th_condition *condition) { (void)condition; }

typedef struct started {
  HANDLE thread;
  th_thread_body body;
  void *argument;
} started;

static_assert(sizeof(started) <= sizeof(th_thread), "th_thread is too small");

static unsigned __stdcall run(void *argument) {
  started *thread = argument;
  thread->body(thread->argument);
  return 0;
}

bool th_thread_start(th_thread *thread, th_thread_body body, void *argument) {
  started *state = (started *)thread->opaque;
  state->body = body;
  state->argument = argument;
  state->thread = (HANDLE)_beginthreadex(NULL, 0, run, state, 0, NULL);
  return state->thread != NULL;
}
void th_thread_join(th_thread *thread) {
  started *state = (started *)thread->opaque;
  WaitForSingleObject(state->thread, INFINITE);
  CloseHandle(state->thread);
}
void th_thread_detach(th_thread *thread) {
  started *state = (started *)thread->opaque;
  CloseHandle(state->thread);
}

unsigned th_host_processors(void) {
  DWORD_PTR process, system;
  unsigned count = 0;
  if (GetProcessAffinityMask(GetCurrentProcess(), &process, &system))
    for (; process; process &= process - 1)
      count++;
  return count ? count : 1;
}

uint32_t th_file_read(th_file file, uint64_t offset, void *buffer, size_t size, size_t *read) {
  size_t done = 0;
  while (done < size) {
    uint64_t at = offset + done;
    size_t left = size - done;
    OVERLAPPED where = {.Offset = (DWORD)at, .OffsetHigh = (DWORD)(at >> 32)};
    DWORD got = 0;
    if (!ReadFile((HANDLE)file, (char *)buffer + done,
                  left < 0x40000000u ? (DWORD)left : 0x40000000u, &got, &where)) {
      DWORD code = GetLastError();
      if (code == ERROR_HANDLE_EOF)
        break;
      return code;
    }
    if (got == 0)
      break;
    done += got;
  }
  *read = done;
  return 0;
}

uint32_t th_file_size(th_file file, uint64_t *size) {
  LARGE_INTEGER value;
  if (!GetFileSizeEx((HANDLE)file, &value))
    return GetLastError();
  *size = (uint64_t)value.QuadPart;
  return 0;
}
