/* Threads that read and unpack buffers before they are asked for. What they do changes how long a
   trace takes, never what is read: whatever is not ready is done by the caller. */
#ifndef TH_ETL_READAHEAD_H
#define TH_ETL_READAHEAD_H

#include "etl/buffer.h"

/* More threads than that only wait for each other. */
#define TH_READAHEAD_THREADS 16
/* Buffers and bytes that may be ready and not asked for yet. */
#define TH_READAHEAD_SLOTS 256
#define TH_READAHEAD_BYTES (UINT64_C(16) << 20)
/* A larger block is given back to the system rather than kept for the next buffer. */
#define TH_READAHEAD_KEEP (UINT64_C(2) << 20)

typedef struct th_readahead th_readahead;

/* Starts the threads; NULL when there is nothing for them to do, or no room for even one. `source`
   and `index` stay where they are, and as they are, until the end. */
th_readahead *th_readahead_start(const th_source *source, const th_index *index, unsigned format,
                                 unsigned threads);
/* As th_buffer_read, for the entry of that number. Each is to be asked for once; after a failure
   again. */
th_status th_readahead_take(th_readahead *ahead, uint32_t entry, th_buffer_tools *tools,
                            th_buffer *buffer, th_failure *failure);
/* Waits for the threads to end; NULL is fine. */
void th_readahead_stop(th_readahead *ahead);

#endif
