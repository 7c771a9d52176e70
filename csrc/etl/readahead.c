#include "etl/readahead.h"

#include "base/mem.h"

typedef enum slot_state { SLOT_FREE, SLOT_BUSY, SLOT_READY } slot_state;

typedef struct slot {
  th_buffer buffer;
  uint32_t entry;
  slot_state state;
} slot;

struct th_readahead {
  const th_source *source;
  const th_index *index;
  unsigned format;
  unsigned threads;
  th_thread started[TH_READAHEAD_THREADS];
  th_mutex mutex; /* everything below, but for the buffer of a busy slot */
  th_condition room, ready;
  uint8_t *taken;  /* for each entry: somebody has it, or had it */
  uint32_t next;   /* entries before it are taken */
  uint64_t bytes;  /* in slots that are not free */
  bool stopping;
  uint32_t slot_count;
  slot slots[];
};

/* A free slot for the first entry that nobody has; NULL: none now. */
static slot *claim(th_readahead *ahead) {
  uint32_t count = (uint32_t)ahead->index->entries.count;
  while (ahead->next < count && ahead->taken[ahead->next])
    ahead->next++;
  if (ahead->next == count)
    return NULL;
  uint64_t bytes = ahead->index->entries.items[ahead->next].full;
  if (ahead->bytes && ahead->bytes + bytes > TH_READAHEAD_BYTES)
    return NULL;
  for (uint32_t i = 0; i < ahead->slot_count; i++) {
    slot *found = &ahead->slots[i];
    if (found->state != SLOT_FREE)
      continue;
    found->state = SLOT_BUSY;
    found->entry = ahead->next;
    ahead->taken[ahead->next] = 1;
    ahead->bytes += bytes;
    return found;
  }
  return NULL;
}

static void set_free(th_readahead *ahead, slot *done) {
  done->state = SLOT_FREE;
  ahead->bytes -= ahead->index->entries.items[done->entry].full;
  if (done->buffer.capacity > TH_READAHEAD_KEEP)
    th_buffer_free(&done->buffer);
}

/* Reads a claimed slot; the lock is held before and after, not meanwhile. A failure is left to the
   caller, who meets it again when he asks for the entry. */
static void work(th_readahead *ahead, slot *mine, th_buffer_tools *tools) {
  th_failure failure;
  th_mutex_unlock(&ahead->mutex);
  th_status status = th_buffer_read(ahead->source, &ahead->index->entries.items[mine->entry],
                                    ahead->format, tools, &mine->buffer, &failure);
  th_mutex_lock(&ahead->mutex);
  if (status == TH_OK)
    mine->state = SLOT_READY;
  else
    set_free(ahead, mine);
  th_condition_broadcast(&ahead->ready);
}

static void body(void *argument) {
  th_readahead *ahead = argument;
  th_buffer_tools tools = {0};
  th_mutex_lock(&ahead->mutex);
  while (!ahead->stopping) {
    slot *mine = claim(ahead);
    if (mine)
      work(ahead, mine, &tools);
    else if (ahead->next == ahead->index->entries.count)
      break;
    else
      th_condition_wait(&ahead->room, &ahead->mutex);
  }
  th_mutex_unlock(&ahead->mutex);
  th_buffer_tools_free(&tools);
}

static slot *find(th_readahead *ahead, uint32_t entry) {
  for (uint32_t i = 0; i < ahead->slot_count; i++)
    if (ahead->slots[i].state != SLOT_FREE && ahead->slots[i].entry == entry)
      return &ahead->slots[i];
  return NULL;
}

th_status th_readahead_take(th_readahead *ahead, uint32_t entry, th_buffer_tools *tools,
                            th_buffer *buffer, th_failure *failure) {
  bool got = false;
  th_mutex_lock(&ahead->mutex);
  for (slot *found; (found = find(ahead, entry)) != NULL;) {
    if (found->state == SLOT_READY) {
      th_buffer swapped = *buffer;
      *buffer = found->buffer;
      found->buffer = swapped;
      set_free(ahead, found);
      th_condition_signal(&ahead->room);
      got = true;
      break;
    }
    slot *other = claim(ahead); /* do something useful while it is being done */
    if (other)
      work(ahead, other, tools);
    else
      th_condition_wait(&ahead->ready, &ahead->mutex);
  }
  ahead->taken[entry] = 1;
  th_mutex_unlock(&ahead->mutex);
  if (got)
    return TH_OK;
  return th_buffer_read(ahead->source, &ahead->index->entries.items[entry], ahead->format, tools,
                        buffer, failure);
}

static bool worth_it(const th_source *source, const th_index *index) {
  if (source->reader)
    return false; /* it may be called on the caller's thread only */
  if (!source->memory)
    return true;
  for (size_t i = 0; i < index->entries.count; i++)
    if (index->entries.items[i].flags & TH_ENTRY_PACKED)
      return true;
  return false;
}

static bool make_locks(th_readahead *ahead) {
  if (!th_mutex_init(&ahead->mutex))
    return false;
  if (th_condition_init(&ahead->room)) {
    if (th_condition_init(&ahead->ready))
      return true;
    th_condition_destroy(&ahead->room);
  }
  th_mutex_destroy(&ahead->mutex);
  return false;
}

th_readahead *th_readahead_start(const th_source *source, const th_index *index, unsigned format,
                                 unsigned threads) {
  size_t lanes = index->lanes.count;
  if (!threads || index->entries.count < 2 || !worth_it(source, index))
    return NULL;
  uint32_t slots = lanes < TH_READAHEAD_SLOTS / 4 ? (uint32_t)lanes * 4 + 16 : TH_READAHEAD_SLOTS;
  th_readahead *ahead = th_mem_zero(sizeof *ahead + slots * sizeof(slot));
  if (!ahead)
    return NULL;
  ahead->source = source;
  ahead->index = index;
  ahead->format = format;
  ahead->slot_count = slots;
  ahead->taken = th_mem_zero(index->entries.count);
  if (!ahead->taken || !make_locks(ahead)) {
    th_mem_free(ahead->taken);
    th_mem_free(ahead);
    return NULL;
  }
  if (threads > TH_READAHEAD_THREADS)
    threads = TH_READAHEAD_THREADS;
  while (ahead->threads < threads &&
         th_thread_start(&ahead->started[ahead->threads], body, ahead))
    ahead->threads++;
  if (!ahead->threads) {
    th_readahead_stop(ahead);
    return NULL;
  }
  return ahead;
}

void th_readahead_stop(th_readahead *ahead) {
  if (!ahead)
    return;
  th_mutex_lock(&ahead->mutex);
  ahead->stopping = true;
  th_condition_broadcast(&ahead->room);
  th_mutex_unlock(&ahead->mutex);
  for (unsigned i = 0; i < ahead->threads; i++)
    th_thread_join(&ahead->started[i]);
  th_condition_destroy(&ahead->ready);
  th_condition_destroy(&ahead->room);
  th_mutex_destroy(&ahead->mutex);
  for (uint32_t i = 0; i < ahead->slot_count; i++)
    th_buffer_free(&ahead->slots[i].buffer);
  th_mem_free(ahead->taken);
  th_mem_free(ahead);
}
