/*
 * limits.h - everything a client can size, and how large it may be.
 *
 * Each row says where the number comes from: the reference of the service, or our reason.
 */
#ifndef SERVICE_LIMITS_H
#define SERVICE_LIMITS_H

#include <stdint.h>

enum {
    /* Container names: 3 to 63 characters (Naming and Referencing Containers). */
    LIMIT_CONTAINER_NAME_MIN = 3,
    LIMIT_CONTAINER_NAME_MAX = 63,

    /* Blob names: 1 to 1,024 characters in at most 254 path segments (same page).  A character
       is up to four bytes of UTF-8 here. */
    LIMIT_BLOB_NAME_CHARS_MAX = 1024,
    LIMIT_BLOB_NAME_BYTES_MAX = 4 * LIMIT_BLOB_NAME_CHARS_MAX,
    LIMIT_BLOB_NAME_SEGMENTS_MAX = 254,

    /* Metadata: names and values together (Setting and Retrieving Properties and Metadata). */
    LIMIT_METADATA_BYTES_MAX = 8 * 1024,

    /* A stored property such as Content-Type: not documented; larger ones do not fit the header
       limits of common clients. */
    LIMIT_PROPERTY_BYTES_MAX = 1024,

    /* Results in a page of a listing (List Blobs, List Containers). */
    LIMIT_LIST_RESULTS_MAX = 5000,
    LIMIT_LIST_RESULTS_DEFAULT = 5000,
    /* A page ends early when its text is this long, so that pages of long names and metadata are
       bounded in memory; the client goes on with the marker, as it must anyway. */
    LIMIT_LIST_BODY_BYTES = 4 * 1024 * 1024,

    /* Ranges in an answer of Get Page Ranges, since 2020-10-02. */
    LIMIT_PAGE_RANGES_MAX = 10000,

    /* x-ms-client-request-id is echoed up to this length (Lease Blob and others). */
    LIMIT_CLIENT_REQUEST_ID_MAX = 1024,

    /* Range hashes are given for ranges of up to 4 MiB (Get Blob). */
    LIMIT_RANGE_HASH_BYTES_MAX = 4 * 1024 * 1024,

    /* A request's line and headers, and the headers of its answer, share one buffer of the
       connection.  The longest legal request (a 1,024 character name percent-encoded, 8 KiB of
       metadata, a SAS) and its answer take about 40 KiB. */
    LIMIT_CONNECTION_BUFFER_BYTES = 64 * 1024,

    /* Open connections of a listener; more wait in the kernel's queue. */
    LIMIT_CONNECTIONS_MAX = 16384,

    /* A connection that neither sends nor takes a byte for so long is closed. */
    LIMIT_CONNECTION_IDLE_SEC = 120,

    /* A server that is told to stop waits so long for clients that are slow to send or receive. */
    LIMIT_STOP_SEC = 30,

    /* When a request is refused, its body is read and dropped up to this size so that the
       connection can be used again; beyond it the connection is closed. */
    LIMIT_DRAIN_BYTES = 64 * 1024 * 1024,

    /* Stored access policies, accounts in AZURITE_ACCOUNTS, keys of an account. */
    LIMIT_ACCOUNTS_MAX = 1000,
    LIMIT_ACCOUNT_NAME_MAX = 63,

    /* Payloads up to this size travel inside the metadata commit: one sync instead of two.  The
       measurement behind the number is in docs/benchmarks.md. */
    LIMIT_INLINE_PAYLOAD_BYTES = 8 * 1024,

    /* A body that is read whole before it is looked at: XML, batches.  50,000 entries of a block
       list with ids of 64 bytes take about 6 MiB. */
    LIMIT_DOCUMENT_BYTES = 8 * 1024 * 1024,

    /* Blocks: ids of up to 64 bytes before base64; 50,000 in a list, 100,000 uncommitted, which are
       kept for a week after the last Put Block (Put Block, Put Block List). */
    LIMIT_BLOCK_ID_BYTES_MAX = 64,
    LIMIT_COMMITTED_BLOCKS = 50000,
    LIMIT_UNCOMMITTED_BLOCKS = 100000,
    LIMIT_UNCOMMITTED_LIFE_SEC = 7 * 24 * 60 * 60,

    /* CORS rules of a service, all lists together (Cross-Origin Resource Sharing support). */
    LIMIT_CORS_BYTES_MAX = 2 * 1024,

    /* A batch of requests (Blob Batch). */
    LIMIT_BATCH_BYTES = 4 * 1024 * 1024,

    /* Query parameters of one request; the reference names about thirty. */
    LIMIT_QUERY_PARAMETERS_MAX = 64,
};

/* Put Blob: 5,000 MiB since 2019-12-12, 256 MiB since 2016-05-31, 64 MiB before. */
#define LIMIT_PUT_BLOB_BYTES         (INT64_C(5000) * 1024 * 1024)
#define LIMIT_PUT_BLOB_BYTES_2016    (INT64_C(256) * 1024 * 1024)
#define LIMIT_PUT_BLOB_BYTES_EARLIER (INT64_C(64) * 1024 * 1024)

/* Append Block: 100 MiB since 2022-11-02, 4 MiB before.  Put Page: 4 MiB. */
#define LIMIT_APPEND_BLOCK_BYTES         (UINT64_C(100) * 1024 * 1024)
#define LIMIT_APPEND_BLOCK_BYTES_EARLIER (UINT64_C(4) * 1024 * 1024)
#define LIMIT_PUT_PAGE_BYTES             (UINT64_C(4) * 1024 * 1024)

/* Copy Blob From URL. */
#define LIMIT_COPY_FROM_URL_BYTES (INT64_C(256) * 1024 * 1024)

/* Put Block: 4,000 MiB since 2019-12-12, 100 MiB since 2016-05-31, 4 MiB before. */
#define LIMIT_PUT_BLOCK_BYTES         (INT64_C(4000) * 1024 * 1024)
#define LIMIT_PUT_BLOCK_BYTES_2016    (INT64_C(100) * 1024 * 1024)
#define LIMIT_PUT_BLOCK_BYTES_EARLIER (INT64_C(4) * 1024 * 1024)

#endif
