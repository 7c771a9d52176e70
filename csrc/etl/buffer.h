/* The bytes of one buffer: read, unpacked when they are packed, or simply where they are. */
#ifndef TH_ETL_BUFFER_H
#define TH_ETL_BUFFER_H

#include "etl/index.h"
#include "etl/unpack.h"

typedef enum th_buffer_state {
  TH_BUFFER_READY,
  TH_BUFFER_UNREADABLE /* packed, and no format fits */
} th_buffer_state;

/* Memory is kept from one buffer to the next. */
typedef struct th_buffer {
  const uint8_t *bytes; /* the buffer from its head on; `end` of them are valid */
  uint8_t *block;       /* own memory, or NULL */
  size_t capacity;
  uint32_t end;
  bool shrunk; /* the file ended earlier than when it was indexed */
  th_buffer_state state;
} th_buffer;

/* What reading needs besides; one for each thread. Zeroed before the first use. */
typedef struct th_buffer_tools {
  th_unpacker unpacker;
  uint8_t *packed; /* the packed bytes of the buffer at hand */
  size_t capacity;
} th_buffer_tools;

/* Fills `buffer`; on failure it is still good for another try. */
th_status th_buffer_read(const th_source *source, const th_index_entry *entry, unsigned format,
                         th_buffer_tools *tools, th_buffer *buffer, th_failure *failure);
void th_buffer_free(th_buffer *buffer);
void th_buffer_tools_free(th_buffer_tools *tools);

#endif
