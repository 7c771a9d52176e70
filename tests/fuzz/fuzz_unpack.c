/* The decompressors from any bytes. The first three say which format and how long the output is to
   be; the rest is the packed input. */
#include "base/cursor.h"
#include "etl/unpack.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 3)
    return 0;
  size_t wanted = th_load_u16(data + 1);
  uint8_t *out = malloc(wanted ? wanted : 1);
  if (!out)
    return 0;
  th_unpacker unpacker = {0};
  (void)th_unpack(&unpacker, 2 + data[0] % 3, data + 3, size - 3, out, wanted);
  th_unpacker_free(&unpacker);
  free(out);
  return 0;
}
