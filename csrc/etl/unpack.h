/* A packed buffer to its exact expanded size, by whichever format it is in. */
#ifndef TH_ETL_UNPACK_H
#define TH_ETL_UNPACK_H

#include "base/compiler.h"
#include "etl/xpress_huffman.h"

/* Numbers of the formats as the system has them (COMPRESSION_FORMAT_...). */
enum { TH_PACKED_LZNT1 = 2, TH_PACKED_XPRESS = 3, TH_PACKED_XPRESS_HUFFMAN = 4 };

/* What unpacking needs besides its input and output; zeroed before the first use. */
typedef struct th_unpacker {
  th_xpress_huffman_table *table; /* made when the first buffer asks for it */
} th_unpacker;

typedef enum th_unpacked { TH_UNPACKED, TH_UNPACK_WRONG, TH_UNPACK_NO_MEMORY } th_unpacked;

/* Tries `format` first, then the others. */
th_unpacked th_unpack(th_unpacker *unpacker, unsigned format, const uint8_t *in, size_t in_size,
                      uint8_t *out, size_t out_size);
void th_unpacker_free(th_unpacker *unpacker);

#endif
