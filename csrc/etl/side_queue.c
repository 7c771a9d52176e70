#include "etl/side_queue.h"

#include <string.h>

#define GUID_BYTES 16

bool th_side_queue_add(th_side_queue *queue, const th_event *event) {
  size_t size = GUID_BYTES + (size_t)event->size;
  if (queue->bytes + size > queue->limit)
    return false;
  th_side_event made = {*event, th_mem_alloc(size)};
  if (!made.bytes)
    return false;
  if (event->guid) {
    memcpy(made.bytes, event->guid, GUID_BYTES);
    made.event.guid = made.bytes;
  }
  if (event->size)
    memcpy(made.bytes + GUID_BYTES, event->payload, event->size);
  made.event.payload = made.bytes + GUID_BYTES;
  if (!th_vec_push(&queue->events, made)) {
    th_mem_free(made.bytes);
    return false;
  }
  queue->bytes += size;
  return true;
}

const th_event *th_side_queue_next(const th_side_queue *queue, int64_t time) {
  if (queue->first == queue->events.count)
    return NULL;
  const th_event *event = &queue->events.items[queue->first].event;
  return event->time <= time ? event : NULL;
}

void th_side_queue_drop(th_side_queue *queue) {
  th_side_event *gone = &queue->events.items[queue->first++];
  queue->bytes -= GUID_BYTES + (size_t)gone->event.size;
  th_mem_free(gone->bytes);
  if (queue->first == queue->events.count)
    queue->first = queue->events.count = 0;
}

void th_side_queue_free(th_side_queue *queue) {
  while (queue->first < queue->events.count)
    th_side_queue_drop(queue);
  th_vec_free(&queue->events);
}
