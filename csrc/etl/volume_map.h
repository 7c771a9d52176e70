/* Kernel paths to the paths people know: "\Device\HarddiskVolume3\x" to "C:\x". */
#ifndef TH_ETL_VOLUME_MAP_H
#define TH_ETL_VOLUME_MAP_H

#include "etl/volume_event.h"
#include "table/table.h"

typedef struct th_volume {
  uint32_t nt_path, dos_path; /* codes */
} th_volume;

typedef struct th_volume_map {
  TH_VEC(th_volume) volumes;
} th_volume_map;

/* More volumes than a system has letters and mount points; the rest is ignored. */
#define TH_MAX_VOLUMES 1024

TH_NODISCARD bool th_volume_map_add(th_volume_map *map, th_dictionary *texts,
                                    const th_volume_event *event);
/* *dos_path is the code of the path with its longest known beginning replaced, or `path` itself.
   "\Windows\x", which names no volume, is on that of "\SystemRoot\". */
TH_NODISCARD bool th_volume_map_apply(const th_volume_map *map, th_dictionary *texts,
                                      uint32_t path, uint32_t *dos_path);
void th_volume_map_free(th_volume_map *map);

#endif
