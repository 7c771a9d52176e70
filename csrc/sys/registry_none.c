/* Systems without a registry: each call says so. */
#include "sys/registry.h"

#define NONE TH_ERROR_CALL_NOT_IMPLEMENTED

uint32_t th_sys_registry_number(const uint16_t *key, const uint16_t *name, uint32_t *value) {
  (void)key, (void)name, (void)value;
  return NONE;
}
uint32_t th_sys_registry_text(const uint16_t *key, const uint16_t *name, uint16_t *text,
                              uint32_t capacity, uint32_t *units) {
  (void)key, (void)name, (void)text, (void)capacity, (void)units;
  return NONE;
}
uint32_t th_sys_registry_name(const uint16_t *key, uint32_t index, uint16_t *name,
                              uint32_t capacity, uint32_t *units) {
  (void)key, (void)index, (void)name, (void)capacity, (void)units;
  return NONE;
}
uint32_t th_sys_registry_set_number(const uint16_t *key, const uint16_t *name, uint32_t value) {
  (void)key, (void)name, (void)value;
  return NONE;
}
uint32_t th_sys_registry_set_text(const uint16_t *key, const uint16_t *name,
                                  const uint16_t *text) {
  (void)key, (void)name, (void)text;
  return NONE;
}
uint32_t th_sys_registry_delete(const uint16_t *key, const uint16_t *name) {
  (void)key, (void)name;
  return NONE;
}
uint32_t th_sys_registry_delete_empty(const uint16_t *key) {
  (void)key;
  return NONE;
}
