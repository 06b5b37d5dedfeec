/*
 * auth_cost.c - what it costs to check that a request may be made.
 *
 * The checks are those of the server (frontend/http/auth_sharedkey.h, auth_sas.h), over requests
 * as they come out of its parser:
 *
 *   sharedkey     Put Blob of the official client's headers, signed with the account's key: the
 *                 string-to-sign is made and its HMAC compared
 *   account_sas   Get Blob by an account SAS: its parameters are read, its text is made, its HMAC
 *                 compared, and time, protocol, address and service are checked
 *   service_sas   the same by a SAS of the blob
 *
 *   auth_cost --account-sas QUERY --service-sas QUERY [--container NAME] [--blob NAME]
 *
 * The signatures of the two SAS come from outside (bench/sas.py), so that they are not right by
 * construction; every check must say OK.  The result is one line of JSON, in nanoseconds per check:
 * the median of many short rounds, each kind in turn.  One thread.
 */
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/date.h"
#include "base/digest.h"
#include "base/encoding.h"
#include "frontend/http/auth_sas.h"
#include "frontend/http/auth_sharedkey.h"

enum {
    ROUNDS = 201,
    CHECKS_PER_ROUND = 500,
    KINDS = 3,
};

/* When the request is signed and received. */
#define DATE "Sun, 15 Nov 2026 04:02:46 GMT"

/* All that the checks are given.  Set up once, then constant but for the scratch memory. */
struct subject {
    struct arena arena; /* of what lives as long as the process */
    struct account_list *accounts;
    struct http_message signed_message;
    struct auth_sharedkey_request signed_request;
    struct http_message account_sas_message;
    struct http_message service_sas_message;
    struct sas_request sas_request;
    struct arena scratch; /* reset before each check, as a request's is */
};

static void fail(const char *what)
{
    fprintf(stderr, "auth_cost: %s\n", what);
    exit(1);
}

static void fail_check(const char *kind)
{
    fprintf(stderr, "auth_cost: %s: a request that is allowed was refused\n", kind);
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* --- the requests --- */

/* The Authorization header of the signed request. */
static struct slice authorization(struct subject *subject)
{
    const struct account *account = subject->signed_request.account;
    struct slice text;
    if (auth_sharedkey_text(&subject->arena, &subject->signed_request, slice_of(account->name),
                            AUTH_SHAREDKEY, AUTH_ORDER_BYTES, &text) != OK)
        fail("the request has no string-to-sign");
    uint8_t mac[DIGEST_SHA256_BYTES];
    digest_hmac(&account->keys[0], text, mac);
    char signature[BASE64_LEN(DIGEST_SHA256_BYTES) + 1];
    base64_encode(slice_make((const char *)mac, sizeof mac), signature);
    return arena_printf(&subject->arena, "SharedKey %s:%s", account->name, signature);
}

static void sign_request(struct subject *subject, const char *container, const char *blob)
{
    static struct http_field headers[] = {
        { SLICE_LITERAL("Host"), SLICE_LITERAL("127.0.0.1:10000") },
        { SLICE_LITERAL("x-ms-version"), SLICE_LITERAL("2025-05-05") },
        { SLICE_LITERAL("x-ms-blob-type"), SLICE_LITERAL("BlockBlob") },
        { SLICE_LITERAL("x-ms-blob-content-type"), SLICE_LITERAL("application/octet-stream") },
        { SLICE_LITERAL("Content-Type"), SLICE_LITERAL("application/octet-stream") },
        { SLICE_LITERAL("Content-Length"), SLICE_LITERAL("1024") },
        { SLICE_LITERAL("Accept"), SLICE_LITERAL("application/xml") },
        { SLICE_LITERAL("User-Agent"), SLICE_LITERAL("azsdk-js-azure-storage-blob/12.27.0") },
        { SLICE_LITERAL("x-ms-client-request-id"),
          SLICE_LITERAL("19fd4896-a36c-4428-8aed-7d14fd8c7dbc") },
        { SLICE_LITERAL("x-ms-date"), SLICE_LITERAL(DATE) },
        { SLICE_LITERAL("Authorization"), { 0 } },
    };
    const size_t count = sizeof headers / sizeof headers[0];
    struct http_message *message = &subject->signed_message;
    const struct account *account = account_list_get(subject->accounts, 0);
    if (http_message_parse_target(
            &subject->arena,
            arena_printf(&subject->arena, "/%s/%s/%s?timeout=30", account->name, container, blob),
            message) != OK)
        fail("the target cannot be read");
    message->method = slice_of("PUT");
    message->headers = headers;
    message->header_count = count - 1;
    subject->signed_request = (struct auth_sharedkey_request){
        .message = message,
        .account = account,
        .addressing = AUTH_PATH_STYLE,
        .dialect = AUTH_DIALECT_BLOB_QUEUE_FILE,
        .now = subject->sas_request.now,
    };
    headers[count - 1].value = authorization(subject);
    message->header_count = count;
}

static struct http_message sas_message(struct subject *subject, const char *query)
{
    struct http_message message = { 0 };
    if (http_message_parse_target(&subject->arena, arena_printf(&subject->arena, "/?%s", query),
                                  &message) != OK)
        fail("the SAS cannot be read");
    return message;
}

static void set_up(struct subject *subject, const char *account_sas, const char *service_sas,
                   const char *container, const char *blob)
{
    static const struct sockaddr loopback = { .sa_family = AF_INET };
    const char *fault = NULL;
    if (account_list_new(NULL, &subject->accounts, &fault) != OK)
        fail(fault);
    int64_t now;
    if (date_parse_rfc1123(slice_of(DATE), &now) != OK)
        fail("the date cannot be read");
    subject->sas_request = (struct sas_request){
        .account = account_list_get(subject->accounts, 0),
        .service = 'b',
        .service_name = "blob",
        .container = slice_of(container),
        .blob = slice_of(blob),
        .client = &loopback,
        .now = now,
    };
    subject->account_sas_message = sas_message(subject, account_sas);
    subject->service_sas_message = sas_message(subject, service_sas);
    sign_request(subject, container, blob);
}

/* --- the checks --- */

static enum err check_sas(struct subject *subject, const struct http_message *message)
{
    struct sas sas;
    const enum err err = auth_sas_parse(message, 'b', &sas);
    return err != OK ? err : auth_sas_verify(&subject->scratch, &sas, &subject->sas_request, NULL);
}

static enum err check_sharedkey(struct subject *subject)
{
    return auth_sharedkey_check(&subject->scratch, &subject->signed_request);
}

static enum err check_account_sas(struct subject *subject)
{
    return check_sas(subject, &subject->account_sas_message);
}

static enum err check_service_sas(struct subject *subject)
{
    return check_sas(subject, &subject->service_sas_message);
}

static const struct kind {
    const char *name;
    enum err (*check)(struct subject *subject);
} kinds[KINDS] = {
    { "sharedkey", check_sharedkey },
    { "account_sas", check_account_sas },
    { "service_sas", check_service_sas },
};

/* Nanoseconds per check of one round. */
static double round_ns(struct subject *subject, const struct kind *kind)
{
    const uint64_t began_at_ns = now_ns();
    for (unsigned i = 0; i < CHECKS_PER_ROUND; i++) {
        arena_clear(&subject->scratch);
        if (kind->check(subject) != OK)
            fail_check(kind->name);
    }
    return (double)(now_ns() - began_at_ns) / CHECKS_PER_ROUND;
}

static int compare_ns(const void *a, const void *b)
{
    const double left = *(const double *)a;
    const double right = *(const double *)b;
    return (left > right) - (left < right);
}

static void measure(struct subject *subject)
{
    static double ns[KINDS][ROUNDS];
    for (unsigned i = 0; i < KINDS; i++)
        (void)round_ns(subject, &kinds[i]);
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < KINDS; i++)
            ns[i][round] = round_ns(subject, &kinds[i]);
    }
    for (unsigned i = 0; i < KINDS; i++) {
        qsort(ns[i], ROUNDS, sizeof ns[i][0], compare_ns);
        printf("%s\"%s\":%.1f", i == 0 ? "{" : ",", kinds[i].name, ns[i][ROUNDS / 2]);
    }
    printf("}\n");
}

int main(int argc, char **argv)
{
    const char *account_sas = NULL;
    const char *service_sas = NULL;
    const char *container = "bench";
    const char *blob = "get-0";
    static const struct option options[] = {
        { "account-sas", required_argument, NULL, 'a' },
        { "service-sas", required_argument, NULL, 's' },
        { "container", required_argument, NULL, 'c' },
        { "blob", required_argument, NULL, 'b' },
        { NULL, 0, NULL, 0 },
    };
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 'a')
            account_sas = optarg;
        else if (option == 's')
            service_sas = optarg;
        else if (option == 'c')
            container = optarg;
        else if (option == 'b')
            blob = optarg;
        else
            return 2;
    }
    if (account_sas == NULL || service_sas == NULL || optind != argc)
        fail("usage: auth_cost --account-sas QUERY --service-sas QUERY [--container NAME] "
             "[--blob NAME]");
    static struct subject subject;
    set_up(&subject, account_sas, service_sas, container, blob);
    measure(&subject);
    arena_release(&subject.scratch);
    arena_release(&subject.arena);
    account_list_free(subject.accounts);
    return 0;
}
