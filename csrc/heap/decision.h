/* Which blocks pass a filter that needs to know how they end: the answers of a first pass, by which
   a second one over the same events counts from their birth on. */
#ifndef TH_HEAP_DECISION_H
#define TH_HEAP_DECISION_H

#include "heap/ledger.h"

typedef struct th_decision {
  const th_block_filter *filter;
  TH_VEC(uint8_t) bits; /* by serial number */
} th_decision;

/* A th_block_sink; its context is the th_decision. The ledger must be numbered. */
bool th_decision_sink(void *decision, const th_ledger *ledger, uint32_t block, th_block_end end,
                      int64_t end_ns);
/* Decides about the blocks that are still live, whose lives count up to `end_ns`, and makes a bit
   for every block there was. False: no memory. */
TH_NODISCARD bool th_decision_finish(th_decision *decision, const th_ledger *ledger,
                                     int64_t end_ns);

#endif
