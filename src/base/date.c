/*
 * date.c - the proleptic Gregorian calendar for the years 1 to 9999.
 *
 * The formatters run for every response: they use two-digit tables rather than printf, and no
 * time zone data is ever consulted.
 */
#include "base/date.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/clock.h"

enum {
    YEAR_MAX = 9999,
    DAYS_PER_YEAR = 365,
    DAYS_PER_4_YEARS = 4 * DAYS_PER_YEAR + 1,
    DAYS_PER_100_YEARS = 25 * DAYS_PER_4_YEARS - 1,
    DAYS_PER_400_YEARS = 4 * DAYS_PER_100_YEARS + 1,
    SECONDS_PER_DAY = 86400,
    FRACTION_DIGITS = 7,
    OFFSET_HOURS_MAX = 14, /* no place on earth is further from UTC */
};

/* 10000-01-01T00:00:00Z, the first instant that has no text. */
#define TICKS_END (INT64_C(3652059) * SECONDS_PER_DAY * CLOCK_TICKS_PER_SEC)

/* An instant in its parts.  A value. */
struct date {
    int32_t year;    /* 1..9999 */
    int32_t month;   /* 1..12 */
    int32_t day;     /* 1..31 */
    int32_t weekday; /* 0 is Monday, as 0001-01-01 was; not read by date_to_ticks */
    int32_t hour;
    int32_t minute;
    int32_t second;
    int32_t fraction; /* ticks of the second */
};

/* Days before each month, then the days of the year. */
static const int16_t days_before_month[2][13] = {
    { 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365 },
    { 0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335, 366 },
};

static const char month_names[12][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };

static const char *const weekday_names[7] = { "Monday", "Tuesday",  "Wednesday", "Thursday",
                                              "Friday", "Saturday", "Sunday" };

static bool is_leap_year(int32_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* Set year, month, day and weekday from the number of days since 0001-01-01. */
static void date_set_day(struct date *date, int32_t days)
{
    date->weekday = days % 7;

    const int32_t quadricentury = days / DAYS_PER_400_YEARS;
    days %= DAYS_PER_400_YEARS;
    /* The last century of four, and the last year of four, are one day longer. */
    const int32_t century = days / DAYS_PER_100_YEARS - days / (DAYS_PER_400_YEARS - 1);
    days -= century * DAYS_PER_100_YEARS;
    const int32_t quadrennium = days / DAYS_PER_4_YEARS;
    days %= DAYS_PER_4_YEARS;
    const int32_t year = days / DAYS_PER_YEAR - days / (DAYS_PER_4_YEARS - 1);
    days -= year * DAYS_PER_YEAR;
    date->year = quadricentury * 400 + century * 100 + quadrennium * 4 + year + 1;

    /* No month has more than 32 days, so the guess is right or one too early. */
    const int16_t *const before = days_before_month[is_leap_year(date->year)];
    int32_t month = days / 32;
    if (days >= before[month + 1])
        month++;
    date->month = month + 1;
    date->day = days - before[month] + 1;
}

static struct date date_from_ticks(int64_t ticks)
{
    assert(ticks >= 0);
    assert(ticks < TICKS_END);
    struct date date;
    const int64_t seconds = ticks / CLOCK_TICKS_PER_SEC;
    date.fraction = (int32_t)(ticks % CLOCK_TICKS_PER_SEC);
    date_set_day(&date, (int32_t)(seconds / SECONDS_PER_DAY));
    const int32_t second_of_day = (int32_t)(seconds % SECONDS_PER_DAY);
    date.hour = second_of_day / 3600;
    date.minute = second_of_day / 60 % 60;
    date.second = second_of_day % 60;
    return date;
}

/* False if the calendar or the clock has no such instant. */
static bool date_to_ticks(const struct date *date, int64_t *ticks)
{
    if (date->year < 1 || date->year > YEAR_MAX || date->month < 1 || date->month > 12)
        return false;
    const int16_t *const before = days_before_month[is_leap_year(date->year)];
    const int32_t month_days = before[date->month] - before[date->month - 1];
    if (date->day < 1 || date->day > month_days)
        return false;
    if (date->hour > 23 || date->minute > 59 || date->second > 59)
        return false;

    const int32_t years = date->year - 1;
    const int64_t days = years * DAYS_PER_YEAR + years / 4 - years / 100 + years / 400 +
                         before[date->month - 1] + date->day - 1;
    const int64_t seconds =
        days * SECONDS_PER_DAY + date->hour * 3600 + date->minute * 60 + date->second;
    *ticks = seconds * CLOCK_TICKS_PER_SEC + date->fraction;
    return true;
}

static void put_two(char *at, int32_t value)
{
    at[0] = (char)('0' + value / 10);
    at[1] = (char)('0' + value % 10);
}

static void put_four(char *at, int32_t value)
{
    put_two(at, value / 100);
    put_two(at + 2, value % 100);
}

/* hh:mm:ss */
static void put_time(char *at, const struct date *date)
{
    put_two(at, date->hour);
    at[2] = ':';
    put_two(at + 3, date->minute);
    at[5] = ':';
    put_two(at + 6, date->second);
}

void date_format_rfc1123(int64_t ticks, char text[DATE_RFC1123_LEN + 1])
{
    const struct date date = date_from_ticks(ticks);
    memcpy(text, weekday_names[date.weekday], 3);
    memcpy(text + 3, ", ", 2);
    put_two(text + 5, date.day);
    text[7] = ' ';
    memcpy(text + 8, month_names[date.month - 1], 3);
    text[11] = ' ';
    put_four(text + 12, date.year);
    text[16] = ' ';
    put_time(text + 17, &date);
    memcpy(text + 25, " GMT", 5);
}

void date_format_iso(int64_t ticks, char text[DATE_ISO_LEN + 1])
{
    const struct date date = date_from_ticks(ticks);
    put_four(text, date.year);
    text[4] = '-';
    put_two(text + 5, date.month);
    text[7] = '-';
    put_two(text + 8, date.day);
    text[10] = 'T';
    put_time(text + 11, &date);
    text[19] = '.';
    int32_t fraction = date.fraction;
    for (int i = FRACTION_DIGITS; i > 0; i--) {
        text[19 + i] = (char)('0' + fraction % 10);
        fraction /= 10;
    }
    memcpy(text + 27, "Z", 2);
}

/*
 * Readers take what they name off the front of the text; once one of them fails, `ok` is false
 * for good and the rest do nothing.
 */
struct reader {
    struct slice left;
    bool ok;
};

static void read_literal(struct reader *reader, const char *literal)
{
    const struct slice expected = slice_of(literal);
    reader->ok = reader->ok && slice_starts_with(reader->left, expected);
    if (reader->ok)
        reader->left = slice_from(reader->left, expected.len);
}

/* Exactly `count` digits. */
static int32_t read_digits(struct reader *reader, size_t count)
{
    reader->ok = reader->ok && reader->left.len >= count;
    int32_t value = 0;
    for (size_t i = 0; reader->ok && i < count; i++) {
        const char digit = reader->left.data[i];
        reader->ok = digit >= '0' && digit <= '9';
        value = value * 10 + (digit - '0');
    }
    if (!reader->ok)
        return 0;
    reader->left = slice_from(reader->left, count);
    return value;
}

/* The number of a month from its three letters. */
static int32_t read_month(struct reader *reader)
{
    for (int32_t month = 1; reader->ok && month <= 12; month++) {
        if (slice_starts_with(reader->left, slice_of(month_names[month - 1]))) {
            reader->left = slice_from(reader->left, 3);
            return month;
        }
    }
    reader->ok = false;
    return 0;
}

/* A weekday by the first `len` letters of its name, or by all of it if `len` is 0. */
static int32_t read_weekday(struct reader *reader, size_t len)
{
    for (int32_t weekday = 0; reader->ok && weekday < 7; weekday++) {
        const struct slice whole = slice_of(weekday_names[weekday]);
        const struct slice name = len == 0 ? whole : slice_head(whole, len);
        if (slice_starts_with(reader->left, name)) {
            reader->left = slice_from(reader->left, name.len);
            return weekday;
        }
    }
    reader->ok = false;
    return 0;
}

static void read_time(struct reader *reader, struct date *date)
{
    date->hour = read_digits(reader, 2);
    read_literal(reader, ":");
    date->minute = read_digits(reader, 2);
    read_literal(reader, ":");
    date->second = read_digits(reader, 2);
}

/* The whole text was read, the instant exists, and the weekday is the one it has. */
static enum err finish_http(const struct reader *reader, const struct date *date, int64_t *ticks)
{
    int64_t parsed;
    if (!reader->ok || reader->left.len != 0 || !date_to_ticks(date, &parsed))
        return ERR_MALFORMED;
    if (date_from_ticks(parsed).weekday != date->weekday)
        return ERR_MALFORMED;
    *ticks = parsed;
    return OK;
}

enum err date_parse_rfc1123(struct slice text, int64_t *ticks)
{
    struct reader reader = { .left = text, .ok = true };
    struct date date = { .weekday = read_weekday(&reader, 3) };
    read_literal(&reader, ", ");
    date.day = read_digits(&reader, 2);
    read_literal(&reader, " ");
    date.month = read_month(&reader);
    read_literal(&reader, " ");
    date.year = read_digits(&reader, 4);
    read_literal(&reader, " ");
    read_time(&reader, &date);
    read_literal(&reader, " GMT");
    return finish_http(&reader, &date, ticks);
}

/* Sunday, 06-Nov-94 08:49:37 GMT */
static enum err parse_rfc850(struct slice text, int64_t *ticks)
{
    struct reader reader = { .left = text, .ok = true };
    struct date date = { .weekday = read_weekday(&reader, 0) };
    read_literal(&reader, ", ");
    date.day = read_digits(&reader, 2);
    read_literal(&reader, "-");
    date.month = read_month(&reader);
    read_literal(&reader, "-");
    /* RFC 9110 wants a year at most 50 years ahead; without a clock here, 1970 to 2069 is
     * the same for every date a living client can mean. */
    const int32_t year = read_digits(&reader, 2);
    date.year = year < 70 ? 2000 + year : 1900 + year;
    read_literal(&reader, " ");
    read_time(&reader, &date);
    read_literal(&reader, " GMT");
    return finish_http(&reader, &date, ticks);
}

/* Sun Nov  6 08:49:37 1994 */
static enum err parse_asctime(struct slice text, int64_t *ticks)
{
    struct reader reader = { .left = text, .ok = true };
    struct date date = { .weekday = read_weekday(&reader, 3) };
    read_literal(&reader, " ");
    date.month = read_month(&reader);
    read_literal(&reader, " ");
    if (slice_starts_with(reader.left, slice_of(" "))) {
        read_literal(&reader, " ");
        date.day = read_digits(&reader, 1);
    } else {
        date.day = read_digits(&reader, 2);
    }
    read_literal(&reader, " ");
    read_time(&reader, &date);
    read_literal(&reader, " ");
    date.year = read_digits(&reader, 4);
    return finish_http(&reader, &date, ticks);
}

enum err date_parse_http(struct slice text, int64_t *ticks)
{
    if (date_parse_rfc1123(text, ticks) == OK)
        return OK;
    if (parse_rfc850(text, ticks) == OK)
        return OK;
    return parse_asctime(text, ticks);
}

static bool next_is(const struct reader *reader, char byte)
{
    return reader->ok && reader->left.len > 0 && reader->left.data[0] == byte;
}

/* One to seven digits after the point, as ticks. */
static int32_t read_fraction(struct reader *reader)
{
    int32_t fraction = read_digits(reader, 1);
    for (int count = 1; count < FRACTION_DIGITS; count++) {
        const bool more =
            reader->left.len > 0 && reader->left.data[0] >= '0' && reader->left.data[0] <= '9';
        fraction = fraction * 10 + (more ? read_digits(reader, 1) : 0);
    }
    return fraction;
}

/* Z, +hh:mm or -hh:mm, as minutes ahead of UTC. */
static int32_t read_zone(struct reader *reader)
{
    if (next_is(reader, 'Z')) {
        read_literal(reader, "Z");
        return 0;
    }
    const bool behind = next_is(reader, '-');
    read_literal(reader, behind ? "-" : "+");
    const int32_t hours = read_digits(reader, 2);
    read_literal(reader, ":");
    const int32_t minutes = read_digits(reader, 2);
    const int32_t offset = hours * 60 + minutes;
    if (minutes > 59 || offset > OFFSET_HOURS_MAX * 60)
        reader->ok = false;
    return behind ? -offset : offset;
}

enum err date_parse_iso(struct slice text, int64_t *ticks)
{
    struct reader reader = { .left = text, .ok = true };
    struct date date = { .year = read_digits(&reader, 4) };
    read_literal(&reader, "-");
    date.month = read_digits(&reader, 2);
    read_literal(&reader, "-");
    date.day = read_digits(&reader, 2);
    int32_t offset_minutes = 0;
    if (reader.left.len > 0) {
        read_literal(&reader, "T");
        date.hour = read_digits(&reader, 2);
        read_literal(&reader, ":");
        date.minute = read_digits(&reader, 2);
        if (next_is(&reader, ':')) {
            read_literal(&reader, ":");
            date.second = read_digits(&reader, 2);
            if (next_is(&reader, '.')) {
                read_literal(&reader, ".");
                date.fraction = read_fraction(&reader);
            }
        }
        offset_minutes = read_zone(&reader);
    }

    int64_t parsed;
    if (!reader.ok || reader.left.len != 0 || !date_to_ticks(&date, &parsed))
        return ERR_MALFORMED;
    parsed -= offset_minutes * 60 * CLOCK_TICKS_PER_SEC;
    if (parsed < 0 || parsed >= TICKS_END)
        return ERR_MALFORMED;
    *ticks = parsed;
    return OK;
}

int64_t date_cut_to_second(int64_t ticks)
{
    assert(ticks >= 0);
    return ticks - ticks % CLOCK_TICKS_PER_SEC;
}
