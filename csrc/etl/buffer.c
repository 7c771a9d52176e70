#include "etl/buffer.h"

#include "base/mem.h"
#include "etl/layout.h"

/* Room for `wanted` bytes whose old content is not needed. */
static bool room(uint8_t **block, size_t *capacity, size_t wanted) {
  if (wanted <= *capacity)
    return true;
  uint8_t *grown = th_mem_alloc(wanted);
  if (!grown)
    return false;
  th_mem_free(*block);
  *block = grown;
  *capacity = wanted;
  return true;
}

static th_status read_packed(const th_source *source, const th_index_entry *entry, unsigned format,
                             th_buffer_tools *tools, th_buffer *buffer, th_failure *failure) {
  const uint8_t *packed;
  size_t got = entry->size;
  if (source->memory) {
    packed = source->memory + (size_t)entry->offset;
  } else {
    if (!room(&tools->packed, &tools->capacity, entry->size))
      return th_fail_memory(failure);
    th_status status =
        th_source_read(source, entry->offset, tools->packed, entry->size, &got, failure);
    if (status != TH_OK)
      return status;
    packed = tools->packed;
  }
  if (!room(&buffer->block, &buffer->capacity, entry->full))
    return th_fail_memory(failure);
  th_unpacked answer = TH_UNPACK_WRONG;
  if (got == entry->size)
    answer = th_unpack(&tools->unpacker, format, packed + TH_BUFFER_HEAD, got - TH_BUFFER_HEAD,
                       buffer->block + TH_BUFFER_HEAD, entry->full - TH_BUFFER_HEAD);
  if (answer == TH_UNPACK_NO_MEMORY)
    return th_fail_memory(failure);
  buffer->bytes = buffer->block;
  buffer->end = entry->end;
  buffer->shrunk = got < entry->size;
  buffer->state = answer == TH_UNPACKED ? TH_BUFFER_READY : TH_BUFFER_UNREADABLE;
  return TH_OK;
}

th_status th_buffer_read(const th_source *source, const th_index_entry *entry, unsigned format,
                         th_buffer_tools *tools, th_buffer *buffer, th_failure *failure) {
  if (entry->flags & TH_ENTRY_PACKED)
    return read_packed(source, entry, format, tools, buffer, failure);
  size_t got = entry->end;
  if (source->memory) {
    buffer->bytes = source->memory + (size_t)entry->offset;
  } else {
    if (!room(&buffer->block, &buffer->capacity, entry->end))
      return th_fail_memory(failure);
    th_status status =
        th_source_read(source, entry->offset, buffer->block, entry->end, &got, failure);
    if (status != TH_OK)
      return status;
    buffer->bytes = buffer->block;
  }
  buffer->shrunk = got < entry->end;
  buffer->end = got < TH_BUFFER_HEAD ? TH_BUFFER_HEAD : (uint32_t)got;
  buffer->state = TH_BUFFER_READY;
  return TH_OK;
}

void th_buffer_free(th_buffer *buffer) {
  th_mem_free(buffer->block);
  *buffer = (th_buffer){0};
}

void th_buffer_tools_free(th_buffer_tools *tools) {
  th_unpacker_free(&tools->unpacker);
  th_mem_free(tools->packed);
  *tools = (th_buffer_tools){0};
}
