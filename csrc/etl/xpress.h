/* XPRESS, plain LZ77 (MS-XCA 2.3 and 2.4). */
#ifndef TH_ETL_XPRESS_H
#define TH_ETL_XPRESS_H

#include "base/compiler.h"

/* True when `in` expands to exactly `out_size` bytes. Input left over is fine; `out` may hold
   anything when the answer is false. */
bool th_xpress_expand(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size);

#endif
