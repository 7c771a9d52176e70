#include "etl/lives.h"

static bool number_of(th_lives *lives, const void *key, size_t key_size, uint32_t *number) {
  if (!th_intern_put(&lives->keys, key, key_size, number))
    return false;
  while (lives->latest.count <= *number)
    if (!th_vec_push(&lives->latest, 0))
      return false;
  return true;
}

bool th_lives_event(th_lives *lives, const void *key, size_t key_size, th_life life,
                    int64_t time_ns, uint32_t *row, bool *made, uint32_t *ended) {
  uint32_t number;
  if (!number_of(lives, key, key_size, &number) ||
      !th_vec_reserve(&lives->spans, lives->spans.count + 1))
    return false;
  uint32_t latest = lives->latest.items[number];
  bool open = latest && lives->spans.items[latest - 1].end_ns == TH_UNKNOWN_TIME;
  *ended = 0;
  if (open && life == TH_LIFE_START) {
    lives->spans.items[latest - 1].end_ns = time_ns;
    *ended = latest;
    open = false;
  }
  *made = !open;
  if (open) {
    *row = latest - 1;
  } else {
    if (lives->spans.count >= UINT32_MAX - 1)
      return false;
    *row = (uint32_t)lives->spans.count;
    lives->spans.items[lives->spans.count++] =
        (th_span){life == TH_LIFE_START ? time_ns : TH_UNKNOWN_TIME, TH_UNKNOWN_TIME, 0};
    lives->latest.items[number] = *row + 1;
  }
  if (life == TH_LIFE_END)
    lives->spans.items[*row].end_ns = time_ns;
  return true;
}

bool th_lives_find(th_lives *lives, const void *key, size_t key_size, uint32_t *row) {
  uint32_t number;
  if (!number_of(lives, key, key_size, &number) || !lives->latest.items[number])
    return false;
  *row = lives->latest.items[number] - 1;
  return true;
}

void th_lives_free(th_lives *lives) {
  th_intern_free(&lives->keys);
  th_vec_free(&lives->latest);
  th_vec_free(&lives->spans);
}
