#define _GNU_SOURCE /* sched_getaffinity, pread with 64-bit offsets */
#define _FILE_OFFSET_BITS 64

#include "host/host.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sched.h>
#endif

static_assert(sizeof(pthread_mutex_t) <= sizeof(th_mutex), "th_mutex is too small");
static_assert(sizeof(pthread_cond_t) <= sizeof(th_condition), "th_condition is too small");
static_assert(sizeof(pthread_t) + 2 * sizeof(void *) <= sizeof(th_thread), "th_thread is too small");

bool th_mutex_init(th_mutex *mutex) {
  return pthread_mutex_init((pthread_mutex_t *)mutex->opaque, NULL) == 0;
}
void th_mutex_lock(th_mutex *mutex) { pthread_mutex_lock((pthread_mutex_t *)mutex->opaque); }
void th_mutex_unlock(th_mutex *mutex) { pthread_mutex_unlock((pthread_mutex_t *)mutex->opaque); }
void th_mutex_destroy(th_mutex *mutex) { pthread_mutex_destroy((pthread_mutex_t *)mutex->opaque); }

bool th_condition_init(th_condition *condition) {
  return pthread_cond_init((pthread_cond_t *)condition->opaque, NULL) == 0;
}
void th_condition_wait(th_condition *condition, th_mutex *mutex) {
  pthread_cond_wait((pthread_cond_t *)condition->opaque, (pthread_mutex_t *)mutex->opaque);
}
void th_condition_wait_ns(th_condition *condition, th_mutex *mutex, uint64_t duration) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  uint64_t nanoseconds = (uint64_t)until.tv_nsec + duration % UINT64_C(1000000000);
  until.tv_sec += (time_t)(duration / UINT64_C(1000000000) + nanoseconds / UINT64_C(1000000000));
  until.tv_nsec = (long)(nanoseconds % UINT64_C(1000000000));
  pthread_cond_timedwait((pthread_cond_t *)condition->opaque, (pthread_mutex_t *)mutex->opaque,
                         &until);
}
void th_condition_signal(th_condition *condition) {
  pthread_cond_signal((pthread_cond_t *)condition->opaque);
}
void th_condition_broadcast(th_condition *condition) {
  pthread_cond_broadcast((pthread_cond_t *)condition->opaque);
}
void th_condition_destroy(th_condition *condition) {
  pthread_cond_destroy((pthread_cond_t *)condition->opaque);
}

typedef struct started {
  pthread_t thread;
  th_thread_body body;
  void *argument;
} started;

static void *run(void *argument) {
  started *thread = argument;
  thread->body(thread->argument);
  return NULL;
}

bool th_thread_start(th_thread *thread, th_thread_body body, void *argument) {
  started *state = (started *)thread->opaque;
  state->body = body;
  state->argument = argument;
  return pthread_create(&state->thread, NULL, run, state) == 0;
}
void th_thread_join(th_thread *thread) { pthread_join(((started *)thread->opaque)->thread, NULL); }
void th_thread_detach(th_thread *thread) { pthread_detach(((started *)thread->opaque)->thread); }

unsigned th_host_processors(void) {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return (unsigned)CPU_COUNT(&set);
#endif
  long count = sysconf(_SC_NPROCESSORS_ONLN);
  return count > 0 ? (unsigned)count : 1;
}

uint32_t th_file_read(th_file file, uint64_t offset, void *buffer, size_t size, size_t *read) {
  size_t done = 0;
  while (done < size) {
    ssize_t got = pread((int)file, (char *)buffer + done, size - done, (off_t)(offset + done));
    if (got < 0) {
      if (errno == EINTR)
        continue;
      return (uint32_t)errno;
    }
    if (got == 0)
      break;
    done += (size_t)got;
  }
  *read = done;
  return 0;
}

uint32_t th_file_size(th_file file, uint64_t *size) {
  struct stat status;
  if (fstat((int)file, &status) != 0)
    return (uint32_t)errno;
  *size = (uint64_t)status.st_size;
  return 0;
}
