/* The door to the registry: HKEY_LOCAL_MACHINE, always its 64-bit view. Texts are zero-terminated.
   2 (ERROR_FILE_NOT_FOUND): there is no such key or value. */
#ifndef TH_SYS_REGISTRY_H
#define TH_SYS_REGISTRY_H

#include "sys/sys.h"

#define TH_ERROR_FILE_NOT_FOUND 2u
#define TH_ERROR_NO_MORE_ITEMS 259u

uint32_t th_sys_registry_number(const uint16_t *key, const uint16_t *name, uint32_t *value);
/* *units counts without the zero; 234 (ERROR_MORE_DATA) when `capacity` is too small. */
uint32_t th_sys_registry_text(const uint16_t *key, const uint16_t *name, uint16_t *text,
                              uint32_t capacity, uint32_t *units);
/* Name of the value of that index; 259 (ERROR_NO_MORE_ITEMS) at the end. */
uint32_t th_sys_registry_name(const uint16_t *key, uint32_t index, uint16_t *name,
                              uint32_t capacity, uint32_t *units);
/* These two make the key when it is not there. */
uint32_t th_sys_registry_set_number(const uint16_t *key, const uint16_t *name, uint32_t value);
uint32_t th_sys_registry_set_text(const uint16_t *key, const uint16_t *name, const uint16_t *text);
uint32_t th_sys_registry_delete(const uint16_t *key, const uint16_t *name);
/* Removes a key that has no values and no keys; another stays and is no error. */
uint32_t th_sys_registry_delete_empty(const uint16_t *key);

#endif
