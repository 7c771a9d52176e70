/* The order of the buffers: by sequence number, and chained to lanes. */
#ifndef TH_ETL_INDEX_ORDER_H
#define TH_ETL_INDEX_ORDER_H

#include "etl/index.h"

/* Sorts the entries by (sequence, offset). */
void th_index_sort(th_index *index);
/* How often neighbours in the sorted entries are more than 1 apart. */
uint64_t th_index_gaps(const th_index *index);
/* Drops the entries without readable bytes (full == 0). */
void th_index_drop_unreadable(th_index *index);
/* Chains the sorted entries of each (logger, cpu) to a lane. False: no memory. */
TH_NODISCARD bool th_index_chain(th_index *index);

#endif
