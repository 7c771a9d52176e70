/* The modules of a trace: what was loaded where in which process, from when to when, and how a
   symbol server knows it. */
#ifndef TH_ETL_MODULE_MODEL_H
#define TH_ETL_MODULE_MODEL_H

#include "etl/image_event.h"
#include "etl/image_id_event.h"
#include "etl/lives.h"
#include "etl/volume_map.h"

typedef struct th_module_identity {
  uint8_t pdb_guid[16];
  uint32_t pdb_age, pdb_name; /* name: code */
  uint32_t timestamp;         /* 0: not known */
  bool has_pdb;
} th_module_identity;

typedef struct th_module_facts {
  uint64_t base, size;
  uint32_t pid, checksum;
  uint32_t nt_path, path, name; /* codes; the last two after `finish` */
  th_module_identity identity;
  bool has_checksum;
} th_module_facts;

/* What an event said of the module that a process has at an address. */
typedef struct th_module_claim {
  int64_t time; /* raw */
  uint32_t key; /* number of (pid, base) in the lives */
  th_module_identity identity;
} th_module_claim;

/* Where modules lie, for look-ups: sorted by pid, then base. */
typedef struct th_module_range {
  uint64_t base, last; /* both inside */
  uint64_t last_so_far; /* the greatest `last` of this pid up to here */
  uint32_t pid, row;
} th_module_range;

typedef struct th_module_model {
  th_dictionary *texts;
  th_lives lives;
  TH_VEC(th_module_facts) modules;
  th_intern pids;                /* processes with modules, numbered ... */
  TH_VEC(uint32_t) newest_of_pid; /* ... to the newest module + 1; `before` of its span goes on */
  TH_VEC(th_module_claim) claims;
  TH_VEC(th_module_range) ranges; /* after `finish` */
} th_module_model;

TH_NODISCARD bool th_module_model_image(th_module_model *model, const th_image_event *event,
                                        th_moment when);
/* An identity goes to the latest stay of its module that began at its time or before, else to the
   first one; the first identity wins. In real files it stands right before the module's own event,
   at the same time. */
TH_NODISCARD bool th_module_model_identity(th_module_model *model, const th_image_id_event *event,
                                           int64_t raw);
/* A process of this pid started or ended: what was loaded there is gone. */
TH_NODISCARD bool th_module_model_clear(th_module_model *model, uint32_t pid, int64_t time_ns);
/* Sorts for look-ups and names the files, once, at the end of the trace. */
TH_NODISCARD bool th_module_model_finish(th_module_model *model, const th_volume_map *volumes);

#define TH_NO_MODULE UINT32_MAX
/* The row of the module that held `address` in process `pid` at a time; the kernel's modules (pids
   0 and 4) serve every process. TH_NO_MODULE: none. After `finish`; any thread may ask. A frame is
   then named by the row's name and `address - base`; compare names without regard to case. */
uint32_t th_module_model_find(const th_module_model *model, uint32_t pid, int64_t time_ns,
                              uint64_t address);

enum {
  TH_TRACE_MODULE_PID,
  TH_TRACE_MODULE_BASE,
  TH_TRACE_MODULE_SIZE,
  TH_TRACE_MODULE_NAME,
  TH_TRACE_MODULE_PATH,
  TH_TRACE_MODULE_NT_PATH,
  TH_TRACE_MODULE_LOAD_NS,
  TH_TRACE_MODULE_UNLOAD_NS,
  TH_TRACE_MODULE_TIMESTAMP,
  TH_TRACE_MODULE_CHECKSUM,
  TH_TRACE_MODULE_PDB_NAME,
  TH_TRACE_MODULE_PDB_GUID,
  TH_TRACE_MODULE_PDB_AGE
};
extern const th_schema th_trace_module_schema;
/* In the order of the first event of each row; after `finish`. NULL: no memory. */
TH_NODISCARD th_table *th_module_model_rows(const th_module_model *model);
/* `texts` is the caller's. */
void th_module_model_free(th_module_model *model);

#endif
