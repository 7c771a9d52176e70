#include "sys/registry.h"

#include <windows.h>

#define VIEW KEY_WOW64_64KEY

static LSTATUS open_key(const uint16_t *key, REGSAM access, HKEY *out) {
  return RegOpenKeyExW(HKEY_LOCAL_MACHINE, (LPCWSTR)key, 0, access | VIEW, out);
}

static LSTATUS make_key(const uint16_t *key, HKEY *out) {
  return RegCreateKeyExW(HKEY_LOCAL_MACHINE, (LPCWSTR)key, 0, NULL, REG_OPTION_NON_VOLATILE,
                         KEY_SET_VALUE | VIEW, NULL, out, NULL);
}

uint32_t th_sys_registry_number(const uint16_t *key, const uint16_t *name, uint32_t *value) {
  HKEY opened;
  DWORD found, type, size = sizeof found;
  LSTATUS code = open_key(key, KEY_QUERY_VALUE, &opened);
  if (code)
    return (uint32_t)code;
  code = RegQueryValueExW(opened, (LPCWSTR)name, NULL, &type, (LPBYTE)&found, &size);
  RegCloseKey(opened);
  if (code)
    return (uint32_t)code;
  if (type != REG_DWORD || size != sizeof found)
    return ERROR_INVALID_DATA;
  *value = found;
  return 0;
}

uint32_t th_sys_registry_text(const uint16_t *key, const uint16_t *name, uint16_t *text,
                              uint32_t capacity, uint32_t *units) {
  HKEY opened;
  DWORD type, size = capacity * 2;
  LSTATUS code = open_key(key, KEY_QUERY_VALUE, &opened);
  if (code)
    return (uint32_t)code;
  code = RegQueryValueExW(opened, (LPCWSTR)name, NULL, &type, (LPBYTE)text, &size);
  RegCloseKey(opened);
  if (code)
    return (uint32_t)code;
  if (type != REG_SZ || size % 2)
    return ERROR_INVALID_DATA;
  DWORD count = size / 2; /* with a zero, if whoever wrote it put one there */
  while (count && text[count - 1] == 0)
    count--;
  *units = count;
  return 0;
}

uint32_t th_sys_registry_name(const uint16_t *key, uint32_t index, uint16_t *name,
                              uint32_t capacity, uint32_t *units) {
  HKEY opened;
  DWORD count = capacity;
  LSTATUS code = open_key(key, KEY_QUERY_VALUE, &opened);
  if (code)
    return (uint32_t)code;
  code = RegEnumValueW(opened, index, (LPWSTR)name, &count, NULL, NULL, NULL, NULL);
  RegCloseKey(opened);
  if (code)
    return (uint32_t)code;
  *units = count;
  return 0;
}

static uint32_t set(const uint16_t *key, const uint16_t *name, DWORD type, const void *value,
                    DWORD size) {
  HKEY opened;
  LSTATUS code = make_key(key, &opened);
  if (code)
    return (uint32_t)code;
  code = RegSetValueExW(opened, (LPCWSTR)name, 0, type, value, size);
  RegCloseKey(opened);
  return (uint32_t)code;
}

uint32_t th_sys_registry_set_number(const uint16_t *key, const uint16_t *name, uint32_t value) {
  return set(key, name, REG_DWORD, &value, sizeof value);
}

uint32_t th_sys_registry_set_text(const uint16_t *key, const uint16_t *name,
                                  const uint16_t *text) {
  return set(key, name, REG_SZ, text, ((DWORD)lstrlenW((LPCWSTR)text) + 1) * 2);
}

uint32_t th_sys_registry_delete(const uint16_t *key, const uint16_t *name) {
  HKEY opened;
  LSTATUS code = open_key(key, KEY_SET_VALUE, &opened);
  if (code)
    return (uint32_t)code;
  code = RegDeleteValueW(opened, (LPCWSTR)name);
  RegCloseKey(opened);
  return (uint32_t)code;
}

uint32_t th_sys_registry_delete_empty(const uint16_t *key) {
  HKEY opened;
  DWORD keys = 0, values = 0;
  LSTATUS code = open_key(key, KEY_QUERY_VALUE, &opened);
  if (code)
    return (uint32_t)code;
  code = RegQueryInfoKeyW(opened, NULL, NULL, NULL, &keys, NULL, NULL, &values, NULL, NULL, NULL,
                          NULL);
  RegCloseKey(opened);
  if (code)
    return (uint32_t)code;
  return keys || values ? 0
                        : (uint32_t)RegDeleteKeyExW(HKEY_LOCAL_MACHINE, (LPCWSTR)key, VIEW, 0);
}
