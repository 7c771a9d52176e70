#include "heap/timeline.h"

#define FIRST_WIDTH_NS 1000

int64_t th_timeline_start(const th_timeline *timeline, uint32_t bucket) {
  if (timeline->duration < 0)
    return timeline->width * (int64_t)bucket;
  /* duration * bucket / count without overflow */
  int64_t whole = timeline->duration / timeline->count;
  int64_t rest = timeline->duration % timeline->count;
  return whole * (int64_t)bucket + rest * (int64_t)bucket / timeline->count;
}

static void set_next(th_timeline *timeline) {
  if (timeline->at + 1 < timeline->count)
    timeline->next = th_timeline_start(timeline, timeline->at + 1);
  else if (timeline->duration < 0 && timeline->width <= INT64_MAX / 2 / timeline->count)
    timeline->next = timeline->width * (int64_t)timeline->count;
  else
    timeline->next = INT64_MAX;
}

bool th_timeline_init(th_timeline *timeline, uint32_t count, int64_t duration_ns) {
  th_amount *points = th_mem_zero_array(count, sizeof *points);
  if (!points)
    return false;
  *timeline = (th_timeline){.points = points,
                            .count = count,
                            .duration = duration_ns < 0 ? -1 : duration_ns,
                            .width = FIRST_WIDTH_NS};
  set_next(timeline);
  return true;
}

void th_timeline_free(th_timeline *timeline) {
  th_mem_free(timeline->points);
  timeline->points = NULL;
}

static th_amount larger(th_amount first, th_amount second) {
  return second.bytes > first.bytes ? second : first;
}

/* Joins neighbours; the bucket of the latest event stays the last one that is in use. */
static void halve(th_timeline *timeline) {
  uint32_t used = timeline->at + 1;
  for (uint32_t i = 0; i < used; i += 2) {
    th_amount point = timeline->points[i];
    if (i + 1 < used)
      point = larger(point, timeline->points[i + 1]);
    timeline->points[i / 2] = point;
  }
  for (uint32_t i = (used + 1) / 2; i < used; i++)
    timeline->points[i] = (th_amount){0};
  timeline->at /= 2;
  timeline->width *= 2;
}

void th_timeline_advance(th_timeline *timeline, int64_t time_ns, th_amount running) {
  while (time_ns >= timeline->next && timeline->next != INT64_MAX) {
    if (timeline->at + 1 == timeline->count) {
      halve(timeline);
    } else {
      timeline->at++;
      timeline->points[timeline->at] = running;
    }
    set_next(timeline);
  }
}
