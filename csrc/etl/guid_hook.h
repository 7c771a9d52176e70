/* Classes of kernel events by GUID. The same events come under a hook id (group << 8 | opcode) in
   kernel headers and under a class GUID in FULL and EVENT headers; everybody behind this sees the
   hook. */
#ifndef TH_ETL_GUID_HOOK_H
#define TH_ETL_GUID_HOOK_H

#include "base/compiler.h"

/* Image loads are in the group of processes (hook 0x030A), the rest of the class is not. */
#define TH_HOOK_IMAGE_LOAD 0x030a

/* The hook of an opcode of a class (16 bytes as on disk); TH_NO_HOOK when it is no kernel class. */
uint32_t th_guid_hook(const uint8_t *guid, unsigned opcode);

#endif
