/* LZNT1 (MS-XCA 2.5). */
#ifndef TH_ETL_LZNT1_H
#define TH_ETL_LZNT1_H

#include "base/compiler.h"

/* As th_xpress_expand. */
bool th_lznt1_expand(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size);

#endif
