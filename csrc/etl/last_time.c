#include "etl/last_time.h"

#include "etl/layout.h"
#include "etl/run.h"

/* The lane's last buffer that has room for an event, or TH_NO_ENTRY. */
static uint32_t last_entry(const th_index *index, uint32_t first) {
  uint32_t found = TH_NO_ENTRY;
  for (uint32_t at = first; at != TH_NO_ENTRY; at = index->entries.items[at].next)
    if (index->entries.items[at].end > TH_BUFFER_HEAD)
      found = at;
  return found;
}

/* The latest of the run's events, or `latest`. False: no memory. */
static TH_NODISCARD bool latest_of(th_run *run, int64_t zero, int64_t *latest) {
  th_stream_counts unused = {0}; /* the pass itself will count them */
  if (!th_run_start(run, zero))
    return false;
  while (!run->done) {
    th_run_walk(run, TH_RUN_STRETCH, &unused);
    for (; run->at < run->events.count; run->at++)
      if (run->events.items[run->at].time > *latest)
        *latest = run->events.items[run->at].time;
  }
  return true;
}

th_status th_last_time(const th_source *source, const th_index *index, unsigned format,
                       int64_t zero, int64_t *last, th_failure *failure) {
  int64_t latest = zero;
  th_buffer_tools tools = {0};
  th_status status = TH_OK;
  th_run *run = th_mem_zero(sizeof *run);
  if (!run)
    return th_fail_memory(failure);
  for (size_t lane = 0; lane < index->lanes.count; lane++) {
    uint32_t entry = last_entry(index, index->lanes.items[lane].first);
    if (entry == TH_NO_ENTRY)
      continue;
    status = th_buffer_read(source, &index->entries.items[entry], format, &tools, &run->buffer,
                            failure);
    if (status == TH_OK && run->buffer.state == TH_BUFFER_READY && !latest_of(run, zero, &latest))
      status = th_fail_memory(failure);
    if (status != TH_OK)
      goto done;
  }
  *last = latest;
done:
  th_run_free(run);
  th_buffer_tools_free(&tools);
  return status;
}
