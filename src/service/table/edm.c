#include "service/table/edm.h"

#include <assert.h>
#include <math.h>

#include "base/clock.h"
#include "base/date.h"

static_assert((int)EDM_DATETIME_LEN == (int)DATE_ISO_LEN, "an instant with seven digits fits");
static_assert(EDM_DATETIME_TICKS_MAX == CLOCK_TICKS_MAX - EDM_DATETIME_EPOCH_CLOCK_TICKS,
              "both scales end with the year 9999");

static const struct {
    const char *name;
    enum edm_type type;
} type_names[] = {
    { "Edm.String", EDM_STRING }, { "Edm.Int32", EDM_INT32 },     { "Edm.Int64", EDM_INT64 },
    { "Edm.Double", EDM_DOUBLE }, { "Edm.Boolean", EDM_BOOLEAN }, { "Edm.DateTime", EDM_DATETIME },
    { "Edm.Guid", EDM_GUID },     { "Edm.Binary", EDM_BINARY },
};

enum {
    TYPE_COUNT = sizeof(type_names) / sizeof(type_names[0]),
};

const struct edm_value *edm_properties_find(const struct edm_properties *properties,
                                            struct slice name)
{
    for (size_t i = 0; i < properties->count; i++) {
        if (slice_equal(properties->items[i].name, name))
            return &properties->items[i].value;
    }
    return NULL;
}

const char *edm_type_name(enum edm_type type)
{
    assert((int)type >= EDM_TYPE_MIN);
    assert((int)type <= EDM_TYPE_MAX);
    const size_t index = (size_t)type - EDM_TYPE_MIN;
    assert(type_names[index].type == type);
    return type_names[index].name;
}

enum err edm_type_parse(struct slice name, enum edm_type *type)
{
    for (size_t i = 0; i < TYPE_COUNT; i++) {
        if (slice_is(name, type_names[i].name)) {
            *type = type_names[i].type;
            return OK;
        }
    }
    return ERR_MALFORMED;
}

int64_t edm_datetime_of_clock(int64_t clock_ticks)
{
    assert(clock_ticks >= EDM_DATETIME_EPOCH_CLOCK_TICKS);
    assert(clock_ticks <= CLOCK_TICKS_MAX);
    return clock_ticks - EDM_DATETIME_EPOCH_CLOCK_TICKS;
}

int64_t edm_datetime_to_clock(int64_t ticks)
{
    assert(ticks >= 0);
    assert(ticks <= EDM_DATETIME_TICKS_MAX);
    return ticks + EDM_DATETIME_EPOCH_CLOCK_TICKS;
}

/* Whether a text that date_parse_iso reads has a time and no zone behind it. */
static bool lacks_zone(struct slice text)
{
    const size_t time_at = slice_find_byte(text, 'T');
    if (time_at == text.len || text.data[text.len - 1] == 'Z')
        return false;
    const struct slice time = slice_from(text, time_at);
    return slice_find_byte(time, '+') == time.len && slice_find_byte(time, '-') == time.len;
}

enum err edm_datetime_parse(struct slice text, int64_t *ticks)
{
    char with_zone[EDM_DATETIME_LEN];
    if (lacks_zone(text)) {
        if (text.len >= sizeof(with_zone))
            return ERR_MALFORMED;
        memcpy(with_zone, text.data, text.len);
        with_zone[text.len] = 'Z';
        text = slice_make(with_zone, text.len + 1);
    }

    int64_t clock_ticks;
    const enum err err = date_parse_iso(text, &clock_ticks);
    if (err != OK)
        return err;
    if (clock_ticks < EDM_DATETIME_EPOCH_CLOCK_TICKS)
        return ERR_OUT_OF_RANGE;
    *ticks = edm_datetime_of_clock(clock_ticks);
    return OK;
}

size_t edm_datetime_format(int64_t ticks, char text[EDM_DATETIME_LEN + 1])
{
    date_format_iso(edm_datetime_to_clock(ticks), text);
    size_t len = EDM_DATETIME_LEN - 1; /* without the Z */
    while (text[len - 1] == '0')
        len--;
    if (text[len - 1] == '.')
        len--;
    text[len++] = 'Z';
    text[len] = '\0';
    return len;
}

enum err edm_guid_parse(struct slice text, struct uuid *guid)
{
    /* uuid_parse takes four more forms, none of which has this length and begins with a digit. */
    if (text.len != UUID_TEXT_LEN)
        return ERR_MALFORMED;
    return uuid_parse(text, guid);
}

void edm_guid_format(const struct uuid *guid, char text[UUID_TEXT_LEN + 1])
{
    uuid_format(guid, text);
}

static enum edm_order order_of(int sign)
{
    if (sign == 0)
        return EDM_EQUAL;
    return sign < 0 ? EDM_LESS : EDM_GREATER;
}

static enum edm_order compare_integers(int64_t a, int64_t b)
{
    return order_of((a > b) - (a < b));
}

static enum edm_order compare_doubles(double a, double b)
{
    if (isnan(a) || isnan(b))
        return EDM_UNRELATED;
    return order_of((a > b) - (a < b));
}

static enum edm_order turned(enum edm_order order)
{
    switch (order) {
    case EDM_LESS:
        return EDM_GREATER;
    case EDM_GREATER:
        return EDM_LESS;
    case EDM_EQUAL:
    case EDM_UNRELATED:
        break;
    }
    return order;
}

/*
 * Exact: the double is cut to an integer, which loses nothing of a double of 2^53 and more, and
 * what was cut off decides between equals.  Turning the integer into a double would round it.
 */
static enum edm_order compare_integer_to_double(int64_t a, double b)
{
    if (isnan(b))
        return EDM_UNRELATED;
    if (b >= 0x1p63)
        return EDM_LESS;
    if (b < -0x1p63)
        return EDM_GREATER;
    const double whole = trunc(b);
    const enum edm_order order = compare_integers(a, (int64_t)whole);
    return order == EDM_EQUAL ? compare_doubles(whole, b) : order;
}

static bool is_integer(const struct edm_value *value)
{
    return value->type == EDM_INT32 || value->type == EDM_INT64;
}

static int64_t integer_of(const struct edm_value *value)
{
    return value->type == EDM_INT32 ? value->int32 : value->int64;
}

/* Values of different types. */
static enum edm_order compare_mixed(const struct edm_value *a, const struct edm_value *b)
{
    if (is_integer(a) && is_integer(b))
        return compare_integers(integer_of(a), integer_of(b));
    if (is_integer(a) && b->type == EDM_DOUBLE)
        return compare_integer_to_double(integer_of(a), b->real);
    if (a->type == EDM_DOUBLE && is_integer(b))
        return turned(compare_integer_to_double(integer_of(b), a->real));
    return EDM_UNRELATED;
}

enum edm_order edm_compare(const struct edm_value *a, const struct edm_value *b)
{
    if (a->type != b->type)
        return compare_mixed(a, b);

    switch (a->type) {
    case EDM_STRING:
        return order_of(slice_compare(a->string, b->string));
    case EDM_INT32:
        return compare_integers(a->int32, b->int32);
    case EDM_INT64:
        return compare_integers(a->int64, b->int64);
    case EDM_DOUBLE:
        return compare_doubles(a->real, b->real);
    case EDM_BOOLEAN:
        return order_of(a->boolean - b->boolean);
    case EDM_DATETIME:
        return compare_integers(a->datetime_ticks, b->datetime_ticks);
    case EDM_GUID:
        return order_of(memcmp(a->guid.bytes, b->guid.bytes, sizeof(a->guid.bytes)));
    case EDM_BINARY:
        return order_of(slice_compare(a->binary, b->binary));
    }
    assert(false);
    return EDM_UNRELATED;
}
