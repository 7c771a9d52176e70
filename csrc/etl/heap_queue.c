#include "etl/heap_queue.h"

#include <assert.h>

/* Values a kind has, one bit per column that may lack them. */
enum { BIT_ADDRESS = 1, BIT_SIZE = 2, BIT_OLD_ADDRESS = 4, BIT_OLD_SIZE = 8, BIT_SOURCE = 16,
       BIT_STACK = 32, BITS = 6 };

static const uint8_t columns_of_bits[BITS] = {TH_HEAP_EVENT_ADDRESS,     TH_HEAP_EVENT_SIZE,
                                              TH_HEAP_EVENT_OLD_ADDRESS, TH_HEAP_EVENT_OLD_SIZE,
                                              TH_HEAP_EVENT_SOURCE,      TH_HEAP_EVENT_STACK_ID};

#define BLOCK_BITS (BIT_ADDRESS | BIT_SIZE)
#define BLOCK_KINDS (1u << TH_HEAP_ALLOC | 1u << TH_HEAP_REALLOC | 1u << TH_HEAP_FREE)
static const uint8_t bits_of_kinds[TH_HEAP_KINDS] = {
    [TH_HEAP_ALLOC] = BLOCK_BITS | BIT_SOURCE,
    [TH_HEAP_REALLOC] = BLOCK_BITS | BIT_OLD_ADDRESS | BIT_OLD_SIZE | BIT_SOURCE,
    [TH_HEAP_FREE] = BIT_ADDRESS | BIT_SOURCE,
    [TH_HEAP_EXPAND] = BLOCK_BITS,
    [TH_HEAP_CONTRACT] = BLOCK_BITS,
};

/* Makes the values as good as new; what every row writes anew may stay. */
static void clean(th_heap_spare *spare) {
  static const uint8_t old_columns[] = {TH_HEAP_EVENT_OLD_ADDRESS, TH_HEAP_EVENT_OLD_SIZE};
  th_table *rows = spare->rows;
  for (size_t field = 0; field < rows->schema->field_count; field++) {
    th_mem_free(rows->columns[field].valid);
    rows->columns[field].valid = NULL;
  }
  if (spare->has_old)
    for (size_t i = 0; i < sizeof old_columns; i++)
      memset(rows->columns[old_columns[i]].data, 0, rows->count * sizeof(uint64_t));
  rows->count = 0;
}

static th_table *make_rows(th_heap_queue *queue) {
  for (size_t i = 0; i < TH_HEAP_SPARES; i++) {
    th_heap_spare *spare = &queue->spares[i];
    if (!spare->rows || !th_refcount_is_one(&spare->rows->references))
      continue;
    clean(spare);
    th_table *rows = spare->rows;
    spare->rows = NULL;
    return rows;
  }
  return th_table_new(&th_heap_event_schema, TH_HEAP_BATCH_ROWS, NULL);
}

static void keep_spare(th_heap_queue *queue, th_table *rows, bool has_old) {
  size_t place = 0;
  while (place < TH_HEAP_SPARES && queue->spares[place].rows)
    place++;
  if (place == TH_HEAP_SPARES) {
    place = queue->next_spare;
    queue->next_spare = (place + 1) % TH_HEAP_SPARES;
  }
  th_heap_spare *spare = &queue->spares[place];
  th_table_drop(spare->rows);
  th_table_take(rows);
  *spare = (th_heap_spare){rows, has_old};
}

static bool make_chunk(th_heap_queue *queue, th_heap_chunk *chunk) {
  th_table *rows = make_rows(queue);
  if (!rows)
    return false;
  *chunk = (th_heap_chunk){
      .batch.rows = rows,
      .time = TH_COLUMN(rows, TH_HEAP_EVENT_TIME_NS, int64_t),
      .heap = TH_COLUMN(rows, TH_HEAP_EVENT_HEAP, uint64_t),
      .address = TH_COLUMN(rows, TH_HEAP_EVENT_ADDRESS, uint64_t),
      .size = TH_COLUMN(rows, TH_HEAP_EVENT_SIZE, uint64_t),
      .old_address = TH_COLUMN(rows, TH_HEAP_EVENT_OLD_ADDRESS, uint64_t),
      .old_size = TH_COLUMN(rows, TH_HEAP_EVENT_OLD_SIZE, uint64_t),
      .pid = TH_COLUMN(rows, TH_HEAP_EVENT_PID, uint32_t),
      .tid = TH_COLUMN(rows, TH_HEAP_EVENT_TID, uint32_t),
      .source = TH_COLUMN(rows, TH_HEAP_EVENT_SOURCE, uint32_t),
      .stack = TH_COLUMN(rows, TH_HEAP_EVENT_STACK_ID, uint32_t),
      .cpu = TH_COLUMN(rows, TH_HEAP_EVENT_CPU, uint16_t),
      .kind = TH_COLUMN(rows, TH_HEAP_EVENT_KIND, uint8_t),
      .limit = TH_HEAP_BATCH_ROWS,
      .min_time = INT64_MAX,
      .max_time = INT64_MIN,
      .last_raw = INT64_MIN,
      .sorted = true,
  };
  memset(chunk->stack, 0xff, rows->capacity * sizeof *chunk->stack); /* TH_NO_STACK_REF */
  return true;
}

th_heap_chunk *th_heap_queue_begin(th_heap_queue *queue) {
  if (queue->count == TH_HEAP_QUEUE_BATCHES)
    return NULL;
  th_heap_chunk *chunk =
      &queue->chunks[(queue->first + queue->count) % TH_HEAP_QUEUE_BATCHES];
  if (!make_chunk(queue, chunk))
    return NULL;
  queue->count++;
  queue->open = chunk;
  return chunk;
}

bool th_heap_chunk_mark_missing(th_heap_chunk *chunk, th_heap_header header, bool no_handle) {
  th_table *rows = chunk->batch.rows;
  return (header.pid != TH_NO_ID ||
          th_table_set_missing(rows, TH_HEAP_EVENT_PID, chunk->count)) &&
         (header.tid != TH_NO_ID ||
          th_table_set_missing(rows, TH_HEAP_EVENT_TID, chunk->count)) &&
         (!no_handle || th_table_set_missing(rows, TH_HEAP_EVENT_HEAP, chunk->count));
}

bool th_heap_queue_mark(th_heap_queue *queue, th_process_mark_kind kind, uint32_t pid,
                        int64_t time_ns) {
  th_heap_chunk *chunk = th_heap_queue_open(queue);
  if (!chunk)
    return false;
  th_process_mark mark = {.row = chunk->count, .time_ns = time_ns, .pid = pid, .kind = kind};
  return th_vec_push(&chunk->batch.marks, mark);
}

static bool is_settled(const th_heap_queue *queue, const th_heap_chunk *chunk, int64_t now) {
  return now > chunk->last_raw &&
         (uint64_t)now - (uint64_t)chunk->last_raw > (uint64_t)queue->window;
}

void th_heap_queue_cut(th_heap_queue *queue) {
  th_heap_chunk *chunk = queue->open;
  /* Half of the ring stays for rows that come in a hurry. */
  if (!chunk || queue->count > TH_HEAP_QUEUE_BATCHES / 2 ||
      !(chunk->count || chunk->batch.marks.count))
    return;
  chunk->limit = chunk->count;
  queue->open = NULL;
}

bool th_heap_queue_ready(const th_heap_queue *queue, int64_t now, bool at_end) {
  if (!queue->count)
    return false;
  const th_heap_chunk *chunk = &queue->chunks[queue->first];
  if (at_end)
    return true;
  return chunk->count >= chunk->limit &&
         (queue->count == TH_HEAP_QUEUE_BATCHES || is_settled(queue, chunk, now));
}

/* Eight rows of eight bits to eight columns of eight bits (Hacker's Delight, 7-3). */
static uint64_t transpose(uint64_t x) {
  uint64_t t = (x ^ (x >> 7)) & UINT64_C(0x00aa00aa00aa00aa);
  x ^= t ^ (t << 7);
  t = (x ^ (x >> 14)) & UINT64_C(0x0000cccc0000cccc);
  x ^= t ^ (t << 14);
  t = (x ^ (x >> 28)) & UINT64_C(0x00000000f0f0f0f0);
  return x ^ t ^ (t << 28);
}

/* The bits of values that no row lacks. */
static unsigned bits_of_all(const th_heap_chunk *chunk, bool all_stacks) {
  unsigned bits = (1u << BITS) - 1;
  for (unsigned kind = 0; kind < TH_HEAP_KINDS; kind++)
    if (chunk->kinds >> kind & 1)
      bits &= bits_of_kinds[kind] | BIT_STACK;
  return all_stacks ? bits : bits & ~(unsigned)BIT_STACK;
}

/* One bit of each of eight bytes. */
#define EIGHT(byte) ((byte) * UINT64_C(0x0101010101010101))
TH_INLINE uint8_t gather(uint64_t low_bits) {
  return (uint8_t)((low_bits & EIGHT(1)) * UINT64_C(0x0102040810204080) >> 56);
}
static_assert(TH_HEAP_ALLOC == 1 && TH_HEAP_REALLOC == 2 && TH_HEAP_FREE == 4, "bits of their own");

/* Allocations, reallocations and frees only: all have an address and a source, and the number of
   the kind is a bit of its own. */
static void mark_blocks(const th_heap_chunk *chunk, uint8_t *const *bitmaps) {
  uint8_t *sizes = bitmaps[1], *old_addresses = bitmaps[2], *old_sizes = bitmaps[3];
  size_t bytes = (chunk->count + 7) / 8;
  for (size_t at = 0; at < bytes && sizes; at++)
    sizes[at] = gather(~th_load_u64(chunk->kind + 8 * at) >> 2);
  for (size_t at = 0; at < bytes && old_addresses; at++)
    old_addresses[at] = old_sizes[at] = gather(th_load_u64(chunk->kind + 8 * at) >> 1);
}

static void mark_others(const th_heap_chunk *chunk, uint8_t *const *bitmaps) {
  for (size_t row = 0; row < chunk->count; row += 8) {
    uint64_t bits = 0;
    for (size_t i = 0; i < 8 && row + i < chunk->count; i++)
      bits |= (uint64_t)bits_of_kinds[chunk->kind[row + i]] << (8 * i);
    bits = transpose(bits);
    for (int bit = 0; bit < BITS; bit++)
      if (bitmaps[bit])
        bitmaps[bit][row / 8] = (uint8_t)(bits >> (8 * bit));
  }
}

/* Which rows have a stack. */
static void mark_stacks(const th_heap_chunk *chunk, uint8_t *bitmap) {
  for (size_t row = 0; row < chunk->count; row += 8) {
    unsigned bits = 0;
    for (size_t i = 0; i < 8; i++)
      bits |= (unsigned)(chunk->stack[row + i] != TH_NO_STACK) << i;
    bitmap[row / 8] = (uint8_t)bits;
  }
}

static bool mark_values(th_heap_chunk *chunk, bool all_stacks) {
  unsigned whole = bits_of_all(chunk, all_stacks);
  uint8_t *bitmaps[BITS] = {NULL};
  size_t bytes = chunk->batch.rows->capacity / 8 + 1;
  for (int bit = 0; bit < BITS; bit++) {
    th_column *column = &chunk->batch.rows->columns[columns_of_bits[bit]];
    if (whole >> bit & 1)
      continue;
    if (!column->valid && !(column->valid = th_mem_alloc(bytes)))
      return false;
    bitmaps[bit] = column->valid;
    memset(column->valid, 0, bytes);
  }
  uint8_t *stacks = bitmaps[BITS - 1];
  bitmaps[BITS - 1] = NULL;
  if (chunk->kinds & ~BLOCK_KINDS)
    mark_others(chunk, bitmaps);
  else
    mark_blocks(chunk, bitmaps);
  if (stacks && chunk->stacked)
    mark_stacks(chunk, stacks);
  return true;
}

static void convert_times(th_heap_chunk *chunk, const th_clock *clock) {
  for (size_t row = 0; row < chunk->count; row++)
    chunk->time[row] = th_clock_ns(clock, chunk->time[row]);
}

static bool number_stacks(th_heap_chunk *chunk, th_stack_table *stacks, bool *all,
                          uint64_t *with_stack) {
  size_t without = 0, allocations = 0;
  *all = chunk->count == 0;
  if (!chunk->stacked)
    return true;
  for (size_t row = 0; row < chunk->count; row++) {
    if (chunk->stack[row] == TH_NO_STACK_REF) {
      without++;
      continue;
    }
    allocations += chunk->kind[row] == TH_HEAP_ALLOC || chunk->kind[row] == TH_HEAP_REALLOC;
    if (!th_stack_table_number(stacks, chunk->stack[row], &chunk->stack[row]))
      return false;
  }
  *all = without == 0;
  *with_stack += allocations;
  return true;
}

bool th_heap_queue_take(th_heap_queue *queue, int64_t now, bool at_end, th_stack_table *stacks,
                        th_heap_batch *batch) {
  th_heap_chunk *chunk = &queue->chunks[queue->first];
  bool all_stacks;
  if (!number_stacks(chunk, stacks, &all_stacks, &queue->with_stack))
    return false;
  if (!mark_values(chunk, all_stacks))
    return false;
  if (!queue->times.whole)
    convert_times(chunk, queue->times.clock);
  if (!at_end && !is_settled(queue, chunk, now))
    queue->forced += chunk->count;
  chunk->batch.rows->count = chunk->count;
  keep_spare(queue, chunk->batch.rows, chunk->kinds >> TH_HEAP_REALLOC & 1);
  *batch = chunk->batch;
  if (queue->open == chunk)
    queue->open = NULL;
  queue->first = (queue->first + 1) % TH_HEAP_QUEUE_BATCHES;
  queue->count--;
  queue->first_number++;
  return true;
}

void th_heap_queue_free(th_heap_queue *queue) {
  for (size_t i = 0; i < queue->count; i++)
    th_heap_batch_free(&queue->chunks[(queue->first + i) % TH_HEAP_QUEUE_BATCHES].batch);
  for (size_t i = 0; i < TH_HEAP_SPARES; i++)
    th_table_drop(queue->spares[i].rows);
  queue->count = 0;
}
