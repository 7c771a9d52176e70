#include "etl/module_model.h"

#include "etl/payload_intern.h"

#include <stdlib.h>

/* A look-up gives up after so many modules that reach over the address but are not it: only a
   damaged trace has them. */
#define MAX_LOOKS 256

typedef struct th_module_key {
  uint64_t base;
  uint64_t pid;
} th_module_key;

static th_module_key key_of(uint32_t pid, uint64_t base) {
  return (th_module_key){.base = base, .pid = pid};
}

/* Chains the new row to the others of its process. */
static bool link_row(th_module_model *model, uint32_t pid, uint32_t row) {
  uint32_t number;
  if (!th_intern_put(&model->pids, &pid, sizeof pid, &number))
    return false;
  while (model->newest_of_pid.count <= number)
    if (!th_vec_push(&model->newest_of_pid, 0))
      return false;
  model->lives.spans.items[row].before = model->newest_of_pid.items[number];
  model->newest_of_pid.items[number] = row + 1;
  return true;
}

/* Fills what is not known yet. */
static void complete(th_module_identity *known, const th_module_identity *more) {
  if (!known->timestamp)
    known->timestamp = more->timestamp;
  if (!known->has_pdb && more->has_pdb) {
    uint32_t timestamp = known->timestamp;
    *known = *more;
    known->timestamp = timestamp;
  }
}

bool th_module_model_image(th_module_model *model, const th_image_event *event, th_moment when) {
  th_module_key key = key_of(event->pid, event->base);
  uint32_t path, row, ended;
  bool made;
  if (!th_intern_utf16(model->texts, &event->path, &path) ||
      !th_vec_reserve(&model->modules, model->modules.count + 1) ||
      !th_lives_event(&model->lives, &key, sizeof key, event->life, when, &row, &made, &ended))
    return false;
  th_module_facts *facts = &model->modules.items[row];
  th_module_identity identity = {.timestamp = event->timestamp};
  if (!made) {
    size_t size;
    (void)th_intern_get(&model->texts->strings, facts->nt_path, &size);
    if (size == 0)
      facts->nt_path = path;
    if (!facts->size)
      facts->size = event->size;
    if (!facts->has_checksum) {
      facts->checksum = event->checksum;
      facts->has_checksum = event->has_checksum;
    }
    complete(&facts->identity, &identity);
    return true;
  }
  model->modules.count++;
  *facts = (th_module_facts){.base = event->base,
                             .size = event->size,
                             .pid = event->pid,
                             .checksum = event->checksum,
                             .nt_path = path,
                             .identity = identity,
                             .has_checksum = event->has_checksum};
  return link_row(model, event->pid, row);
}

bool th_module_model_identity(th_module_model *model, const th_image_id_event *event,
                              int64_t raw) {
  th_module_key key = key_of(event->pid, event->base);
  th_module_claim claim = {.time = raw};
  if (event->kind == TH_IMAGE_ID_PDB) {
    if (!th_intern_ansi(model->texts, &event->pdb_name, &claim.identity.pdb_name))
      return false;
    claim.identity.has_pdb = true;
    claim.identity.pdb_age = event->pdb_age;
    memcpy(claim.identity.pdb_guid, event->pdb_guid, sizeof claim.identity.pdb_guid);
  } else {
    claim.identity.timestamp = event->timestamp;
  }
  return th_lives_key(&model->lives, &key, sizeof key, &claim.key) &&
         th_vec_push(&model->claims, claim);
}

/* Claims come in the order of their time, so the row that one goes to is never before the row of
   the one before it: `first` moves along. */
static void settle_claims(th_module_model *model) {
  for (size_t i = 0; i < model->claims.count; i++) {
    const th_module_claim *claim = &model->claims.items[i];
    uint32_t *row = &model->lives.first.items[claim->key];
    const th_span *spans = model->lives.spans.items;
    if (!*row)
      continue;
    while (spans[*row - 1].next && spans[spans[*row - 1].next - 1].first_time <= claim->time)
      *row = spans[*row - 1].next;
    complete(&model->modules.items[*row - 1].identity, &claim->identity);
  }
  th_vec_free(&model->claims);
}

bool th_module_model_clear(th_module_model *model, uint32_t pid, int64_t time_ns) {
  uint32_t number;
  if (!th_intern_count(&model->pids))
    return true;
  if (!th_intern_put(&model->pids, &pid, sizeof pid, &number))
    return false;
  if (number >= model->newest_of_pid.count)
    return th_vec_push(&model->newest_of_pid, 0);
  for (uint32_t row = model->newest_of_pid.items[number]; row;) {
    th_span *span = &model->lives.spans.items[row - 1];
    if (span->end_ns == TH_UNKNOWN_TIME)
      span->end_ns = time_ns;
    row = span->before;
  }
  model->newest_of_pid.items[number] = 0;
  return true;
}

static int compare(const void *left, const void *right) {
  const th_module_range *a = left, *b = right;
  if (a->pid != b->pid)
    return a->pid < b->pid ? -1 : 1;
  if (a->base != b->base)
    return a->base < b->base ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

static bool sort_ranges(th_module_model *model) {
  if (!th_vec_reserve(&model->ranges, model->modules.count))
    return false;
  model->ranges.count = 0;
  for (uint32_t row = 0; row < model->modules.count; row++) {
    const th_module_facts *facts = &model->modules.items[row];
    if (!facts->size)
      continue;
    uint64_t last = facts->base + (facts->size - 1);
    if (last < facts->base)
      last = UINT64_MAX;
    model->ranges.items[model->ranges.count++] =
        (th_module_range){.base = facts->base, .last = last, .pid = facts->pid, .row = row};
  }
  if (model->ranges.count)
    qsort(model->ranges.items, model->ranges.count, sizeof *model->ranges.items, compare);
  for (size_t i = 0; i < model->ranges.count; i++) {
    th_module_range *range = &model->ranges.items[i];
    range->last_so_far = range->last;
    if (i && range[-1].pid == range->pid && range[-1].last_so_far > range->last)
      range->last_so_far = range[-1].last_so_far;
  }
  return true;
}

static bool name_of(th_dictionary *texts, uint32_t path, uint32_t *name) {
  size_t size;
  const uint8_t *bytes = th_intern_get(&texts->strings, path, &size);
  size_t units = size / 2, from = units;
  while (from > 0 && !(bytes[2 * from - 2] == '\\' && bytes[2 * from - 1] == 0))
    from--;
  if (from == 0) {
    *name = path;
    return true;
  }
  uint16_t *copy = th_mem_array(units - from + 1, sizeof *copy);
  if (!copy)
    return false;
  memcpy(copy, bytes + 2 * from, (units - from) * sizeof *copy);
  bool done = th_intern_put(&texts->strings, copy, (units - from) * sizeof *copy, name);
  th_mem_free(copy);
  return done;
}

bool th_module_model_finish(th_module_model *model, const th_volume_map *volumes) {
  for (size_t row = 0; row < model->modules.count; row++) {
    th_module_facts *facts = &model->modules.items[row];
    if (!th_volume_map_apply(volumes, model->texts, facts->nt_path, &facts->path) ||
        !name_of(model->texts, facts->nt_path, &facts->name))
      return false;
  }
  settle_claims(model);
  return sort_ranges(model);
}

static uint32_t find_in(const th_module_model *model, uint32_t pid, int64_t time_ns,
                        uint64_t address) {
  const th_module_range *ranges = model->ranges.items;
  size_t low = 0, high = model->ranges.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (ranges[middle].pid < pid || (ranges[middle].pid == pid && ranges[middle].base <= address))
      low = middle + 1;
    else
      high = middle;
  }
  for (size_t looks = 0; low > 0 && looks < MAX_LOOKS; looks++) {
    const th_module_range *range = &ranges[--low];
    if (range->pid != pid || range->last_so_far < address)
      break;
    const th_span *span = &model->lives.spans.items[range->row];
    if (address <= range->last && span->start_ns <= time_ns &&
        (span->end_ns == TH_UNKNOWN_TIME || time_ns <= span->end_ns))
      return range->row;
  }
  return TH_NO_MODULE;
}

uint32_t th_module_model_find(const th_module_model *model, uint32_t pid, int64_t time_ns,
                              uint64_t address) {
  static const uint32_t kernel_pids[2] = {0, 4};
  uint32_t row = find_in(model, pid, time_ns, address);
  for (size_t i = 0; i < 2 && row == TH_NO_MODULE; i++)
    if (kernel_pids[i] != pid)
      row = find_in(model, kernel_pids[i], time_ns, address);
  return row;
}

void th_module_model_free(th_module_model *model) {
  th_lives_free(&model->lives);
  th_vec_free(&model->modules);
  th_intern_free(&model->pids);
  th_vec_free(&model->newest_of_pid);
  th_vec_free(&model->claims);
  th_vec_free(&model->ranges);
}
