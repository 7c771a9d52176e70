/* What the birth, the end and the change of one block do to the figures of all its groups. */
#ifndef TH_HEAP_CHARGE_H
#define TH_HEAP_CHARGE_H

#include "heap/ledger.h"

/* To be called with the time of every event before it changes anything. */
void th_charge_pass_time(th_ledger *ledger, int64_t time_ns);

void th_charge_birth(th_ledger *ledger, const th_block *block, bool adopted);
/* False: the sink had no memory. The block is still live then. */
TH_NODISCARD bool th_charge_end(th_ledger *ledger, uint32_t block, th_block_end end,
                                int64_t time_ns);
/* A ReAlloc in place; sets the block's size. */
void th_charge_resize(th_ledger *ledger, th_block *block, uint64_t size, int64_t time_ns);

#endif
