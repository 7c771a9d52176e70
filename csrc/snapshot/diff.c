#include "snapshot/diff.h"

#include "base/cursor.h"
#include "base/hash.h"
#include "snapshot/rows.h"

#include <string.h>

#define NONE UINT32_MAX

/* A column of the rows of one side. */
typedef struct side {
  const uint8_t *data, *valid;
  size_t first, width;
} side;

typedef struct differ {
  const th_diff_request *request;
  size_t field_count; /* that both have */
  side before[TH_MAX_FIELDS], after[TH_MAX_FIELDS];
  uint32_t *text_codes[TH_MAX_FIELDS]; /* numbers of the later table's texts in the earlier one */
  bool is_key[TH_MAX_FIELDS];
  uint32_t *heads, *links; /* rows before by hash: first of each slot, next of each row */
  size_t mask;
  uint32_t *partner; /* row before -> row after, or NONE */
  size_t *rows_a, *rows_b;
} differ;

/* ===== values that compare across tables ========================================== */

/* Texts the earlier table does not have get numbers of their own. */
static bool map_texts(differ *of, size_t field) {
  const th_dictionary *before = of->request->before.table->columns[field].dictionary;
  const th_dictionary *after = of->request->after.table->columns[field].dictionary;
  if (before == after)
    return true;
  const size_t count = th_intern_count(&after->strings);
  const size_t known = th_intern_count(&before->strings);
  uint32_t *codes = th_mem_array(count + 1, sizeof *codes);
  if (!codes)
    return false;
  for (size_t i = 0; i < count; i++) {
    size_t size;
    const uint8_t *text = th_intern_get(&after->strings, (uint32_t)i, &size);
    if (!th_intern_find(&before->strings, text, size, &codes[i]))
      codes[i] = (uint32_t)(known + i);
  }
  of->text_codes[field] = codes;
  return true;
}

TH_INLINE uint64_t raw_value(const side *from, size_t row) {
  const uint8_t *at = from->data + row * from->width;
  return from->width == 4 ? th_load_u32(at) : from->width == 8 ? th_load_u64(at) : *at;
}

TH_INLINE bool has(const side *from, size_t row) {
  return !from->valid || (from->valid[(from->first + row) >> 3] >> ((from->first + row) & 7) & 1);
}

TH_INLINE uint64_t value_before(const differ *of, size_t field, size_t row) {
  return raw_value(&of->before[field], row);
}
TH_INLINE uint64_t value_after(const differ *of, size_t field, size_t row) {
  uint64_t value = raw_value(&of->after[field], row);
  return of->text_codes[field] ? of->text_codes[field][value] : value;
}
TH_INLINE bool has_before(const differ *of, size_t field, size_t row) {
  return has(&of->before[field], row);
}
TH_INLINE bool has_after(const differ *of, size_t field, size_t row) {
  return has(&of->after[field], row);
}
TH_INLINE bool equal(const differ *of, size_t field, size_t before, size_t after) {
  return value_before(of, field, before) == value_after(of, field, after);
}

static void set_side(side *to, const th_rows *rows, size_t field) {
  const th_column *column = &rows->table->columns[field];
  const size_t width = th_types[rows->table->schema->fields[field].type].width;
  *to = (side){(const uint8_t *)column->data + rows->first * width, column->valid, rows->first, width};
}

/* ===== which rows are the same ==================================================== */

static bool same_process(const differ *of, size_t before, size_t after) {
  const size_t time = TH_PROCESS_CREATE_TIME;
  if (!equal(of, TH_PROCESS_PID, before, after))
    return false;
  if (of->field_count > time && has_before(of, time, before) && has_after(of, time, after))
    return equal(of, time, before, after);
  return equal(of, TH_PROCESS_NAME, before, after) && equal(of, TH_PROCESS_PPID, before, after);
}

static bool same_row(const differ *of, size_t before, size_t after) {
  if (of->request->processes)
    return same_process(of, before, after);
  for (size_t i = 0; i < of->request->key_count; i++)
    if (!equal(of, of->request->keys[i], before, after))
      return false;
  return true;
}

static bool changed(const differ *of, size_t before, size_t after) {
  for (size_t field = 0; field < of->field_count; field++)
    if (!of->is_key[field] && has_before(of, field, before) && has_after(of, field, after) &&
        !equal(of, field, before, after))
      return true;
  return false;
}

static uint64_t hash_of(const differ *of, bool after, size_t row) {
  uint64_t hash = 0;
  if (of->request->processes)
    return th_hash_u64(raw_value(&(after ? of->after : of->before)[TH_PROCESS_PID], row));
  for (size_t i = 0; i < of->request->key_count; i++) {
    const size_t field = of->request->keys[i];
    hash = th_hash_u64(hash ^ (after ? value_after(of, field, row) : value_before(of, field, row)));
  }
  return hash;
}

/* Rows before, by hash; chains keep their order, so that equal names are paired in order. */
static bool index_before(differ *of) {
  size_t size = 16;
  while (size < of->request->before.count * 2)
    size *= 2;
  of->mask = size - 1;
  of->heads = th_mem_array(size, sizeof *of->heads);
  of->links = th_mem_array(of->request->before.count, sizeof *of->links);
  of->partner = th_mem_array(of->request->before.count, sizeof *of->partner);
  if (!of->heads || !of->links || !of->partner)
    return false;
  memset(of->heads, 0xff, size * sizeof *of->heads);
  for (size_t row = of->request->before.count; row-- > 0;) {
    size_t slot = (size_t)hash_of(of, false, row) & of->mask;
    of->links[row] = of->heads[slot];
    of->heads[slot] = (uint32_t)row;
    of->partner[row] = NONE;
  }
  return true;
}

/* The row before that is this row after, taken out of its chain; NONE when there is none. */
static uint32_t take_partner(differ *of, size_t after) {
  uint32_t *at = &of->heads[(size_t)hash_of(of, true, after) & of->mask];
  while (*at != NONE && !same_row(of, *at, after))
    at = &of->links[*at];
  uint32_t found = *at;
  if (found != NONE)
    *at = of->links[found];
  return found;
}

/* ===== results ==================================================================== */

static th_status gather(const th_rows *from, size_t *rows, size_t count, th_table **out,
                        th_failure *failure) {
  for (size_t i = 0; i < count; i++)
    rows[i] += from->first;
  return th_table_gather(from->table, rows, count, out, failure);
}

static th_status collect(differ *of, th_diff *diff, th_failure *failure) {
  const th_rows *before = &of->request->before, *after = &of->request->after;
  size_t pairs = 0, count = 0;
  th_status status;
  /* rows_b: what was added, then reused for the later side of the changed pairs. */
  for (size_t row = 0; row < after->count; row++) {
    uint32_t found = take_partner(of, row);
    if (found == NONE)
      of->rows_b[count++] = row;
    else
      of->partner[found] = (uint32_t)row;
  }
  status = gather(after, of->rows_b, count, &diff->added, failure);
  if (status != TH_OK)
    return status;
  count = 0;
  for (size_t row = 0; row < before->count; row++)
    if (of->partner[row] == NONE)
      of->rows_a[count++] = row;
  status = gather(before, of->rows_a, count, &diff->removed, failure);
  if (status != TH_OK)
    return status;
  for (size_t row = 0; row < before->count; row++) {
    if (of->partner[row] == NONE)
      continue;
    if (changed(of, row, of->partner[row])) {
      of->rows_a[pairs] = row;
      of->rows_b[pairs++] = of->partner[row];
    } else {
      diff->same++;
    }
  }
  status = gather(before, of->rows_a, pairs, &diff->before_changed, failure);
  if (status != TH_OK)
    return status;
  return gather(after, of->rows_b, pairs, &diff->after_changed, failure);
}

th_status th_diff_tables(const th_diff_request *request, th_diff *diff, th_failure *failure) {
  differ of = {.request = request};
  th_diff made = {0};
  th_status status = TH_NO_MEMORY;
  const th_schema *a = request->before.table->schema, *b = request->after.table->schema;
  if (request->before.count >= NONE || request->after.count >= NONE)
    return th_fail(failure, TH_INVALID, "there are too many rows to compare");
  of.field_count = a->field_count < b->field_count ? a->field_count : b->field_count;
  for (size_t i = 0; i < request->key_count; i++)
    of.is_key[request->keys[i]] = true;
  for (size_t field = 0; field < of.field_count; field++) {
    set_side(&of.before[field], &request->before, field);
    set_side(&of.after[field], &request->after, field);
    if (a->fields[field].type == TH_TYPE_TEXT && !map_texts(&of, field))
      goto done;
  }
  of.rows_a = th_mem_array(request->before.count, sizeof *of.rows_a);
  of.rows_b = th_mem_array(request->after.count, sizeof *of.rows_b);
  if (!of.rows_a || !of.rows_b || !index_before(&of))
    goto done;
  status = collect(&of, &made, failure);

done:
  for (size_t field = 0; field < TH_MAX_FIELDS; field++)
    th_mem_free(of.text_codes[field]);
  th_mem_free(of.heads);
  th_mem_free(of.links);
  th_mem_free(of.partner);
  th_mem_free(of.rows_a);
  th_mem_free(of.rows_b);
  if (status != TH_OK) {
    th_table_drop(made.removed);
    th_table_drop(made.added);
    th_table_drop(made.before_changed);
    th_table_drop(made.after_changed);
    return status == TH_NO_MEMORY ? th_fail_memory(failure) : status;
  }
  *diff = made;
  return TH_OK;
}
