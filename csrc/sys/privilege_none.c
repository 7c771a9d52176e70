/* Systems without privileges: the call says so. */
#include "sys/privilege.h"

uint32_t th_sys_privilege(th_sys_privilege_name name, bool enable, bool *before) {
  (void)name, (void)enable, (void)before;
  return TH_ERROR_CALL_NOT_IMPLEMENTED;
}
