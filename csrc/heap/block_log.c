#include "heap/block_log.h"

#define FIRST_ROWS 4096

const char *const th_block_end_names[TH_BLOCK_ENDS + 1] = {
    "live", "free", "realloc", "destroy", "overwritten", "exit", NULL};

const th_schema th_block_schema = {
    .name = "Block",
    .doc = "One heap block: an allocation paired with what ended it.",
    .field_count = 9,
    .fields =
        {
            {"pid", TH_TYPE_U32, false, "process", NULL},
            {"heap", TH_TYPE_U64, false, "handle of the heap", NULL},
            {"address", TH_TYPE_U64, false, "where it was", NULL},
            {"size", TH_TYPE_U64, false, "bytes asked for, by the last reallocation in place",
             NULL},
            {"tid", TH_TYPE_U32, false, "thread that allocated it", NULL},
            {"birth_ns", TH_TYPE_I64, false,
             "nanoseconds from the trace's start to its allocation; to the first event that "
             "names it, for a block older than the trace",
             NULL},
            {"death_ns", TH_TYPE_I64, true, "the same of its end; None: live at the end", NULL},
            {"end", TH_TYPE_LABEL, false, "how it ended", th_block_end_names},
            {"stack_id", TH_TYPE_U32, true, "number of the stack that allocated it", NULL},
        },
};

bool th_block_log_sink(void *context, const th_ledger *ledger, uint32_t block_index,
                       th_block_end end, int64_t end_ns) {
  th_block_log *log = context;
  const th_block *block = th_block_at(&ledger->map, block_index);
  const th_owner *owner = &ledger->owners.owners.items[block->owner];
  uint32_t stack = th_site_at(&ledger->sites, block->site)->stack_id;
  uint64_t lifetime = 0;
  size_t row;
  if (end_ns > block->birth_ns)
    lifetime = (uint64_t)end_ns - (uint64_t)block->birth_ns;
  if (log->filter && !th_filter_end(log->filter, block->size, lifetime))
    return true;
  if (!log->rows && !(log->rows = th_table_new(&th_block_schema, FIRST_ROWS, NULL)))
    return false;
  th_table *rows = log->rows;
  if (!th_table_add(rows, &row))
    return false;
  TH_COLUMN(rows, TH_BLOCK_PID, uint32_t)[row] =
      ledger->owners.instances.items[owner->instance].pid;
  TH_COLUMN(rows, TH_BLOCK_HEAP, uint64_t)[row] = owner->handle;
  TH_COLUMN(rows, TH_BLOCK_ADDRESS, uint64_t)[row] = block->address;
  TH_COLUMN(rows, TH_BLOCK_SIZE, uint64_t)[row] = block->size;
  TH_COLUMN(rows, TH_BLOCK_TID, uint32_t)[row] = ledger->owners.threads.items[owner->thread].tid;
  TH_COLUMN(rows, TH_BLOCK_BIRTH_NS, int64_t)[row] = block->birth_ns;
  TH_COLUMN(rows, TH_BLOCK_END, uint8_t)[row] = (uint8_t)end;
  TH_COLUMN(rows, TH_BLOCK_STACK_ID, uint32_t)[row] = stack == TH_NO_STACK ? 0 : stack;
  TH_COLUMN(rows, TH_BLOCK_DEATH_NS, int64_t)[row] = end == TH_END_LIVE ? 0 : end_ns;
  return (stack != TH_NO_STACK || th_table_set_missing(rows, TH_BLOCK_STACK_ID, row)) &&
         (end != TH_END_LIVE || th_table_set_missing(rows, TH_BLOCK_DEATH_NS, row));
}
