#include "etl/unpack.h"

#include "base/mem.h"
#include "etl/lznt1.h"
#include "etl/xpress.h"

static th_unpacked expand(th_unpacker *unpacker, unsigned format, const uint8_t *in, size_t in_size,
                          uint8_t *out, size_t out_size) {
  bool exact;
  if (format == TH_PACKED_XPRESS) {
    exact = th_xpress_expand(in, in_size, out, out_size);
  } else if (format == TH_PACKED_LZNT1) {
    exact = th_lznt1_expand(in, in_size, out, out_size);
  } else {
    if (!unpacker->table && !(unpacker->table = th_mem_alloc(sizeof *unpacker->table)))
      return TH_UNPACK_NO_MEMORY;
    exact = th_xpress_huffman_expand(in, in_size, out, out_size, unpacker->table);
  }
  return exact ? TH_UNPACKED : TH_UNPACK_WRONG;
}

th_unpacked th_unpack(th_unpacker *unpacker, unsigned format, const uint8_t *in, size_t in_size,
                      uint8_t *out, size_t out_size) {
  static const unsigned order[] = {TH_PACKED_XPRESS, TH_PACKED_LZNT1, TH_PACKED_XPRESS_HUFFMAN};
  th_unpacked answer = expand(unpacker, format, in, in_size, out, out_size);
  for (unsigned i = 0; i < 3 && answer == TH_UNPACK_WRONG; i++)
    if (order[i] != format)
      answer = expand(unpacker, order[i], in, in_size, out, out_size);
  return answer;
}

void th_unpacker_free(th_unpacker *unpacker) {
  th_mem_free(unpacker->table);
  unpacker->table = NULL;
}
