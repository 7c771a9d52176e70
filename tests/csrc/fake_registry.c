/* A registry, over the script. */
#include "fake_etw.h"
#include "sys/registry.h"

#include <string.h>

fake_registry_state fake_registry;

static void free_value(fake_value *value) {
  fake_free_text(&value->key);
  fake_free_text(&value->name);
  fake_free_text(&value->text);
}

void fake_registry_reset(void) {
  for (size_t i = 0; i < fake_registry.count; i++)
    free_value(&fake_registry.values[i]);
  fake_registry.count = 0;
}

static fake_text copy(const uint16_t *text) {
  size_t units = 0;
  while (text[units])
    units++;
  return fake_copy_text(text, units);
}

static fake_value *find(const uint16_t *key, const uint16_t *name) {
  for (size_t i = 0; i < fake_registry.count; i++)
    if (fake_text_is(&fake_registry.values[i].key, key) &&
        fake_text_is(&fake_registry.values[i].name, name))
      return &fake_registry.values[i];
  return NULL;
}

uint32_t th_sys_registry_number(const uint16_t *key, const uint16_t *name, uint32_t *value) {
  FAKE_CALL(call, "RegQueryValueExW");
  uint32_t code = fake_begin(&call, FAKE_NO_PID);
  const fake_value *found = find(key, name);
  if (code == 0 && !found)
    code = TH_ERROR_FILE_NOT_FOUND;
  if (code == 0 && found->is_text)
    code = 13;
  if (code == 0)
    *value = found->number;
  fake_end();
  return code;
}

uint32_t th_sys_registry_text(const uint16_t *key, const uint16_t *name, uint16_t *text,
                              uint32_t capacity, uint32_t *units) {
  FAKE_CALL(call, "RegQueryValueExW");
  uint32_t code = fake_begin(&call, FAKE_NO_PID);
  const fake_value *found = find(key, name);
  if (code == 0 && !found)
    code = TH_ERROR_FILE_NOT_FOUND;
  if (code == 0 && !found->is_text)
    code = 13;
  if (code == 0 && found->text.count >= capacity)
    code = TH_ERROR_MORE_DATA;
  if (code == 0) {
    memcpy(text, found->text.units, 2 * found->text.count);
    *units = (uint32_t)found->text.count;
  }
  fake_end();
  return code;
}

uint32_t th_sys_registry_name(const uint16_t *key, uint32_t index, uint16_t *name,
                              uint32_t capacity, uint32_t *units) {
  FAKE_CALL(call, "RegEnumValueW");
  uint32_t code = fake_begin(&call, FAKE_NO_PID);
  const fake_value *found = NULL;
  bool any = false;
  for (size_t i = 0; i < fake_registry.count && !found; i++)
    if (fake_text_is(&fake_registry.values[i].key, key)) {
      any = true;
      if (index-- == 0)
        found = &fake_registry.values[i];
    }
  if (code == 0 && !found)
    code = any ? TH_ERROR_NO_MORE_ITEMS : TH_ERROR_FILE_NOT_FOUND;
  if (code == 0 && found->name.count >= capacity)
    code = TH_ERROR_MORE_DATA;
  if (code == 0) {
    memcpy(name, found->name.units, 2 * found->name.count);
    *units = (uint32_t)found->name.count;
  }
  fake_end();
  return code;
}

static uint32_t set(const uint16_t *key, const uint16_t *name, const uint16_t *text,
                    uint32_t number) {
  FAKE_CALL(call, "RegSetValueExW");
  uint32_t code = fake_begin(&call, FAKE_NO_PID);
  fake_value *value = find(key, name);
  if (code == 0 && !value && fake_registry.count == FAKE_MAX_VALUES)
    code = TH_ERROR_NO_SYSTEM_RESOURCES;
  if (code == 0) {
    if (value)
      free_value(value);
    else
      value = &fake_registry.values[fake_registry.count++];
    *value = (fake_value){.key = copy(key), .name = copy(name), .number = number};
    value->is_text = text != NULL;
    if (text)
      value->text = copy(text);
  }
  fake_end();
  return code;
}

uint32_t th_sys_registry_set_number(const uint16_t *key, const uint16_t *name, uint32_t value) {
  return set(key, name, NULL, value);
}

uint32_t th_sys_registry_set_text(const uint16_t *key, const uint16_t *name,
                                  const uint16_t *text) {
  return set(key, name, text, 0);
}

uint32_t th_sys_registry_delete(const uint16_t *key, const uint16_t *name) {
  FAKE_CALL(call, "RegDeleteValueW");
  uint32_t code = fake_begin(&call, FAKE_NO_PID);
  fake_value *found = find(key, name);
  if (code == 0 && !found)
    code = TH_ERROR_FILE_NOT_FOUND;
  if (code == 0) {
    free_value(found);
    *found = fake_registry.values[--fake_registry.count];
  }
  fake_end();
  return code;
}

/* Keys of the script are there as long as they have values. */
uint32_t th_sys_registry_delete_empty(const uint16_t *key) {
  FAKE_CALL(call, "RegDeleteKeyExW");
  (void)key;
  uint32_t code = fake_begin(&call, FAKE_NO_PID);
  fake_end();
  return code;
}
