#include "heap/decision.h"

#include <string.h>

static bool cover(th_decision *decision, uint64_t blocks) {
  size_t bytes = (size_t)(blocks / 8 + 1);
  if (blocks / 8 >= SIZE_MAX - 1 || !th_vec_reserve(&decision->bits, bytes))
    return false;
  if (bytes > decision->bits.count) {
    memset(decision->bits.items + decision->bits.count, 0, bytes - decision->bits.count);
    decision->bits.count = bytes;
  }
  return true;
}

bool th_decision_sink(void *context, const th_ledger *ledger, uint32_t block_index,
                      th_block_end end, int64_t end_ns) {
  th_decision *decision = context;
  const th_block *block = th_block_at(&ledger->map, block_index);
  uint64_t lifetime = 0;
  (void)end;
  if (end_ns > block->birth_ns)
    lifetime = (uint64_t)end_ns - (uint64_t)block->birth_ns;
  if (!th_filter_end(decision->filter, block->size, lifetime))
    return true;
  uint64_t serial = *th_block_serial(&ledger->map, block_index);
  if (!cover(decision, serial))
    return false;
  decision->bits.items[serial >> 3] |= (uint8_t)(1u << (serial & 7));
  return true;
}

bool th_decision_finish(th_decision *decision, const th_ledger *ledger, int64_t end_ns) {
  if (!cover(decision, ledger->births))
    return false;
  return th_ledger_each_live(ledger, th_decision_sink, decision, end_ns);
}
