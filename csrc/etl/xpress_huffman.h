/* XPRESS with Huffman codes (MS-XCA 2.1 and 2.2). */
#ifndef TH_ETL_XPRESS_HUFFMAN_H
#define TH_ETL_XPRESS_HUFFMAN_H

#include "base/compiler.h"

/* Room for decoding one block; the caller has it, so that nothing is allocated per buffer. */
typedef struct th_xpress_huffman_table {
  uint16_t symbols[1u << 15]; /* by the next 15 bits: symbol << 4 | length of its code */
} th_xpress_huffman_table;

/* As th_xpress_expand. */
bool th_xpress_huffman_expand(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size,
                              th_xpress_huffman_table *table);

#endif
