#include "etl/lives.h"

bool th_lives_key(th_lives *lives, const void *key, size_t key_size, uint32_t *number) {
  if (!th_intern_put(&lives->keys, key, key_size, number) ||
      !th_vec_reserve(&lives->latest, (size_t)*number + 1) ||
      !th_vec_reserve(&lives->first, (size_t)*number + 1))
    return false;
  while (lives->latest.count <= *number) {
    lives->latest.items[lives->latest.count++] = 0;
    lives->first.items[lives->first.count++] = 0;
  }
  return true;
}

bool th_lives_event(th_lives *lives, const void *key, size_t key_size, th_life life,
                    th_moment when, uint32_t *row, bool *made, uint32_t *ended) {
  uint32_t number;
  if (!th_lives_key(lives, key, key_size, &number) ||
      !th_vec_reserve(&lives->spans, lives->spans.count + 1) ||
      lives->spans.count >= UINT32_MAX - 1)
    return false;
  uint32_t latest = lives->latest.items[number];
  bool open = latest && lives->spans.items[latest - 1].end_ns == TH_UNKNOWN_TIME;
  *ended = 0;
  if (open && life == TH_LIFE_START) {
    lives->spans.items[latest - 1].end_ns = when.ns;
    *ended = latest;
    open = false;
  }
  *made = !open;
  if (open) {
    *row = latest - 1;
  } else {
    *row = (uint32_t)lives->spans.count;
    lives->spans.items[lives->spans.count++] =
        (th_span){.start_ns = life == TH_LIFE_START ? when.ns : TH_UNKNOWN_TIME,
                  .end_ns = TH_UNKNOWN_TIME,
                  .first_time = when.raw};
    if (latest)
      lives->spans.items[latest - 1].next = *row + 1;
    else
      lives->first.items[number] = *row + 1;
    lives->latest.items[number] = *row + 1;
  }
  if (life == TH_LIFE_END)
    lives->spans.items[*row].end_ns = when.ns;
  return true;
}

void th_lives_free(th_lives *lives) {
  th_intern_free(&lives->keys);
  th_vec_free(&lives->latest);
  th_vec_free(&lives->first);
  th_vec_free(&lives->spans);
}
