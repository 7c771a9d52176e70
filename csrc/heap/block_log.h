/* Every block of a trace as a row: where and when it came to be, and how it ended. */
#ifndef TH_HEAP_BLOCK_LOG_H
#define TH_HEAP_BLOCK_LOG_H

#include "heap/ledger.h"
#include "table/table.h"

enum {
  TH_BLOCK_PID,
  TH_BLOCK_HEAP,
  TH_BLOCK_ADDRESS,
  TH_BLOCK_SIZE,
  TH_BLOCK_TID,
  TH_BLOCK_BIRTH_NS,
  TH_BLOCK_DEATH_NS,
  TH_BLOCK_END,
  TH_BLOCK_STACK_ID
};
extern const th_schema th_block_schema;
/* "live", "free" ... in the order of th_block_end. */
extern const char *const th_block_end_names[TH_BLOCK_ENDS + 1];

typedef struct th_block_log {
  const th_block_filter *filter; /* its words about the end of a block; NULL: all pass */
  th_table *rows; /* NULL: none since they were taken */
} th_block_log;

/* A th_block_sink; its context is the th_block_log. With TH_END_LIVE the row has no death, and
   `end_ns` is the moment its life counts to. */
bool th_block_log_sink(void *log, const th_ledger *ledger, uint32_t block, th_block_end end,
                       int64_t end_ns);

#endif
