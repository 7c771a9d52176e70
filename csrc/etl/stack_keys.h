/* Stack keys: numbers that stand for stacks whose frames are written later.

   A key is used again for other stacks, so what counts is its generation: all uses between one
   definition and the next have the frames of the latter. Kernel and user keys are apart: the same
   number may stand for one of each at a time. */
#ifndef TH_ETL_STACK_KEYS_H
#define TH_ETL_STACK_KEYS_H

#include "base/intern.h"

typedef struct th_key_generation {
  uint64_t offset; /* of the first frame in `frames`, once defined */
  uint64_t uses;
  uint32_t count;  /* frames */
  bool defined;
  bool wanted; /* a stack that is kept has it as a part */
} th_key_generation;

typedef struct th_stack_keys {
  TH_VEC(th_key_generation) generations;
  TH_VEC(uint64_t) frames;      /* of wanted generations */
  th_intern keys[2];            /* of users and of the kernel, numbered ... */
  TH_VEC(uint32_t) open[2];     /* ... to the generation in use + 1, or 0 */
} th_stack_keys;

/* The generation that a use of the key belongs to. `wanted`: its frames will be asked for. False:
   no memory. */
TH_NODISCARD bool th_stack_keys_use(th_stack_keys *keys, bool kernel, uint64_t key, bool wanted,
                                    uint32_t *generation);
/* Gives the present generation of a key its frames and ends it; nothing when it was never used. */
TH_NODISCARD bool th_stack_keys_define(th_stack_keys *keys, bool kernel, uint64_t key,
                                       const uint8_t *bytes, size_t count, unsigned frame_size);
/* Frames of a generation; none when it was never defined. */
const uint64_t *th_stack_keys_frames(const th_stack_keys *keys, uint32_t generation,
                                     size_t *count);
/* Uses of generations that have no definition yet. */
uint64_t th_stack_keys_unresolved(const th_stack_keys *keys);
void th_stack_keys_free(th_stack_keys *keys);

#endif
