/*
 * json_read.h - the members of a flat JSON object, one after another.
 *
 * Bodies of the table service are objects whose members are text, numbers, true, false or null.
 * Nothing it takes is nested, so an object or array as a value is ERR_MALFORMED like any other
 * fault, nothing here recurses, and depth cannot be exhausted.
 *
 * The grammar is RFC 8259's: no comments, no trailing commas, no control characters in strings.
 * A byte order mark before the object is passed over.  Text that UTF-8 cannot carry (half of a
 * surrogate pair, written as an escape) is ERR_MALFORMED; U+0000 is a character like others.
 *
 * Pure functions over borrowed bytes.
 */
#ifndef FRONTEND_HTTP_JSON_READ_H
#define FRONTEND_HTTP_JSON_READ_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"

enum json_kind {
    JSON_NULL,
    JSON_TRUE,
    JSON_FALSE,
    JSON_STRING,
    JSON_NUMBER,
};

struct json_value {
    enum json_kind kind;
    /* JSON_STRING: decoded.  JSON_NUMBER: as it was written, and in the grammar of JSON. */
    struct slice text;
};

/* A reader in the midst of an object.  The fields are for json_read.c. */
struct json_reader {
    struct arena *arena;
    struct slice rest;
    bool is_first;
};

/* Step into the object that is all of `text`, which must live as long as what is read from it. */
MUST_CHECK enum err json_begin(struct json_reader *reader, struct arena *arena, struct slice text);

/*
 * The next member; `*more` is false when there is none and nothing but space follows the object.
 * Strings without escapes point into the text, others are in the arena.
 */
MUST_CHECK enum err json_next(struct json_reader *reader, bool *more, struct slice *name,
                              struct json_value *value);

#endif
