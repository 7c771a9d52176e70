/* What every system has, behind one header: clock, sleep, threads, locks, positioned reads.
   `clock_*.c` are files of their own so that a test build can link a clock that is turned by hand:
   every deadline and back-off of this project goes through it. */
#ifndef TH_HOST_HOST_H
#define TH_HOST_HOST_H

#include "base/compiler.h"

/* --- clock ------------------------------------------------------------------------------- */

/* Nanoseconds of a clock that never goes back; its zero means nothing. */
uint64_t th_host_now_ns(void);
/* 100 ns units since 1601-01-01 UTC, as Windows counts file times. */
uint64_t th_host_file_time(void);
void th_host_sleep_ns(uint64_t duration);

/* --- locks and threads ------------------------------------------------------------------- */

/* Big enough for the lock of every system (checked where it is made). */
typedef struct th_mutex {
  uint64_t opaque[8];
} th_mutex;

typedef struct th_condition {
  uint64_t opaque[8];
} th_condition;

typedef struct th_thread {
  uint64_t opaque[4];
} th_thread;

typedef void (*th_thread_body)(void *argument);

/* False when the system has no room for another; then there is nothing to destroy. */
TH_NODISCARD bool th_mutex_init(th_mutex *mutex);
void th_mutex_lock(th_mutex *mutex);
void th_mutex_unlock(th_mutex *mutex);
void th_mutex_destroy(th_mutex *mutex);

TH_NODISCARD bool th_condition_init(th_condition *condition);
void th_condition_wait(th_condition *condition, th_mutex *mutex);
/* Waits at most `duration` of real time; may wake early: test what you wait for. */
void th_condition_wait_ns(th_condition *condition, th_mutex *mutex, uint64_t duration);
void th_condition_signal(th_condition *condition);
void th_condition_broadcast(th_condition *condition);
void th_condition_destroy(th_condition *condition);

/* False when no thread could be started. `thread` must stay in place until it is joined. */
TH_NODISCARD bool th_thread_start(th_thread *thread, th_thread_body body, void *argument);
void th_thread_join(th_thread *thread);
/* Leaves the thread to itself: for a worker that is stuck in a call that cannot be ended. */
void th_thread_detach(th_thread *thread);
/* Processors this process may use; at least 1. */
unsigned th_host_processors(void);

/* --- files ------------------------------------------------------------------------------- */

/* An open file: a descriptor on POSIX, a HANDLE on Windows. The caller keeps it open. */
typedef intptr_t th_file;

/* Reads up to `size` bytes at `offset`; fewer only at the end of the file. Several threads may read
   one file at once. Returns 0 and the count in *read, or the system's error code. */
TH_NODISCARD uint32_t th_file_read(th_file file, uint64_t offset, void *buffer, size_t size,
                                   size_t *read);
TH_NODISCARD uint32_t th_file_size(th_file file, uint64_t *size);

#endif
