/*
 * tag.h - tags of blobs, and predicates on them.
 *
 * Tags are up to ten pairs of text, kept in the order of their names, so that equal sets have equal
 * records and listings are stable.  Names and values are of letters, digits and  + - . / : = _ and
 * space; their case matters.
 *
 * Predicates come in two grammars, in both of which words are of any case and space is free:
 *
 *   x-ms-if-tags    expression = term { OR term }, term = factor { AND factor },
 *                   factor = comparison | ( expression )
 *                   comparison = name op 'value', op: =  <>  >  >=  <  <=
 *   where=          comparison { AND comparison }, without <>; the name may be @container
 *
 * A name is an identifier, or anything in double quotes.  Values are compared byte by byte.  A tag
 * that a blob does not have is different from (<>) every value and in no other relation to one.
 *
 * Pure: no I/O, no clock.
 */
#ifndef SERVICE_BLOB_TAG_H
#define SERVICE_BLOB_TAG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "service/metadata.h"

enum {
    TAG_COUNT_MAX = 10,
    TAG_NAME_BYTES_MAX = 128,
    TAG_VALUE_BYTES_MAX = 256,
    TAG_COMPARISONS_MAX = 10,
    TAG_DEPTH_MAX = 10, /* of parentheses */
};

/*
 * What a client sent, in any order; it is in order afterwards.
 *   ERR_EMPTY_TAG_NAME, ERR_DUPLICATE_TAG_NAMES, ERR_TAGS_TOO_LARGE, ERR_INVALID_TAG
 */
MUST_CHECK enum err tags_check(struct metadata *tags);

/*
 * The value of x-ms-tags: name=value&name=value, percent-encoded, '+' for a space.  The same
 * errors; ERR_INVALID_TAG when it is not in this form.  The result is in the arena.
 */
MUST_CHECK enum err tags_parse(struct arena *arena, struct slice text, struct metadata *tags);

/* The value of a tag, or NULL. */
const struct slice *tags_find(const struct metadata *tags, struct slice name);

enum tag_relation {
    TAG_EQUAL,
    TAG_DIFFERENT,
    TAG_GREATER,
    TAG_GREATER_OR_EQUAL,
    TAG_LESS,
    TAG_LESS_OR_EQUAL,
};

struct tag_comparison {
    struct slice name; /* "@container" is the container's name; no tag can be called so */
    enum tag_relation relation;
    struct slice value;
};

struct tag_predicate;

enum tag_grammar {
    TAG_CONDITION, /* x-ms-if-tags */
    TAG_SEARCH,    /* where= */
};

/* In the arena; the text is kept.  ERR_MALFORMED. */
MUST_CHECK enum err tag_predicate_parse(struct arena *arena, struct slice text,
                                        enum tag_grammar grammar,
                                        const struct tag_predicate **predicate);

/* Whether it holds for a blob of that container (empty where there can be no @container). */
bool tag_predicate_holds(const struct tag_predicate *predicate, struct slice container,
                         const struct metadata *tags);

/* Its comparisons: of a search, all of them must hold. */
size_t tag_predicate_count(const struct tag_predicate *predicate);
const struct tag_comparison *tag_predicate_get(const struct tag_predicate *predicate, size_t index);

/* The condition of a request, NULL for none: OK or ERR_CONDITION_NOT_MET. */
MUST_CHECK enum err tag_check(const struct tag_predicate *condition, const struct metadata *tags);

#endif
