/*
 * edm.h - the typed values of table entities.
 *
 * The eight types are those of the Entity Data Model that the table service has (Understanding the
 * Table Service Data Model).  There is no null: a property whose value is null is absent.
 *
 *   type          in C                               text form
 *   EDM_STRING    UTF-8                              itself
 *   EDM_INT32     int32_t                            decimal
 *   EDM_INT64     int64_t                            decimal
 *   EDM_DOUBLE    double, NaN and infinities too     see frontend/http
 *   EDM_BOOLEAN   bool                               true, false
 *   EDM_DATETIME  ticks of 100 ns since 1601, UTC    edm_datetime_parse, edm_datetime_format
 *   EDM_GUID      struct uuid                        edm_guid_parse, edm_guid_format
 *   EDM_BINARY    bytes                              base64 in JSON, hexadecimal in filters
 *
 * Note the epoch of EDM_DATETIME: it is the first instant the service can store, and not that of
 * base/clock.h.  edm_datetime_of_clock and edm_datetime_to_clock go between the two.
 *
 * Pure functions; values own nothing.
 */
#ifndef SERVICE_TABLE_EDM_H
#define SERVICE_TABLE_EDM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/slice.h"
#include "base/uuid.h"

/* The numbers are in stored rows: add at the end, never change one. */
enum edm_type {
    EDM_STRING = 1,
    EDM_INT32 = 2,
    EDM_INT64 = 3,
    EDM_DOUBLE = 4,
    EDM_BOOLEAN = 5,
    EDM_DATETIME = 6,
    EDM_GUID = 7,
    EDM_BINARY = 8,
};

enum {
    EDM_TYPE_MIN = EDM_STRING,
    EDM_TYPE_MAX = EDM_BINARY,

    EDM_DATETIME_LEN = 28, /* at most, without the NUL */
};

/* 1601-01-01T00:00:00Z in ticks of base/clock.h. */
#define EDM_DATETIME_EPOCH_CLOCK_TICKS INT64_C(504911232000000000)
/* The last tick of the year 9999; the first instant is 0. */
#define EDM_DATETIME_TICKS_MAX INT64_C(2650467743999999999)

/* A value: copy it freely.  Bytes of strings and binaries belong to whoever made it. */
struct edm_value {
    enum edm_type type;
    union {
        struct slice string; /* EDM_STRING */
        int32_t int32;
        int64_t int64;
        double real; /* EDM_DOUBLE */
        bool boolean;
        int64_t datetime_ticks; /* 0..EDM_DATETIME_TICKS_MAX */
        struct uuid guid;
        struct slice binary;
    };
};

/* The bytes of the name belong to whoever made it. */
struct edm_property {
    struct slice name; /* case matters */
    struct edm_value value;
};

/* In the order the client gave them; each name once. */
struct edm_properties {
    size_t count;
    struct edm_property *items;
};

/* The value of a property, or NULL.  Linear: an entity has at most 255 properties. */
const struct edm_value *edm_properties_find(const struct edm_properties *properties,
                                            struct slice name);

/* "Edm.String" and so on; static. */
const char *edm_type_name(enum edm_type type);

/* The inverse, case-sensitive; ERR_MALFORMED for other names. */
MUST_CHECK enum err edm_type_parse(struct slice name, enum edm_type *type);

static inline struct edm_value edm_string(struct slice text)
{
    return (struct edm_value){ .type = EDM_STRING, .string = text };
}

static inline struct edm_value edm_int32(int32_t number)
{
    return (struct edm_value){ .type = EDM_INT32, .int32 = number };
}

static inline struct edm_value edm_int64(int64_t number)
{
    return (struct edm_value){ .type = EDM_INT64, .int64 = number };
}

static inline struct edm_value edm_double(double number)
{
    return (struct edm_value){ .type = EDM_DOUBLE, .real = number };
}

static inline struct edm_value edm_boolean(bool truth)
{
    return (struct edm_value){ .type = EDM_BOOLEAN, .boolean = truth };
}

static inline struct edm_value edm_datetime(int64_t ticks)
{
    return (struct edm_value){ .type = EDM_DATETIME, .datetime_ticks = ticks };
}

static inline struct edm_value edm_guid(struct uuid guid)
{
    return (struct edm_value){ .type = EDM_GUID, .guid = guid };
}

static inline struct edm_value edm_binary(struct slice bytes)
{
    return (struct edm_value){ .type = EDM_BINARY, .binary = bytes };
}

/* An instant of base/clock.h, which must be in 1601..9999 as all of a running clock are. */
int64_t edm_datetime_of_clock(int64_t clock_ticks);
int64_t edm_datetime_to_clock(int64_t ticks);

/*
 * ISO 8601: YYYY-MM-DD, or with Thh:mm, Thh:mm:ss or that and one to seven fraction digits, each
 * with the zone Z, +hh:mm or -hh:mm; a time without a zone is UTC.
 *   ERR_MALFORMED     it is none of these, or no such instant exists
 *   ERR_OUT_OF_RANGE  it is before the year 1601
 */
MUST_CHECK enum err edm_datetime_parse(struct slice text, int64_t *ticks);

/*
 * 2013-08-22T01:12:06.2608595Z, without the zeros that end the fraction and without a point that
 * nothing follows.  Gives the length; a NUL follows.
 */
size_t edm_datetime_format(int64_t ticks, char text[EDM_DATETIME_LEN + 1]);

/* 8-4-4-4-12 digits of either case and nothing else: ERR_MALFORMED. */
MUST_CHECK enum err edm_guid_parse(struct slice text, struct uuid *guid);

/* Lower case, with a NUL. */
void edm_guid_format(const struct uuid *guid, char text[UUID_TEXT_LEN + 1]);

enum edm_order {
    EDM_LESS,
    EDM_EQUAL,
    EDM_GREATER,
    EDM_UNRELATED, /* no comparison holds, not even "different" */
};

/*
 * How `a` stands to `b`.
 *
 *   strings     by their bytes, which is the order of code points
 *   numbers     by their value, whatever their types, exactly: 1 equals 1.0, and
 *               9007199254740993 is greater than 9007199254740992.0
 *   booleans    false before true
 *   instants    by time
 *   guids       by their text, as .NET's Guid.CompareTo has it
 *   binaries    by their bytes; a prefix is before what it begins
 *
 * NaN is unrelated to everything, itself too; so are values of different types that are not both
 * numbers.
 */
enum edm_order edm_compare(const struct edm_value *a, const struct edm_value *b);

#endif
