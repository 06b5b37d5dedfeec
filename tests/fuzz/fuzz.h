/*
 * fuzz.h - what all fuzz targets share: taking an input apart, and comparing.
 *
 * A target is one file with LLVMFuzzerTestOneInput.  libFuzzer calls it (script/fuzz), and so does
 * driver.c, once for each file of the corpus (the unit tests).  A property that does not hold is a
 * failed assertion, which ends the process like any other fault.
 *
 * A target gives the same answer to the same bytes: no clock but one that stands still, no random
 * numbers, no state that is left from the input before.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/log.h"
#include "base/slice.h"
#include "base/strbuf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The server's log says much about bad input, and nobody reads it here. */
static inline void fuzz_silence(void)
{
    static bool is_silent;
    if (!is_silent && log_open("/dev/null") != OK)
        abort();
    is_silent = true;
}

/* What is left of an input. */
struct fuzz_input {
    struct slice rest;
};

static inline struct fuzz_input fuzz_begin(const uint8_t *data, size_t size)
{
    fuzz_silence();
    return (struct fuzz_input){ slice_make(data, size) };
}

/* The next byte, 0 at the end. */
static inline uint8_t fuzz_byte(struct fuzz_input *input)
{
    const uint8_t byte = input->rest.len == 0 ? 0 : (uint8_t)input->rest.data[0];
    input->rest = slice_from(input->rest, 1);
    return byte;
}

static inline size_t fuzz_below(struct fuzz_input *input, size_t count)
{
    return fuzz_byte(input) % count;
}

/*
 * A copy that a reader cannot run over without the address sanitizer noticing: slices of the input
 * have more of the input behind them, and arenas have their blocks.  Freed by fuzz_copy_free.
 */
static inline struct slice fuzz_copy(struct slice bytes)
{
    char *copy = malloc(bytes.len == 0 ? 1 : bytes.len);
    if (copy == NULL)
        abort();
    if (bytes.len > 0)
        memcpy(copy, bytes.data, bytes.len);
    return slice_make(copy, bytes.len);
}

static inline void fuzz_copy_free(struct slice copy)
{
    free((void *)(uintptr_t)copy.data);
}

/* The next `len` bytes, or as many as there are, copied. */
static inline struct slice fuzz_take(struct fuzz_input *input, size_t len)
{
    const struct slice taken = slice_head(input->rest, len);
    input->rest = slice_from(input->rest, taken.len);
    return fuzz_copy(taken);
}

/* Bytes up to the next newline or the end, copied, without it. */
static inline struct slice fuzz_take_line(struct fuzz_input *input)
{
    const size_t len = slice_find_byte(input->rest, '\n');
    const struct slice line = fuzz_copy(slice_head(input->rest, len));
    input->rest = slice_from(input->rest, len + 1);
    return line;
}

/* Whether `part` is empty or lies in `whole`. */
static inline bool fuzz_is_within(struct slice part, struct slice whole)
{
    if (part.len == 0)
        return true;
    return (uintptr_t)part.data >= (uintptr_t)whole.data &&
           (uintptr_t)part.data + part.len <= (uintptr_t)whole.data + whole.len;
}

static inline void fuzz_assert_equal(struct slice a, struct slice b)
{
    assert(a.len == b.len);
    assert(a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

#endif
