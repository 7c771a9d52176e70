#include "etl/volume_map.h"

#include "etl/payload_intern.h"

bool th_volume_map_add(th_volume_map *map, th_dictionary *texts, const th_volume_event *event) {
  th_volume volume;
  if (map->volumes.count == TH_MAX_VOLUMES || event->nt_path.units == 0)
    return true;
  return th_intern_utf16(texts, &event->nt_path, &volume.nt_path) &&
         th_intern_utf16(texts, &event->dos_path, &volume.dos_path) &&
         th_vec_push(&map->volumes, volume);
}

static uint16_t lower(uint16_t unit) {
  return unit >= 'A' && unit <= 'Z' ? (uint16_t)(unit + 'a' - 'A') : unit;
}

static const uint16_t *text_of(const th_dictionary *texts, uint32_t code, size_t *units) {
  size_t size;
  const uint8_t *bytes = th_intern_get(&texts->strings, code, &size);
  *units = size / 2;
  return (const uint16_t *)(const void *)bytes;
}

static bool starts_with(const uint16_t *text, size_t units, const uint16_t *start,
                        size_t start_units) {
  if (start_units > units)
    return false;
  for (size_t i = 0; i < start_units; i++)
    if (lower(text[i]) != lower(start[i]))
      return false;
  return true;
}

/* Whether the text begins with ASCII words, whatever their case. */
static bool starts_with_ascii(const uint16_t *text, size_t units, const char *start) {
  for (size_t i = 0; start[i]; i++)
    if (i >= units || lower(text[i]) != (uint16_t)start[i])
      return false;
  return true;
}

/* The drive of the system, "C:", as two units of some volume's DOS path; NULL: not known. */
static const uint16_t *system_drive(const th_volume_map *map, const th_dictionary *texts) {
  for (size_t i = 0; i < map->volumes.count; i++) {
    size_t units, dos_units;
    const uint16_t *nt = text_of(texts, map->volumes.items[i].nt_path, &units);
    const uint16_t *dos = text_of(texts, map->volumes.items[i].dos_path, &dos_units);
    if (starts_with_ascii(nt, units, "\\systemroot") && dos_units >= 2 && dos[1] == ':')
      return dos;
  }
  return NULL;
}

/* The code of `start` and the rest of `text`. */
static bool put_joined(th_dictionary *texts, const uint16_t *start, size_t start_units,
                       const uint16_t *text, size_t units, uint32_t *code) {
  uint16_t *made = th_mem_array(start_units + units + 1, sizeof *made);
  if (!made)
    return false;
  memcpy(made, start, start_units * sizeof *made);
  memcpy(made + start_units, text, units * sizeof *made);
  bool done =
      th_intern_put(&texts->strings, made, (start_units + units) * sizeof *made, code);
  th_mem_free(made);
  return done;
}

bool th_volume_map_apply(const th_volume_map *map, th_dictionary *texts, uint32_t path,
                         uint32_t *dos_path) {
  size_t units, best_units = 0, dos_units;
  const uint16_t *text = text_of(texts, path, &units), *drive;
  const th_volume *best = NULL;
  for (size_t i = 0; i < map->volumes.count; i++) {
    size_t start_units;
    const uint16_t *start = text_of(texts, map->volumes.items[i].nt_path, &start_units);
    if (start_units > best_units && starts_with(text, units, start, start_units)) {
      best = &map->volumes.items[i];
      best_units = start_units;
    }
  }
  if (best) {
    const uint16_t *dos = text_of(texts, best->dos_path, &dos_units);
    return put_joined(texts, dos, dos_units, text + best_units, units - best_units, dos_path);
  }
  if (starts_with_ascii(text, units, "\\") && !starts_with_ascii(text, units, "\\device\\") &&
      (drive = system_drive(map, texts)) != NULL)
    return put_joined(texts, drive, 2, text, units, dos_path);
  *dos_path = path;
  return true;
}

void th_volume_map_free(th_volume_map *map) { th_vec_free(&map->volumes); }
