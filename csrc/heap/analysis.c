#include "heap/analysis.h"

struct th_analysis {
  th_ledger ledger;
  bool failed;
};

th_status th_analysis_new(const th_ledger_options *options, th_analysis **analysis,
                          th_failure *failure) {
  th_analysis *made = th_mem_zero(sizeof *made);
  if (!made)
    return th_fail_memory(failure);
  th_status status = th_ledger_init(&made->ledger, options, failure);
  if (status) {
    th_mem_free(made);
    return status;
  }
  *analysis = made;
  return TH_OK;
}

void th_analysis_free(th_analysis *analysis) {
  if (!analysis)
    return;
  th_ledger_free(&analysis->ledger);
  th_mem_free(analysis);
}

static th_heap_columns columns_of(const th_table *rows) {
  return (th_heap_columns){
      .time_ns = TH_COLUMN(rows, TH_HEAP_EVENT_TIME_NS, const int64_t),
      .pid = TH_COLUMN(rows, TH_HEAP_EVENT_PID, const uint32_t),
      .tid = TH_COLUMN(rows, TH_HEAP_EVENT_TID, const uint32_t),
      .stack_id = TH_COLUMN(rows, TH_HEAP_EVENT_STACK_ID, const uint32_t),
      .kind = TH_COLUMN(rows, TH_HEAP_EVENT_KIND, const uint8_t),
      .heap = TH_COLUMN(rows, TH_HEAP_EVENT_HEAP, const uint64_t),
      .address = TH_COLUMN(rows, TH_HEAP_EVENT_ADDRESS, const uint64_t),
      .size = TH_COLUMN(rows, TH_HEAP_EVENT_SIZE, const uint64_t),
      .old_address = TH_COLUMN(rows, TH_HEAP_EVENT_OLD_ADDRESS, const uint64_t),
      .old_size = TH_COLUMN(rows, TH_HEAP_EVENT_OLD_SIZE, const uint64_t)};
}

static th_status add(th_ledger *ledger, const th_heap_batch *batch, th_failure *failure) {
  th_heap_columns columns = columns_of(batch->rows);
  size_t row = 0;
  th_status status = TH_OK;
  for (size_t i = 0; i < batch->marks.count && !status; i++) {
    const th_process_mark *mark = &batch->marks.items[i];
    size_t until = mark->row < batch->rows->count ? mark->row : batch->rows->count;
    if (until > row) {
      status = th_ledger_add(ledger, &columns, row, until, failure);
      row = until;
    }
    /* A start means that an older process of the pid has ended, seen or not. */
    if (!status)
      status = th_ledger_end_process(ledger, mark->pid, mark->time_ns, failure);
  }
  return status ? status : th_ledger_add(ledger, &columns, row, batch->rows->count, failure);
}

th_status th_analysis_add(th_analysis *analysis, const th_heap_batch *batch, th_failure *failure) {
  if (analysis->failed)
    return th_fail_memory(failure);
  th_status status = add(&analysis->ledger, batch, failure);
  analysis->failed = status != TH_OK;
  return status;
}

th_status th_analysis_result(const th_analysis *analysis, int64_t end_ns, th_result *result,
                             th_failure *failure) {
  if (analysis->failed)
    return th_fail_memory(failure);
  if (end_ns < analysis->ledger.latest_ns)
    end_ns = analysis->ledger.latest_ns;
  return th_result_take(&analysis->ledger, end_ns, result, failure);
}

const th_ledger *th_analysis_ledger(const th_analysis *analysis) { return &analysis->ledger; }
