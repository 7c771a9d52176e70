#include "snapshot/merge.h"

#include <string.h>

static bool merge_texts(th_table *to, const th_table *from, size_t field, size_t first,
                        size_t count, size_t row, uint32_t **map) {
  const th_intern *strings = &from->columns[field].dictionary->strings;
  const uint32_t *source = TH_COLUMN(from, field, uint32_t);
  uint32_t *target = TH_COLUMN(to, field, uint32_t);
  if (!*map && !(*map = th_mem_zero_array(th_intern_count(strings) + 1, sizeof **map)))
    return false;
  for (size_t i = 0; i < count; i++) {
    uint32_t code = source[first + i];
    if (code >= th_intern_count(strings)) /* a missing value in a column without any text */
      continue;
    if (!(*map)[code]) {
      size_t bytes;
      uint32_t made;
      const uint8_t *text = th_intern_get(strings, code, &bytes);
      if (!th_intern_put(&to->columns[field].dictionary->strings, text, bytes, &made))
        return false;
      (*map)[code] = made + 1;
    }
    target[row + i] = (*map)[code] - 1;
  }
  return true;
}

bool th_merge_rows(th_table *to, const th_table *from, size_t first, size_t count,
                   th_merge_map *map) {
  const size_t row = to->count;
  if (!th_table_reserve(to, row + count))
    return false;
  to->count = row + count;
  for (size_t field = 0; field < to->schema->field_count; field++) {
    const th_type type = to->schema->fields[field].type;
    const size_t width = th_types[type].width;
    if (type == TH_TYPE_TEXT) {
      if (!merge_texts(to, from, field, first, count, row, &map->codes[field]))
        return false;
    } else if (count) {
      memcpy((uint8_t *)to->columns[field].data + row * width,
             (const uint8_t *)from->columns[field].data + first * width, count * width);
    }
    if (!from->columns[field].valid)
      continue;
    for (size_t i = 0; i < count; i++)
      if (!th_table_is_valid(from, field, first + i) && !th_table_set_missing(to, field, row + i))
        return false;
  }
  return true;
}

void th_merge_map_free(th_merge_map *map) {
  for (size_t field = 0; field < TH_MAX_FIELDS; field++)
    th_mem_free(map->codes[field]);
}
