#include "snapshot/deadline.h"

#include "base/mem.h"
#include "host/host.h"

/* Looked at the clock again at least this often. */
#define LONGEST_WAIT_NS UINT64_C(20000000)

struct th_deadline {
  th_refcount references; /* who waits, and who works */
  th_mutex lock;
  th_condition changed;
  th_thread thread;
  const th_deadline_job *job;
  void *state;
  bool done, over;
  th_status status;
  th_failure failure;
};

static void release(th_deadline *deadline) {
  if (!th_refcount_drop(&deadline->references))
    return;
  if (deadline->state)
    deadline->job->drop(deadline->state);
  th_condition_destroy(&deadline->changed);
  th_mutex_destroy(&deadline->lock);
  th_mem_free(deadline);
}

static void work(void *argument) {
  th_deadline *deadline = argument;
  th_failure failure = {0};
  th_status status = deadline->job->run(deadline->state, deadline, &failure);
  th_mutex_lock(&deadline->lock);
  deadline->status = status;
  deadline->failure = failure;
  deadline->done = true;
  th_condition_signal(&deadline->changed);
  th_mutex_unlock(&deadline->lock);
  release(deadline);
}

bool th_deadline_over(th_deadline *deadline) {
  th_mutex_lock(&deadline->lock);
  bool over = deadline->over;
  th_mutex_unlock(&deadline->lock);
  return over;
}

static th_deadline *make(const th_deadline_job *job, void *state) {
  th_deadline *deadline = th_mem_zero(sizeof *deadline);
  if (!deadline)
    return NULL;
  th_refcount_init(&deadline->references);
  deadline->job = job;
  if (!th_mutex_init(&deadline->lock))
    goto no_lock;
  if (!th_condition_init(&deadline->changed))
    goto no_condition;
  th_refcount_take(&deadline->references);
  deadline->state = state;
  if (th_thread_start(&deadline->thread, work, deadline))
    return deadline;
  th_condition_destroy(&deadline->changed);
no_condition:
  th_mutex_destroy(&deadline->lock);
no_lock:
  th_mem_free(deadline);
  return NULL;
}

th_status th_deadline_run(const th_deadline_job *job, void **state, uint32_t pid,
                          uint64_t timeout_ns, th_failure *failure) {
  const uint64_t started = th_host_now_ns();
  th_deadline *deadline = make(job, *state);
  if (!deadline)
    return th_fail_memory(failure);
  th_mutex_lock(&deadline->lock);
  while (!deadline->done) {
    uint64_t spent = th_host_now_ns() - started;
    if (spent >= timeout_ns)
      break;
    uint64_t left = timeout_ns - spent;
    th_condition_wait_ns(&deadline->changed, &deadline->lock,
                         left < LONGEST_WAIT_NS ? left : LONGEST_WAIT_NS);
  }
  const bool done = deadline->done;
  deadline->over = true;
  th_status status = deadline->status;
  if (done) {
    deadline->state = NULL; /* the caller's again */
    if (status != TH_OK)
      *failure = deadline->failure;
  }
  th_mutex_unlock(&deadline->lock);
  if (done) {
    th_thread_join(&deadline->thread);
  } else {
    th_thread_detach(&deadline->thread);
    *state = NULL;
    status = th_fail(failure, TH_TIMEOUT, "the target did not answer before the deadline");
    failure->function = job->function;
    failure->pid = pid;
    failure->has_pid = true;
  }
  release(deadline);
  return status;
}
