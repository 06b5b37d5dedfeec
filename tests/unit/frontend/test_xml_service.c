/*
 * test_xml_service.c - <StorageServiceProperties>: what is read, what is refused, what is written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "../service/test_random.h"
#include "base/log.h"
#include "frontend/http/xml_service.h"

#define XML "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?>"

static struct arena arena;
static struct service_properties properties;
static unsigned parts;
static struct xml_fault fault;

enum {
    ALL_PARTS = PROPERTIES_LOGGING | PROPERTIES_HOUR_METRICS | PROPERTIES_MINUTE_METRICS |
                PROPERTIES_CORS | PROPERTIES_DEFAULT_VERSION | PROPERTIES_DELETE_RETENTION |
                PROPERTIES_WEBSITE,
};

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

static int clear(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

/* Read a document with this inside. */
static enum err read_inside(const char *inside)
{
    return xml_service_read(&arena,
                            arena_printf(&arena,
                                         "<?xml version=\"1.0\"?><StorageServiceProperties>%s"
                                         "</StorageServiceProperties>",
                                         inside),
                            ALL_PARTS, &properties, &parts, &fault);
}

static void a_part_that_another_service_has_is_refused(void **state)
{
    (void)state;
    const struct slice document =
        slice_of("<StorageServiceProperties><DeleteRetentionPolicy><Enabled>false</Enabled>"
                 "</DeleteRetentionPolicy></StorageServiceProperties>");
    assert_int_equal(xml_service_read(&arena, document, PROPERTIES_DELETE_RETENTION, &properties,
                                      &parts, &fault),
                     OK);
    assert_int_equal(
        xml_service_read(&arena, document, PROPERTIES_CORS, &properties, &parts, &fault),
        ERR_INVALID_XML);
    struct strbuf out;
    strbuf_init(&out, &arena);
    xml_service_write(&out, &properties, PROPERTIES_CORS);
    const struct slice text = strbuf_slice(&out);
    assert_null(memmem(text.data, text.len, "DeleteRetentionPolicy", 21));
}

static void assert_refused(const char *inside)
{
    fault = (struct xml_fault){ 0 };
    const enum err err = read_inside(inside);
    if (err != ERR_INVALID_XML)
        print_message("%s\n", inside);
    assert_int_equal(err, ERR_INVALID_XML);
    assert_non_null(fault.reason);
}

static struct slice written(void)
{
    struct strbuf out;
    strbuf_init(&out, &arena);
    xml_service_write(&out, &properties, ALL_PARTS);
    return strbuf_slice(&out);
}

#define OFF        "<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy>"
#define DAYS(days) "<RetentionPolicy><Enabled>true</Enabled><Days>" days "</Days></RetentionPolicy>"
#define LOGGING                                                                                    \
    "<Logging><Version>1.0</Version><Read>true</Read><Write>false</Write><Delete>true</Delete>"
#define METRICS_ON                                                                                 \
    "<Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>false</IncludeAPIs>" DAYS("7")
#define METRICS_OFF "<Version>1.0</Version><Enabled>false</Enabled>" OFF
#define RULE                                                                                       \
    "<CorsRule><AllowedMethods>GET,PUT</AllowedMethods><AllowedOrigins>http://a</AllowedOrigins>"  \
    "<AllowedHeaders>x-ms-*</AllowedHeaders><ExposedHeaders></ExposedHeaders>"                     \
    "<MaxAgeInSeconds>60</MaxAgeInSeconds></CorsRule>"

/* --- writing --- */

static void a_new_account_is_written_as_the_service_writes_it(void **state)
{
    (void)state;
    properties = (struct service_properties){ 0 };
    assert_true(slice_is(
        written(),
        XML "<StorageServiceProperties><Logging><Version>1.0</Version><Read>false</Read>"
            "<Write>false</Write><Delete>false</Delete>" OFF "</Logging><HourMetrics>" METRICS_OFF
            "</HourMetrics><MinuteMetrics>" METRICS_OFF "</MinuteMetrics><Cors />"
            "<DeleteRetentionPolicy><Enabled>false</Enabled><AllowPermanentDelete>false"
            "</AllowPermanentDelete></DeleteRetentionPolicy><StaticWebsite><Enabled>false</Enabled>"
            "</StaticWebsite></StorageServiceProperties>"));
}

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    const char *const inside = LOGGING DAYS(
        "5") "</Logging><HourMetrics>" METRICS_ON "</HourMetrics><MinuteMetrics>" METRICS_OFF
             "</MinuteMetrics><Cors>" RULE RULE "</Cors><DefaultServiceVersion>"
             " 2021-12-02\n</DefaultServiceVersion><DeleteRetentionPolicy><Enabled>true</Enabled>"
             "<Days>365</Days><AllowPermanentDelete>true</AllowPermanentDelete>"
             "</DeleteRetentionPolicy><StaticWebsite><Enabled>true</Enabled>"
             "<IndexDocument>i&amp;.html</IndexDocument>"
             "<ErrorDocument404Path>e/404.html</ErrorDocument404Path></StaticWebsite>";
    assert_int_equal(read_inside(inside), OK);
    assert_int_equal(parts, PROPERTIES_LOGGING | PROPERTIES_HOUR_METRICS |
                                PROPERTIES_MINUTE_METRICS | PROPERTIES_CORS |
                                PROPERTIES_DEFAULT_VERSION | PROPERTIES_DELETE_RETENTION |
                                PROPERTIES_WEBSITE);
    assert_true(properties.logging.read && !properties.logging.write && properties.logging.delete);
    assert_true(properties.logging.retention.days == 5);
    assert_true(properties.hour_metrics.enabled && !properties.hour_metrics.include_apis);
    assert_int_equal(properties.cors.count, 2);
    assert_true(properties.cors.rules[1].max_age_sec == 60);
    assert_true(slice_is(properties.default_version, "2021-12-02"));
    assert_true(properties.delete_retention.days == 365 && properties.allow_permanent_delete);
    assert_true(slice_is(properties.website.index_document, "i&.html"));
    const struct slice once = written();
    assert_int_equal(xml_service_read(&arena, once, ALL_PARTS, &properties, &parts, &fault), OK);
    assert_true(slice_equal(written(), once));
}

/* --- parts --- */

static void a_document_has_the_parts_it_names(void **state)
{
    (void)state;
    static const struct {
        const char *inside;
        unsigned parts;
    } rows[] = {
        { "", 0 },
        { LOGGING OFF "</Logging>", PROPERTIES_LOGGING },
        { "<HourMetrics>" METRICS_ON "</HourMetrics>", PROPERTIES_HOUR_METRICS },
        { "<Metrics>" METRICS_ON "</Metrics>", PROPERTIES_HOUR_METRICS },
        { "<MinuteMetrics>" METRICS_OFF "</MinuteMetrics>", PROPERTIES_MINUTE_METRICS },
        { "<Cors/>", PROPERTIES_CORS },
        { "<Cors>" RULE "</Cors>", PROPERTIES_CORS },
        { "<DefaultServiceVersion />", PROPERTIES_DEFAULT_VERSION },
        { "<DeleteRetentionPolicy><Enabled>false</Enabled></DeleteRetentionPolicy>",
          PROPERTIES_DELETE_RETENTION },
        { "<StaticWebsite><Enabled>false</Enabled></StaticWebsite>", PROPERTIES_WEBSITE },
        { "<StaticWebsite><Enabled>true</Enabled><DefaultIndexDocumentPath>a/b"
          "</DefaultIndexDocumentPath></StaticWebsite><Cors />",
          PROPERTIES_WEBSITE | PROPERTIES_CORS },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(read_inside(rows[i].inside), OK);
        assert_int_equal(parts, rows[i].parts);
    }
}

static void parts_must_be_whole(void **state)
{
    (void)state;
    static const char *const rows[] = {
        LOGGING "</Logging>",
        "<Logging><Read>true</Read><Write>false</Write><Delete>true</Delete>" OFF "</Logging>",
        "<Logging><Version>2.0</Version><Read>true</Read><Write>false</Write>"
        "<Delete>true</Delete>" OFF "</Logging>",
        "<Logging><Version>1.0</Version><Read>yes</Read><Write>false</Write>"
        "<Delete>true</Delete>" OFF "</Logging>",
        "<HourMetrics><Version>1.0</Version><Enabled>true</Enabled>" OFF "</HourMetrics>",
        "<MinuteMetrics><Version>1.0</Version><Enabled>false</Enabled></MinuteMetrics>",
        "<DeleteRetentionPolicy></DeleteRetentionPolicy>",
        "<StaticWebsite><IndexDocument>a</IndexDocument></StaticWebsite>",
        "<Cors><CorsRule/></Cors>",
        "<Cors><Rule/></Cors>",
        "<DefaultServiceVersion>soon</DefaultServiceVersion>",
        "<Other/>",
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_refused(rows[i]);
}

static void a_rule_must_have_every_element(void **state)
{
    (void)state;
    static const char *const elements[] = {
        "<AllowedMethods>GET</AllowedMethods>",
        "<AllowedOrigins>*</AllowedOrigins>",
        "<AllowedHeaders/>",
        "<ExposedHeaders/>",
        "<MaxAgeInSeconds>0</MaxAgeInSeconds>",
    };
    enum {
        COUNT = sizeof(elements) / sizeof(elements[0]),
    };
    for (size_t missing = 0; missing <= COUNT; missing++) {
        struct strbuf out;
        strbuf_init(&out, &arena);
        strbuf_add_text(&out, "<Cors><CorsRule>");
        for (size_t i = 0; i < COUNT; i++)
            strbuf_add_text(&out, i == missing ? "" : elements[i]);
        strbuf_add_text(&out, "</CorsRule></Cors>");
        strbuf_add_byte(&out, '\0');
        if (missing == COUNT)
            assert_int_equal(read_inside(out.data), OK);
        else
            assert_refused(out.data);
    }
}

/* --- limits --- */

static void days_are_one_to_365(void **state)
{
    (void)state;
    static const struct {
        const char *days;
        bool good;
    } rows[] = {
        { "1", true },   { "365", true }, { "0", false }, { "366", false },
        { "-1", false }, { "", false },   { "x", false }, { "18446744073709551617", false },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *const inside =
            arena_printf(&arena,
                         "<DeleteRetentionPolicy><Enabled>true</Enabled><Days>%s</Days>"
                         "</DeleteRetentionPolicy>",
                         rows[i].days)
                .data;
        if (rows[i].good)
            assert_int_equal(read_inside(inside), OK);
        else
            assert_refused(inside);
    }
}

static void there_are_at_most_five_rules(void **state)
{
    (void)state;
    assert_int_equal(read_inside("<Cors>" RULE RULE RULE RULE RULE "</Cors>"), OK);
    assert_int_equal(properties.cors.count, CORS_RULES_MAX);
    assert_refused("<Cors>" RULE RULE RULE RULE RULE RULE "</Cors>");
}

static enum err read_rule_of(const char *headers, const char *max_age)
{
    return read_inside(arena_printf(&arena,
                                    "<Cors><CorsRule><AllowedMethods>GET</AllowedMethods>"
                                    "<AllowedOrigins>*</AllowedOrigins><AllowedHeaders>%s"
                                    "</AllowedHeaders><ExposedHeaders /><MaxAgeInSeconds>%s"
                                    "</MaxAgeInSeconds></CorsRule></Cors>",
                                    headers, max_age)
                           .data);
}

static void rules_have_at_most_two_kibibytes(void **state)
{
    (void)state;
    char headers[2048];
    memset(headers, 'h', sizeof(headers));
    headers[2048 - 4] = '\0'; /* beside GET and the star */
    assert_int_equal(read_rule_of(headers, "1"), OK);
    headers[2048 - 4] = 'h';
    headers[2048 - 3] = '\0';
    assert_int_equal(read_rule_of(headers, "1"), ERR_INVALID_XML);
}

static void rules_can_be_sent_in_headers(void **state)
{
    (void)state;
    assert_int_equal(read_rule_of("x-a, x-b", "1"), OK);
    assert_int_equal(read_rule_of("x-a&#10;x-b: c", "1"), ERR_INVALID_XML);
    assert_int_equal(read_rule_of("x-a&#13;", "1"), OK); /* at the end it is white space */
    assert_int_equal(read_rule_of("\xc3\xa4", "1"), ERR_INVALID_XML);
}

static void the_maximum_age_is_a_number_of_seconds(void **state)
{
    (void)state;
    assert_int_equal(read_rule_of("", "0"), OK);
    assert_int_equal(read_rule_of("", "2147483647"), OK);
    assert_int_equal(read_rule_of("", "2147483648"), ERR_INVALID_XML);
    assert_int_equal(read_rule_of("", "-1"), ERR_INVALID_XML);
    assert_int_equal(read_rule_of("", ""), ERR_INVALID_XML);
}

static void names_of_documents_are_bounded(void **state)
{
    (void)state;
    char *name = arena_alloc(&arena, 5000);
    memset(name, 'n', 4999);
    assert_refused(arena_printf(&arena,
                                "<StaticWebsite><Enabled>true</Enabled><IndexDocument>%s"
                                "</IndexDocument></StaticWebsite>",
                                name)
                       .data);
}

static void documents_of_another_shape_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = { "", "x", "<StorageServiceProperties>", "<Other/>" };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        fault = (struct xml_fault){ 0 };
        assert_int_equal(
            xml_service_read(&arena, slice_of(texts[i]), ALL_PARTS, &properties, &parts, &fault),
            ERR_INVALID_XML);
        assert_non_null(fault.reason);
    }
}

static void damaged_documents_are_read_or_refused(void **state)
{
    (void)state;
    struct test_random random = test_seed();
    const struct slice whole = slice_of("<StorageServiceProperties>" LOGGING DAYS(
        "5") "</Logging><HourMetrics>" METRICS_ON "</HourMetrics><Cors>" RULE
             "</Cors><StaticWebsite><Enabled>true</Enabled>"
             "</StaticWebsite></StorageServiceProperties>");
    for (int round = 0; round < 5000; round++) {
        size_t len;
        char *bytes = random_damage(&random, whole, &len);
        const enum err err = xml_service_read(&arena, slice_make(bytes, len), ALL_PARTS,
                                              &properties, &parts, &fault);
        free(bytes);
        assert_true(err == OK || err == ERR_INVALID_XML);
        if (err == OK)
            (void)written();
        arena_clear(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_new_account_is_written_as_the_service_writes_it, clear),
        cmocka_unit_test_teardown(what_is_written_is_read_again, clear),
        cmocka_unit_test_teardown(a_document_has_the_parts_it_names, clear),
        cmocka_unit_test_teardown(a_part_that_another_service_has_is_refused, clear),
        cmocka_unit_test_teardown(parts_must_be_whole, clear),
        cmocka_unit_test_teardown(a_rule_must_have_every_element, clear),
        cmocka_unit_test_teardown(days_are_one_to_365, clear),
        cmocka_unit_test_teardown(there_are_at_most_five_rules, clear),
        cmocka_unit_test_teardown(rules_have_at_most_two_kibibytes, clear),
        cmocka_unit_test_teardown(rules_can_be_sent_in_headers, clear),
        cmocka_unit_test_teardown(the_maximum_age_is_a_number_of_seconds, clear),
        cmocka_unit_test_teardown(names_of_documents_are_bounded, clear),
        cmocka_unit_test_teardown(documents_of_another_shape_are_refused, clear),
        cmocka_unit_test_teardown(damaged_documents_are_read_or_refused, clear),
    };
    return cmocka_run_group_tests(tests, quiet, NULL);
}
