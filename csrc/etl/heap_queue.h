/* Heap events that may still get a stack: rows being written, and rows that wait.

   Rows are written straight into the columns of the batch they leave in. A stack comes up to some
   tens of milliseconds behind its event, so a batch is only done once the trace's time has moved
   on; how much may wait is bounded. */
#ifndef TH_ETL_HEAP_QUEUE_H
#define TH_ETL_HEAP_QUEUE_H

#include "etl/heap_batch.h"
#include "etl/row_clock.h"
#include "etl/stack_table.h"

#define TH_HEAP_BATCH_ROWS 16384
#define TH_HEAP_QUEUE_BATCHES 32

typedef struct th_heap_chunk {
  th_heap_batch batch;
  /* Columns of batch.rows; `time` holds row time (row_clock.h) and `stack` th_stack_refs until the
     chunk leaves. No row has a stack to begin with. */
  int64_t *time;
  uint64_t *heap, *address, *size, *old_address, *old_size;
  uint32_t *pid, *tid, *source, *stack;
  uint16_t *cpu;
  uint8_t *kind;
  size_t count, limit;        /* no more than `limit` rows are added */
  int64_t min_time, max_time; /* row times */
  int64_t last_raw;           /* the greatest raw time */
  uint32_t kinds;             /* bit by kind that occurs in the rows */
  bool sorted;
  bool stacked; /* a row has a stack */
} th_heap_chunk;

/* A table that was handed out. Once whoever had it lets go of it, it serves again: making a new one
   costs as much as decoding its rows. */
typedef struct th_heap_spare {
  th_table *rows; /* a reference, NULL */
  bool has_old;   /* old addresses and sizes are not all 0 */
} th_heap_spare;

/* Some may still be on their way through a ledger's thread. */
#define TH_HEAP_SPARES 8

typedef struct th_heap_queue {
  th_heap_chunk *open; /* the newest, while it has room; else NULL */
  th_heap_chunk chunks[TH_HEAP_QUEUE_BATCHES]; /* a ring */
  size_t first, count;
  uint64_t first_number; /* of the oldest chunk, counted from the start of the trace */
  th_row_clock times;    /* how rows have their times */
  int64_t window;        /* raw time for which a chunk waits behind its last row, at least */
  uint64_t forced;       /* rows that left before that, to keep memory bounded */
  uint64_t with_stack;   /* alloc and realloc rows that left with a stack */
  th_heap_spare spares[TH_HEAP_SPARES];
  size_t next_spare; /* the one to give up next */
} th_heap_queue;

/* Begins a chunk, which the caller has made room for; NULL when there is no memory. */
th_heap_chunk *th_heap_queue_begin(th_heap_queue *queue);
/* The chunk with room for a row. */
TH_INLINE th_heap_chunk *th_heap_queue_open(th_heap_queue *queue) {
  return TH_LIKELY(queue->open != NULL) ? queue->open : th_heap_queue_begin(queue);
}

/* No more rows to the open chunk, if it is full. */
TH_INLINE void th_heap_queue_close(th_heap_queue *queue) {
  if (queue->open->count == queue->open->limit)
    queue->open = NULL;
}

/* What a row takes from the header of its event. */
typedef struct th_heap_header {
  int64_t time; /* raw */
  uint32_t pid, tid;
  uint16_t cpu;
} th_heap_header;

/* Writes a row. False: no memory. */
TH_INLINE TH_NODISCARD bool th_heap_queue_add(th_heap_queue *queue, th_heap_header header,
                                              th_heap_payload payload);
/* Notes that a process started or ended between the last row and the next. */
TH_NODISCARD bool th_heap_queue_mark(th_heap_queue *queue, th_process_mark_kind kind, uint32_t pid,
                                     int64_t time_ns);
/* What was added so far leaves once it may, without waiting for more rows: for live sessions. */
void th_heap_queue_cut(th_heap_queue *queue);
/* Whether the oldest chunk can leave: no stack can come any more, or too much waits. */
bool th_heap_queue_ready(const th_heap_queue *queue, int64_t now, bool at_end);
/* Takes the oldest chunk out, complete. False: no memory, and then the queue is of no more use. */
TH_NODISCARD bool th_heap_queue_take(th_heap_queue *queue, int64_t now, bool at_end,
                                     th_stack_table *stacks, th_heap_batch *batch);
void th_heap_queue_free(th_heap_queue *queue);

/* What differs from the common case: no ids, no handle. */
TH_NODISCARD bool th_heap_chunk_mark_missing(th_heap_chunk *chunk, th_heap_header header, bool no_handle);

TH_INLINE TH_NODISCARD bool th_heap_queue_add(th_heap_queue *queue, th_heap_header header,
                                              th_heap_payload payload) {
  th_heap_chunk *chunk = th_heap_queue_open(queue);
  if (TH_UNLIKELY(!chunk))
    return false;
  size_t row = chunk->count;
  bool no_handle = !(payload.has & TH_HEAP_HAS_HEAP);
  if (TH_UNLIKELY(header.pid == TH_NO_ID || header.tid == TH_NO_ID || no_handle) &&
      !th_heap_chunk_mark_missing(chunk, header, no_handle))
    return false;
  int64_t time = chunk->time[row] = th_row_time(&queue->times, header.time);
  chunk->heap[row] = payload.heap;
  chunk->address[row] = payload.address;
  chunk->size[row] = payload.size;
  chunk->pid[row] = header.pid;
  chunk->tid[row] = header.tid;
  chunk->source[row] = payload.source;
  chunk->cpu[row] = header.cpu;
  chunk->kind[row] = payload.kind;
  chunk->kinds |= 1u << payload.kind;
  if (TH_UNLIKELY(payload.has & TH_HEAP_HAS_OLD)) {
    chunk->old_address[row] = payload.old_address;
    chunk->old_size[row] = payload.old_size;
  }
  if (TH_UNLIKELY(header.time < chunk->last_raw)) {
    chunk->sorted = false;
  } else {
    chunk->last_raw = header.time;
    chunk->max_time = time;
  }
  if (TH_UNLIKELY(time < chunk->min_time))
    chunk->min_time = time;
  chunk->count = row + 1;
  if (TH_UNLIKELY(row + 1 == chunk->limit))
    queue->open = NULL;
  return true;
}

#endif
