#include "heap/feeder.h"

void th_feeder_begin(th_feeder *feeder, th_analysis *analysis, bool threaded) {
  *feeder = (th_feeder){.analysis = analysis, .wanted = threaded};
}

/* Enters a batch and gives it up; a failure stays, and is that of every later batch. */
static void enter(th_feeder *feeder, th_heap_batch *batch, th_failure *failure) {
  if (th_analysis_add(feeder->analysis, batch, failure) == TH_OK)
    failure->status = TH_OK;
  th_heap_batch_free(batch);
}

static void body(void *argument) {
  th_feeder *feeder = argument;
  th_failure failure = {0};
  th_mutex_lock(&feeder->mutex);
  for (;;) {
    while (!feeder->count && !feeder->ending)
      th_condition_wait(&feeder->filled, &feeder->mutex);
    if (!feeder->count)
      break;
    th_heap_batch batch = feeder->batches[feeder->first];
    feeder->first = (feeder->first + 1) % TH_FEEDER_BATCHES;
    feeder->count--;
    th_condition_signal(&feeder->emptied);
    th_mutex_unlock(&feeder->mutex);
    enter(feeder, &batch, &failure);
    th_mutex_lock(&feeder->mutex);
    feeder->failure = failure;
  }
  th_mutex_unlock(&feeder->mutex);
}

static void destroy(th_feeder *feeder) {
  th_condition_destroy(&feeder->emptied);
  th_condition_destroy(&feeder->filled);
  th_mutex_destroy(&feeder->mutex);
}

/* False: the system has no room for it. */
static bool start(th_feeder *feeder) {
  if (!th_mutex_init(&feeder->mutex))
    return false;
  if (!th_condition_init(&feeder->filled)) {
    th_mutex_destroy(&feeder->mutex);
    return false;
  }
  if (!th_condition_init(&feeder->emptied)) {
    th_condition_destroy(&feeder->filled);
    th_mutex_destroy(&feeder->mutex);
    return false;
  }
  if (th_thread_start(&feeder->thread, body, feeder))
    return true;
  destroy(feeder);
  return false;
}

th_status th_feeder_put(th_feeder *feeder, th_heap_batch *batch, th_failure *failure) {
  if (feeder->wanted && feeder->begun) {
    feeder->wanted = false;
    feeder->started = start(feeder);
  }
  feeder->begun = true;
  if (!feeder->started) {
    th_status status = th_analysis_add(feeder->analysis, batch, failure);
    th_heap_batch_free(batch);
    return status;
  }
  th_mutex_lock(&feeder->mutex);
  while (feeder->count == TH_FEEDER_BATCHES)
    th_condition_wait(&feeder->emptied, &feeder->mutex);
  feeder->batches[(feeder->first + feeder->count) % TH_FEEDER_BATCHES] = *batch;
  feeder->count++;
  th_failure found = feeder->failure;
  th_condition_signal(&feeder->filled);
  th_mutex_unlock(&feeder->mutex);
  *batch = (th_heap_batch){0};
  if (found.status)
    *failure = found;
  return found.status;
}

th_status th_feeder_end(th_feeder *feeder, bool drop, th_failure *failure) {
  if (!feeder->started)
    return TH_OK;
  th_mutex_lock(&feeder->mutex);
  feeder->ending = true;
  for (; drop && feeder->count; feeder->count--) {
    th_heap_batch_free(&feeder->batches[feeder->first]);
    feeder->first = (feeder->first + 1) % TH_FEEDER_BATCHES;
  }
  th_condition_signal(&feeder->filled);
  th_mutex_unlock(&feeder->mutex);
  th_thread_join(&feeder->thread);
  feeder->started = false;
  destroy(feeder);
  if (feeder->failure.status)
    *failure = feeder->failure;
  return feeder->failure.status;
}
