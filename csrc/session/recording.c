#include "session/recording.h"

#include "base/mem.h"
#include "host/host.h"

struct th_recording {
  th_mutex lock; /* start, update, flush and stop: one at a time */
  th_session *heap, *companion;
  uint32_t mode, clock;
  th_targets targets;
  TH_VEC(uint32_t) pids; /* of the plan, until it is started */
  th_child child;
  size_t live_batches;
  th_live *live;
};

th_status th_recording_new(const th_recording_plan *plan, th_recording **recording,
                           th_failure *failure) {
  const th_properties_request *request = &plan->heap.request;
  th_recording *made = th_mem_zero(sizeof *made);
  th_status status;
  if (!made)
    return th_fail_memory(failure);
  if (!th_mutex_init(&made->lock)) {
    th_mem_free(made);
    return th_fail_memory(failure);
  }
  made->mode = request->mode;
  made->clock = request->clock;
  made->live_batches = plan->live_batches;
  status = th_session_new(&plan->heap, &made->heap, failure);
  if (status == TH_OK && plan->companion)
    status = th_session_new(plan->companion, &made->companion, failure);
  if (status == TH_OK && !th_vec_reserve(&made->pids, request->pid_count + 1))
    status = th_fail_memory(failure);
  if (status != TH_OK) {
    th_recording_free(made);
    return status;
  }
  for (size_t i = 0; i < request->pid_count; i++)
    made->pids.items[made->pids.count++] = request->pids[i];
  *recording = made;
  return TH_OK;
}

static void give_up(th_recording *recording) {
  th_failure ignored;
  /* Once more each, as a session outlives its maker. */
  for (int i = 0; i < 2; i++) {
    if (recording->companion)
      (void)th_session_stop(recording->companion, &ignored);
    (void)th_session_stop(recording->heap, &ignored);
  }
  th_child_drop(&recording->child);
  th_targets_free(&recording->targets);
}

static th_status start_live(th_recording *recording, th_live *live, th_failure *failure) {
  if (!live)
    return TH_OK;
  th_status status = th_live_open(live, th_session_name(recording->heap), failure);
  if (status == TH_OK && recording->companion)
    status = th_live_open(live, th_session_name(recording->companion), failure);
  return status;
}

static th_status start_locked(th_recording *recording, const th_sys_launch *launch,
                              th_failure *failure) {
  th_child *child = &recording->child;
  th_live *live = NULL;
  if (th_session_state_of(recording->heap) != TH_SESSION_NEW)
    return th_fail(failure, TH_INVALID, "a recording starts once; make another");
  if (!launch && recording->pids.count == 0)
    return th_fail(failure, TH_INVALID, "a heap session needs at least one process id");
  th_status status = launch ? th_child_create(child, launch, failure) : TH_OK;
  if (status)
    return status;
  if (launch)
    recording->pids.items[recording->pids.count++] = child->pid;
  status = th_targets_set(&recording->targets, recording->pids.items, recording->pids.count,
                          failure);
  /* Its clock starts before the first event. */
  if (status == TH_OK && recording->live_batches)
    status = th_live_new(recording->clock, recording->live_batches, &live, failure);
  /* The companion first: it must know the modules that the heap events name. */
  if (status == TH_OK && recording->companion)
    status = th_session_start(recording->companion, 0, failure);
  if (status == TH_OK)
    status = th_session_start(recording->heap, child->pid, failure);
  if (status == TH_OK)
    status = start_live(recording, live, failure);
  if (status == TH_OK && launch)
    status = th_child_resume(child, failure);
  if (status) {
    recording->pids.count -= launch != NULL;
    give_up(recording);
    th_live_free(live);
  } else {
    recording->live = live;
  }
  return status;
}

th_status th_recording_start(th_recording *recording, const th_sys_launch *launch,
                             th_failure *failure) {
  th_mutex_lock(&recording->lock);
  th_status status = start_locked(recording, launch, failure);
  th_mutex_unlock(&recording->lock);
  return status;
}

th_status th_recording_update(th_recording *recording, const uint32_t *pids, size_t pid_count,
                              const uint16_t *hooks, size_t hook_count, th_failure *failure) {
  th_targets targets = {{0}};
  th_mutex_lock(&recording->lock);
  th_status status = TH_OK;
  if (th_session_state_of(recording->heap) == TH_SESSION_RUNNING)
    status = th_targets_set(&targets, pids, pid_count, failure);
  if (status == TH_OK)
    status = th_session_update(recording->heap, pids, pid_count, hooks, hook_count, failure);
  if (status == TH_OK) {
    th_targets_free(&recording->targets);
    recording->targets = targets;
  } else {
    th_targets_free(&targets);
  }
  th_mutex_unlock(&recording->lock);
  return status;
}

th_status th_recording_flush(th_recording *recording, th_failure *failure) {
  th_mutex_lock(&recording->lock);
  th_status status = th_session_flush(recording->heap, failure);
  if (status == TH_OK && recording->companion)
    status = th_session_flush(recording->companion, failure);
  th_mutex_unlock(&recording->lock);
  return status;
}

th_status th_recording_query(th_recording *recording, th_session_figures *heap,
                             th_session_figures *companion, bool *has_companion,
                             th_failure *failure) {
  th_session_figures first, second = {0};
  th_status status = th_session_query(recording->heap, &first, failure);
  if (status == TH_OK && recording->companion)
    status = th_session_query(recording->companion, &second, failure);
  if (status)
    return status;
  *heap = first;
  *companion = second;
  *has_companion = recording->companion != NULL;
  return TH_OK;
}

static th_status stop_locked(th_recording *recording, th_failure *failure) {
  th_failure second;
  th_status flushed = TH_OK;
  if (recording->mode & TH_LOG_BUFFERING &&
      th_session_state_of(recording->heap) == TH_SESSION_RUNNING)
    flushed = th_session_flush(recording->heap, failure);
  th_status status = th_session_stop(recording->heap, flushed ? &second : failure);
  th_status other = TH_OK;
  if (recording->companion)
    other = th_session_stop(recording->companion, flushed || status ? &second : failure);
  return flushed ? flushed : status ? status : other;
}

th_status th_recording_stop(th_recording *recording, th_failure *failure) {
  th_mutex_lock(&recording->lock);
  th_status status = stop_locked(recording, failure);
  th_mutex_unlock(&recording->lock);
  return status;
}

th_session_state th_recording_state(th_recording *recording) {
  return th_session_state_of(recording->heap);
}

bool th_recording_targets_gone(th_recording *recording) {
  th_mutex_lock(&recording->lock);
  bool gone = th_targets_gone(&recording->targets);
  th_mutex_unlock(&recording->lock);
  return gone;
}

/* ----- the child: its fields change in start alone, which comes first ------------------------ */

uint32_t th_recording_child_pid(th_recording *recording) { return recording->child.pid; }

static th_status no_child(th_failure *failure) {
  return th_fail(failure, TH_INVALID, "no program was launched for this recording");
}

th_status th_recording_child_wait(th_recording *recording, uint32_t milliseconds, bool *ended,
                                  uint32_t *exit_code, th_failure *failure) {
  return recording->child.pid
             ? th_child_wait(&recording->child, milliseconds, ended, exit_code, failure)
             : no_child(failure);
}

th_status th_recording_child_terminate(th_recording *recording, uint32_t exit_code,
                                       th_failure *failure) {
  return recording->child.pid ? th_child_terminate(&recording->child, exit_code, failure)
                              : no_child(failure);
}

th_live *th_recording_live(th_recording *recording) {
  th_mutex_lock(&recording->lock);
  th_live *live = recording->live;
  th_mutex_unlock(&recording->lock);
  return live;
}

void th_recording_free(th_recording *recording) {
  if (!recording)
    return;
  if (recording->heap)
    give_up(recording);
  th_live_free(recording->live); /* its sessions have been stopped */
  th_session_free(recording->companion);
  th_session_free(recording->heap);
  th_vec_free(&recording->pids);
  th_mutex_destroy(&recording->lock);
  th_mem_free(recording);
}
