#include "etl/run.h"

static bool before(const th_walked *a, const th_walked *b) {
  return a->time != b->time ? a->time < b->time : a->at < b->at;
}

static void sift(th_walked *events, size_t root, size_t count) {
  th_walked moving = events[root];
  size_t child;
  while ((child = 2 * root + 1) < count) {
    if (child + 1 < count && before(&events[child], &events[child + 1]))
      child++;
    if (!before(&moving, &events[child]))
      break;
    events[root] = events[child];
    root = child;
  }
  events[root] = moving;
}

void th_run_sort(th_run *run) {
  th_walked *events = run->events.items;
  size_t count = run->events.count;
  for (size_t root = count / 2; root-- > 0;)
    sift(events, root, count);
  for (size_t last = count; last-- > 1;) {
    th_walked latest = events[0];
    events[0] = events[last];
    events[last] = latest;
    sift(events, 0, last);
  }
}

size_t th_run_held(const th_run *run) {
  return run->buffer.capacity + run->events.capacity * sizeof *run->events.items;
}

void th_run_free(th_run *run) {
  if (!run)
    return;
  th_buffer_free(&run->buffer);
  th_vec_free(&run->events);
  th_mem_free(run);
}
