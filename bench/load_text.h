/*
 * load_text.h - texts that grow, and what the load generator puts into them.
 *
 * Without memory the process ends.
 */
#ifndef BENCH_LOAD_TEXT_H
#define BENCH_LOAD_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Zero is an empty one. */
struct text {
    char *data;
    size_t len;
    size_t capacity;
};

/* Make room for `extra` more bytes behind a text. */
void text_reserve(struct text *text, size_t extra);

void text_add(struct text *text, const char *data, size_t len);
void text_add_string(struct text *text, const char *string);

/* With zeros in front, at least `width` digits wide. */
void text_add_number(struct text *text, uint64_t number, size_t width);

/* With percent signs where a query needs them. */
void text_add_url(struct text *text, const char *string);

/* Random characters that neither JSON nor XML nor a URL minds. */
void text_add_noise(struct text *text, uint64_t *random_state, size_t len);

/* The next 64 random bits of a sequence, which follows from its first state. */
uint64_t random_next(uint64_t *state);

#endif
