#include "etl/source.h"

#include <string.h>

th_status th_source_read(const th_source *source, uint64_t offset, void *buffer, size_t size,
                         size_t *read, th_failure *failure) {
  uint64_t there = offset < source->size ? source->size - offset : 0;
  if (size > there)
    size = (size_t)there;
  if (source->memory) {
    if (size)
      memcpy(buffer, source->memory + (size_t)offset, size);
    *read = size;
    return TH_OK;
  }
  if (!size) {
    *read = 0;
    return TH_OK;
  }
  size_t got = 0;
  if (source->reader) {
    th_status status = source->reader(source->context, offset, buffer, size, &got, failure);
    if (status != TH_OK)
      return status;
    if (got > size)
      return th_fail(failure, TH_IO, "the reader gave more bytes than it was asked for");
    *read = got;
    return TH_OK;
  }
  uint32_t code = th_file_read(source->file, offset, buffer, size, &got);
  if (code) {
    *failure = (th_failure){
        .status = TH_IO, .code = code, .offset = offset, .has_offset = true, .function = "read"};
    return TH_IO;
  }
  *read = got;
  return TH_OK;
}
