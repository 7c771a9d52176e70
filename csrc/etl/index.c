#include "etl/index.h"

#include "base/hash.h"
#include "etl/index_order.h"
#include "etl/layout.h"

#include <string.h>

/* Heads of small buffers come many at a time; between large ones only the heads are read. */
#define WINDOW 65536
#define SMALL_STEP 16384
/* Enough of a buffer to know it by: its head, with time, number and processor, and a few events. */
#define FIRST_BYTES 1024

typedef struct scan {
  const th_source *source;
  th_index *index;
  th_stream_counts *counts;
  uint8_t *window;
  uint64_t start; /* offset of the window in the file */
  size_t held;    /* bytes in it */
  uint64_t step;  /* size of the buffer before */
} scan;

/* The head of the buffer at `offset`, which lies whole within the source's size. *head is NULL when
   the source has shrunk meanwhile. */
static th_status head_at(scan *s, uint64_t offset, const uint8_t **head, th_failure *failure) {
  if (s->source->memory) {
    *head = s->source->memory + (size_t)offset;
    return TH_OK;
  }
  if (offset < s->start || offset - s->start > s->held ||
      s->held - (size_t)(offset - s->start) < TH_BUFFER_HEAD) {
    size_t wanted = s->step < SMALL_STEP ? WINDOW : TH_BUFFER_HEAD;
    th_status status = th_source_read(s->source, offset, s->window, wanted, &s->held, failure);
    if (status != TH_OK)
      return status;
    s->start = offset;
    if (s->held < TH_BUFFER_HEAD) {
      *head = NULL;
      return TH_OK;
    }
  }
  *head = s->window + (size_t)(offset - s->start);
  return TH_OK;
}

/* Whether everything from `offset` on is zero: room that was allocated and never written. */
static th_status only_zeros(scan *s, uint64_t offset, bool *zero, th_failure *failure) {
  while (offset < s->source->size) {
    const uint8_t *bytes = s->window;
    size_t count;
    if (s->source->memory) {
      uint64_t left = s->source->size - offset;
      bytes = s->source->memory + (size_t)offset;
      count = left < WINDOW ? (size_t)left : WINDOW;
    } else {
      th_status status = th_source_read(s->source, offset, s->window, WINDOW, &count, failure);
      if (status != TH_OK)
        return status;
      s->held = 0;
      if (!count)
        break;
    }
    for (size_t i = 0; i < count; i++)
      if (bytes[i]) {
        *zero = false;
        return TH_OK;
      }
    offset += count;
  }
  *zero = true;
  return TH_OK;
}

/* Header buffers of Windows 7 have a saved offset
   of 0, and in merged files it stops after the first event while the offset covers more. */
uint32_t th_buffer_valid_end(const uint8_t *head, uint32_t limit) {
  uint32_t end = th_load_u32(head + TH_BUFFER_OFFSET);
  if (end >= TH_BUFFER_HEAD && end <= limit)
    return end;
  end = th_load_u32(head + TH_BUFFER_SAVED);
  if (end < TH_BUFFER_HEAD)
    end = th_load_u32(head + TH_BUFFER_CURRENT);
  if (end < TH_BUFFER_HEAD)
    return TH_BUFFER_HEAD;
  return end < limit ? end : limit;
}

static bool add(scan *s, const uint8_t *head, uint64_t offset, uint64_t left) {
  th_stream_counts *counts = s->counts;
  uint32_t size = th_load_u32(head + TH_BUFFER_SIZE);
  unsigned flags = th_load_u16(head + TH_BUFFER_FLAGS);
  unsigned cpu = th_load_u16(head + TH_BUFFER_CPU);
  th_index_entry entry = {
      .offset = offset,
      .sequence = (int64_t)th_load_u64(head + TH_BUFFER_SEQUENCE),
      .size = size,
      .full = size,
      .next = TH_NO_ENTRY,
      .cpu = (uint16_t)(flags & TH_BUFFER_FLAG_CPU_INDEX ? cpu & TH_CPU_MASK : cpu & 0xff),
      .logger = th_load_u16(head + TH_BUFFER_LOGGER),
  };
  bool packed = offset != 0 && flags & TH_BUFFER_FLAG_PACKED;
  counts->buffers++;
  counts->compressed_buffers += packed;
  counts->flagged_event_loss += (flags & TH_BUFFER_FLAG_EVENTS_LOST) != 0;
  counts->flagged_buffer_loss += (flags & TH_BUFFER_FLAG_BUFFER_LOST) != 0;
  counts->flagged_loss += (flags & (TH_BUFFER_FLAG_EVENTS_LOST | TH_BUFFER_FLAG_BUFFER_LOST)) != 0;
  if (size > left) {
    counts->truncated = true;
    entry.size = entry.full = (uint32_t)left;
    entry.flags |= TH_ENTRY_CUT;
  }
  if (packed) {
    entry.full = th_load_u32(head + TH_BUFFER_SAVED);
    entry.flags |= TH_ENTRY_PACKED;
    bool cut = entry.flags & TH_ENTRY_CUT;
    if (cut || entry.full < TH_BUFFER_HEAD || entry.full > TH_MAX_BUFFER) {
      counts->buffers_skipped++;
      counts->bytes_skipped += cut ? left : size - TH_BUFFER_HEAD;
      entry.full = 0; /* counted, and looked at for its sequence number only */
    }
  }
  entry.end = entry.full ? th_buffer_valid_end(head, entry.full) : 0;
  return th_vec_push(&s->index->entries, entry);
}

static th_status note_first_events(scan *s, uint64_t offset, uint64_t left, th_failure *failure) {
  uint8_t bytes[FIRST_BYTES];
  size_t count = left < FIRST_BYTES ? (size_t)left : FIRST_BYTES;
  if (s->source->memory)
    memcpy(bytes, s->source->memory + (size_t)offset, count);
  else {
    th_status status = th_source_read(s->source, offset, bytes, count, &count, failure);
    if (status != TH_OK)
      return status;
  }
  s->counts->first_events = th_hash_bytes(bytes, count);
  return TH_OK;
}

static th_status walk(scan *s, th_failure *failure) {
  uint64_t size = s->source->size, offset = 0;
  while (offset < size) {
    uint64_t left = size - offset;
    const uint8_t *head = NULL;
    th_status status;
    if (left >= TH_BUFFER_HEAD && (status = head_at(s, offset, &head, failure)) != TH_OK)
      return status;
    uint32_t step = head ? th_load_u32(head + TH_BUFFER_SIZE) : 0;
    if (step < TH_BUFFER_HEAD || step > TH_MAX_BUFFER) {
      bool zero = false;
      if (!step && (status = only_zeros(s, offset, &zero, failure)) != TH_OK)
        return status;
      if (!zero) {
        s->counts->bytes_skipped += left;
        if (head)
          s->counts->buffers_skipped++;
        else
          s->counts->truncated = true;
      }
      break;
    }
    if (s->index->entries.count == TH_NO_ENTRY - 1)
      return th_fail_corrupt(failure, offset, "the trace has more buffers than any session makes");
    if (!add(s, head, offset, left))
      return th_fail_memory(failure);
    if (s->step && !s->counts->first_events &&
        (status = note_first_events(s, offset, left, failure)) != TH_OK)
      return status;
    s->step = step;
    offset += step;
  }
  return TH_OK;
}

th_status th_index_build(const th_source *source, th_index *index, th_stream_counts *counts,
                         th_failure *failure) {
  scan s = {.source = source, .index = index, .counts = counts};
  if (!source->memory && !(s.window = th_mem_alloc(WINDOW)))
    return th_fail_memory(failure);
  th_status status = walk(&s, failure);
  th_mem_free(s.window);
  if (status != TH_OK)
    return status;
  th_index_sort(index);
  counts->sequence_gaps = th_index_gaps(index);
  th_index_drop_unreadable(index);
  return th_index_chain(index) ? TH_OK : th_fail_memory(failure);
}

void th_index_free(th_index *index) {
  th_vec_free(&index->entries);
  th_vec_free(&index->lanes);
}
