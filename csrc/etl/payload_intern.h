/* Texts of payloads, numbered in a dictionary that tables then share. */
#ifndef TH_ETL_PAYLOAD_INTERN_H
#define TH_ETL_PAYLOAD_INTERN_H

#include "etl/payload.h"
#include "table/table.h"

/* UTF-16 as it is, lone surrogates too. False: no memory. */
TH_NODISCARD bool th_intern_utf16(th_dictionary *dictionary, const th_payload_text *text,
                                  uint32_t *code);
/* Bytes that are UTF-8 as a whole, else Latin-1: the recorder's code page is not known. */
TH_NODISCARD bool th_intern_ansi(th_dictionary *dictionary, const th_payload_text *text,
                                 uint32_t *code);

#endif
