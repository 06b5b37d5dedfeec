/*
 * filter.h - the $filter of a query: its grammar and what it says of an entity.
 *
 *   filter      = [ expression ]                     an empty filter holds for every entity
 *   expression  = term { or term }
 *   term        = factor { and factor }
 *   factor      = not factor | comparison | property | true | false | ( expression )
 *   comparison  = operand ( eq | ne | gt | ge | lt | le ) operand
 *   operand     = property | literal | ( operand )   one of the two must be a literal
 *   property    = a letter or '_', then letters, digits and '_'; not null, NaN, INF
 *
 *   'text'  'it''s'                  EDM_STRING
 *   true  false                      EDM_BOOLEAN
 *   5  -5  5L                        EDM_INT32 or EDM_INT64, whichever holds it; L: EDM_INT64
 *   1.5  1e-3  5d  NaN  INF  -INF    EDM_DOUBLE; the suffixes d, f and m say nothing else
 *   datetime'2013-08-22T01:12:06Z'   EDM_DATETIME
 *   guid'...'                        EDM_GUID
 *   X'0aff'  binary'0aff'            EDM_BINARY
 *
 * Words are of one case, except that the prefixes of literals are of any.
 *
 * A comparison holds if edm_compare has the order it asks for.  Values that are unrelated (an
 * absent property, another type, NaN) are in no relation, not even `ne`: the service answers
 * "Foo ne ''" without the entities that have no Foo.  There are two truths, not three, so that
 * `not (Foo ne '')` holds for an entity without Foo.  A property alone holds if it is the Boolean
 * true.
 *
 * `not` reaches over one comparison: `not A eq 1` is `not (A eq 1)`.  The OData grammar reads it as
 * `(not A) eq 1`, which means the same whenever it means anything, that is for Booleans.
 *
 * The parser takes time in proportion to the text and never recurses; the evaluator looks at each
 * comparison at most once and stops as soon as the answer is known.
 *
 * Pure: no I/O, no clock.
 */
#ifndef SERVICE_TABLE_FILTER_H
#define SERVICE_TABLE_FILTER_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "service/table/edm.h"

/* Constant once parsed: any number of threads may use one. */
struct filter;

/*
 * In the arena; the text is kept.  On failure `message` is what to tell the client, in the arena:
 *
 *   ERR_INVALID_INPUT    "Syntax error at position 7 in 'aaa bbb ccc'." and its like, when it is
 *                        not in the grammar, compares with null, compares two properties, or is
 *                        beyond LIMIT_FILTER_COMPARISONS or LIMIT_FILTER_DEPTH
 *   ERR_NOT_IMPLEMENTED  it calls a function; the table service has none
 *
 * Positions count UTF-16 units, as the service's do.
 */
MUST_CHECK enum err filter_parse(struct arena *arena, struct slice text,
                                 const struct filter **filter, struct slice *message);

/*
 * The value of a property of the entity at hand, PartitionKey, RowKey and Timestamp included;
 * false if there is none.  The bytes of the value live until the evaluator returns.
 */
typedef bool filter_lookup(void *arg, struct slice name, struct edm_value *value);

/* Whether the filter holds for the entity that `lookup` tells of. */
bool filter_matches(const struct filter *filter, filter_lookup *lookup, void *arg);

#endif
