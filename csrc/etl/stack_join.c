#include "etl/stack_join.h"

#include "base/cursor.h"

/* How many events of the very same time are looked at: no processor logs more in one tick. */
#define MAX_TIES 4096
#define MAX_WAITS 4096

typedef struct th_row_place {
  th_heap_chunk *chunk; /* NULL: none */
  uint64_t number;      /* of the chunk */
  size_t row;
} th_row_place;

static bool is_old(const th_stack_join *join, int64_t now, int64_t time) {
  return now > time && (uint64_t)now - (uint64_t)time > (uint64_t)join->limit;
}

/* The first row behind the rows of time <= `time`. Stacks follow closely: search from the end. */
static size_t rows_up_to(const th_heap_chunk *chunk, int64_t time) {
  size_t end = chunk->count, step = 1;
  if (!chunk->sorted)
    return end;
  while (end >= step && chunk->time[end - step] > time) {
    end -= step;
    step *= 2;
  }
  size_t low = end >= step ? end - step + 1 : 0, high = end;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (chunk->time[middle] > time)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/* The latest event of the (raw) time, process and thread; else the latest of that time without a thread,
   of the same processor if there is one. */
static th_row_place find_row(const th_stack_join *join, int64_t raw, uint32_t pid, uint32_t tid,
                             uint16_t cpu) {
  th_heap_queue *queue = join->queue;
  int64_t time = th_row_time(&queue->times, raw);
  th_row_place same_cpu = {0}, any_cpu = {0};
  size_t looked = 0;
  for (size_t back = queue->count; back-- > 0;) {
    th_heap_chunk *chunk = &queue->chunks[(queue->first + back) % TH_HEAP_QUEUE_BATCHES];
    if (time > chunk->max_time) {
      if (chunk->sorted)
        break;
      continue;
    }
    if (time < chunk->min_time)
      continue;
    for (size_t row = rows_up_to(chunk, time); row-- > 0;) {
      if (chunk->time[row] != time) {
        if (chunk->sorted)
          break;
        if (++looked > MAX_TIES)
          return (th_row_place){0};
        continue;
      }
      th_row_place place = {chunk, queue->first_number + back, row};
      if (TH_LIKELY(chunk->tid[row] == tid && chunk->pid[row] == pid))
        return place;
      if (chunk->tid[row] == TH_NO_ID) {
        if (!same_cpu.chunk && chunk->cpu[row] == cpu)
          same_cpu = place;
        if (!any_cpu.chunk)
          any_cpu = place;
      }
      if (++looked > MAX_TIES)
        return same_cpu.chunk ? same_cpu : any_cpu;
    }
  }
  return same_cpu.chunk ? same_cpu : any_cpu;
}

/* What a part adds to a stack. */
typedef struct th_part {
  const th_stack_event *event;
  const uint64_t *hash; /* of its frames; NULL: not known */
  bool kernel;
  bool by_key;
  uint32_t generation;
} th_part;

static bool append(th_stack_join *join, const th_part *part, th_heap_chunk *chunk, size_t row) {
  const th_stack_event *event = part->event;
  chunk->stacked = true;
  if (part->by_key)
    return th_stack_table_append_part(join->stacks, &chunk->stack[row],
                                      th_stack_part_of_generation(part->generation));
  return th_stack_table_append(join->stacks, &chunk->stack[row], event->frames,
                               event->frame_count, event->frame_size, part->hash);
}

static bool same_place(const th_stack_wait *wait, const th_row_place *place) {
  return place->chunk && wait->chunk == place->number && wait->row == place->row;
}

/* Gives a user part to every event of its thread that waits; all these waits end. */
static bool complete_waits(th_stack_join *join, const th_part *part, int64_t now,
                           th_row_place *own, bool *appended) {
  th_heap_queue *queue = join->queue;
  size_t kept = 0;
  for (size_t i = 0; i < join->waits.count; i++) {
    th_stack_wait wait = join->waits.items[i];
    if (wait.chunk < queue->first_number || is_old(join, now, wait.time))
      continue;
    if (wait.pid != part->event->pid || wait.tid != part->event->tid) {
      join->waits.items[kept++] = wait;
      continue;
    }
    size_t index = (queue->first + (size_t)(wait.chunk - queue->first_number)) %
                   TH_HEAP_QUEUE_BATCHES;
    if (!append(join, part, &queue->chunks[index], wait.row))
      return false;
    *appended = true;
    if (same_place(&wait, own))
      own->chunk = NULL; /* has it now */
  }
  join->waits.count = kept;
  return true;
}

static bool add_wait(th_stack_join *join, const th_part *part, const th_row_place *own) {
  for (size_t i = 0; i < join->waits.count; i++)
    if (same_place(&join->waits.items[i], own))
      return true;
  if (join->waits.count == MAX_WAITS) {
    memmove(join->waits.items, join->waits.items + 1,
            (MAX_WAITS - 1) * sizeof *join->waits.items);
    join->waits.count--;
  }
  th_stack_wait wait = {.chunk = own->number,
                        .row = own->row,
                        .time = part->event->time,
                        .pid = part->event->pid,
                        .tid = part->event->tid};
  return th_vec_push(&join->waits, wait);
}

/* Whether a list of frames is the kernel's part: its last frame that is not zero says so. */
static bool ends_in_kernel(const th_stack_join *join, const th_stack_event *event) {
  for (size_t i = event->frame_count; i-- > 0;) {
    uint64_t frame = th_load_ptr(event->frames + i * event->frame_size, event->frame_size);
    if (frame)
      return th_is_kernel_frame(frame, event->frame_size, join->system_pointers);
  }
  return false;
}

static bool join_part(th_stack_join *join, const th_event *event, th_part *part) {
  const th_stack_event *stack = part->event;
  bool appended = false;
  th_row_place own = find_row(join, stack->time, stack->pid, stack->tid, event->cpu);
  if (own.chunk && is_old(join, event->time, stack->time))
    own.chunk = NULL;
  join->seen++;
  if (part->by_key) {
    bool wanted = own.chunk != NULL || (!part->kernel && join->waits.count);
    if (!th_stack_keys_use(&join->stacks->keys, part->kernel, stack->key, wanted,
                           &part->generation))
      return false;
  }
  if (TH_UNLIKELY(!part->kernel && join->waits.count) &&
      !complete_waits(join, part, event->time, &own, &appended))
    return false;
  if (TH_LIKELY(own.chunk != NULL)) {
    if (!append(join, part, own.chunk, own.row))
      return false;
    appended = true;
    if (part->kernel && !add_wait(join, part, &own))
      return false;
  }
  if (appended)
    join->joined++;
  else
    join->unmatched++;
  return true;
}

bool th_stack_join_event(th_stack_join *join, const th_event *event, const uint64_t *hash,
                         bool *valid) {
  th_stack_event stack;
  th_part part = {.event = &stack, .hash = hash};
  *valid = true;
  if (event->hook < 0x1820 || event->hook > 0x1826 || event->hook == 0x1821)
    return true;
  if (!th_parse_stack(event, &stack)) {
    *valid = event->hook == 0x1822;
    return true;
  }
  switch (stack.kind) {
  case TH_STACK_FRAMES:
    part.kernel = ends_in_kernel(join, &stack);
    return join_part(join, event, &part);
  case TH_STACK_KERNEL_KEY:
  case TH_STACK_USER_KEY:
    part.kernel = stack.kind == TH_STACK_KERNEL_KEY;
    part.by_key = true;
    return join_part(join, event, &part);
  case TH_STACK_KEY_DELETE:
  case TH_STACK_KEY_RUNDOWN:
    return th_stack_keys_define(&join->stacks->keys, ends_in_kernel(join, &stack), stack.key,
                                stack.frames, stack.frame_count, stack.frame_size);
  default:
    return true; /* KeyCreate: never seen; what it would mean is not known */
  }
}

void th_stack_join_free(th_stack_join *join) { th_vec_free(&join->waits); }
