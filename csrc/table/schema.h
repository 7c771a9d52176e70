/* What the columns of a table are called, what they hold, and how they look to Arrow and Python. */
#ifndef TH_TABLE_SCHEMA_H
#define TH_TABLE_SCHEMA_H

#include "base/compiler.h"

/* Type of a column, bytes per row, Python format of its buffer, Arrow format, name for people.
   TEXT rows are uint32 codes into a dictionary of UTF-16 strings; LABEL rows are uint8 codes into
   a fixed list of words; BYTES and ADDRESSES rows are int64 offsets into a pool. TIME is int64
   nanoseconds since 1970-01-01 UTC. */
#define TH_TYPE_LIST(X)                                                                            \
  X(BOOL, 1, "?", "b", "bool")                                                                     \
  X(U8, 1, "B", "C", "uint8")                                                                      \
  X(U16, 2, "H", "S", "uint16")                                                                    \
  X(U32, 4, "I", "I", "uint32")                                                                    \
  X(I32, 4, "i", "i", "int32")                                                                     \
  X(U64, 8, "Q", "L", "uint64")                                                                    \
  X(I64, 8, "q", "l", "int64")                                                                     \
  X(F64, 8, "d", "g", "float64")                                                                   \
  X(TIME, 8, "q", "tsn:UTC", "timestamp[ns, UTC]")                                                 \
  X(TEXT, 4, "I", "I", "text")                                                                     \
  X(LABEL, 1, "B", "C", "label")                                                                   \
  X(BYTES, 8, NULL, "Z", "bytes")                                                                  \
  X(ADDRESSES, 8, NULL, "+L", "list[uint64]")

typedef enum th_type {
#define TH_TYPE_ENUM(name, width, format, arrow, text) TH_TYPE_##name,
  TH_TYPE_LIST(TH_TYPE_ENUM)
#undef TH_TYPE_ENUM
      TH_TYPE_COUNT
} th_type;

typedef struct th_type_traits {
  size_t width;
  const char *format; /* of the buffer protocol; NULL: no plain buffer */
  const char *arrow;
  const char *text;
} th_type_traits;

extern const th_type_traits th_types[TH_TYPE_COUNT];

typedef struct th_field {
  const char *name;
  th_type type;
  bool nullable;
  const char *doc;           /* meaning and unit: the doc of the row's field */
  const char *const *labels; /* LABEL: the words by code, NULL-terminated */
} th_field;

#define TH_MAX_FIELDS 32

typedef struct th_schema {
  const char *name; /* of one row: "Process" */
  const char *doc;
  size_t field_count;
  th_field fields[TH_MAX_FIELDS];
} th_schema;

#endif
