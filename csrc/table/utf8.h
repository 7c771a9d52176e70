/* UTF-16 to UTF-8 for those who cannot take lone surrogates: these become U+FFFD and are counted. */
#ifndef TH_TABLE_UTF8_H
#define TH_TABLE_UTF8_H

#include "base/compiler.h"

/* Bytes that `units` UTF-16 units need as UTF-8; *replaced grows by the lone surrogates met. */
size_t th_utf8_size(const uint16_t *text, size_t units, size_t *replaced);
/* Writes exactly th_utf8_size bytes. */
void th_utf8_write(const uint16_t *text, size_t units, uint8_t *out);

#endif
