/*
 * limits.h - everything a client can size, and how large it may be.
 *
 * Each row says where the number comes from: the reference of the service, or our reason.
 */
#ifndef SERVICE_LIMITS_H
#define SERVICE_LIMITS_H

#include <stdint.h>

enum {
    /* Names of containers and queues: 3 to 63 characters (Naming and Referencing Containers, Naming
       Queues and Metadata). */
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

    /* Lists of pages that lie over each other: one for each snapshot with many changes since the
       one before.  The sweeper makes them few again; a write that would need one more is told to
       come back, since reading a page looks at each. */
    LIMIT_OVERLAY_DEPTH = 64,

    /* Ranges in an answer of Get Page Ranges, since 2020-10-02. */
    LIMIT_PAGE_RANGES_MAX = 10000,

    /* x-ms-client-request-id is echoed up to this length (Lease Blob and others). */
    LIMIT_CLIENT_REQUEST_ID_MAX = 1024,

    /* Range hashes are given for ranges of up to 4 MiB (Get Blob). */
    LIMIT_RANGE_HASH_BYTES_MAX = 4 * 1024 * 1024,

    /* A request's line and headers, and the headers of its answer, share one buffer of the
       connection.  The longest legal request (a 1,024 character name percent-encoded, 8 KiB of
       metadata, a SAS) and its answer take about 40 KiB.  All of it is cleared between requests, so
       that more costs every request. */
    LIMIT_CONNECTION_BUFFER_BYTES = 48 * 1024,

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

    /* Messages: 64 KiB of UTF-8 each, 32 at a time, out of sight for a week at most, a week to live
       unless it is said otherwise (Put Message, Get Messages).  The largest answer is the texts of
       32 messages in which every character has to be escaped: 12 MiB.  Before 2017-07-29 a week
       was also the longest time to live. */
    LIMIT_MESSAGE_BYTES = 64 * 1024,
    LIMIT_MESSAGES_MAX = 32,
    LIMIT_MESSAGE_DOCUMENT_BYTES = 1024 * 1024, /* XML that says every character by its number */
    LIMIT_VISIBILITY_SEC = 7 * 24 * 60 * 60,
    LIMIT_MESSAGE_TTL_SEC_DEFAULT = 7 * 24 * 60 * 60,

    /* A batch of requests (Blob Batch). */
    LIMIT_BATCH_BYTES = 4 * 1024 * 1024,

    /* Table names: 3 to 63 letters and digits (Understanding the Table Service Data Model, also for
       the numbers of entities).  Keys are up to 1 KiB in UTF-16, so 512 units of it. */
    LIMIT_TABLE_NAME_MIN = 3,
    LIMIT_TABLE_NAME_MAX = 63,
    LIMIT_ENTITY_KEY_UNITS_MAX = 512,
    /* A unit of UTF-16 is up to three bytes of UTF-8. */
    LIMIT_ENTITY_KEY_BYTES_MAX = 3 * LIMIT_ENTITY_KEY_UNITS_MAX,
    LIMIT_ENTITY_PROPERTIES_MAX = 252, /* without the three every entity has */
    LIMIT_PROPERTY_NAME_UNITS_MAX = 255,
    LIMIT_PROPERTY_VALUE_BYTES_MAX = 64 * 1024, /* strings in UTF-16 */
    LIMIT_ENTITY_BYTES_MAX = 1024 * 1024,       /* as entity_size_bytes counts them */

    /* Entity group transactions (Performing Entity Group Transactions). */
    LIMIT_GROUP_OPERATIONS = 100,
    LIMIT_GROUP_BYTES = 4 * 1024 * 1024,

    /* Query Entities, Query Tables: results in a page.  A page also ends when it has looked at so
       many entities without the filter letting enough of them through, or for so long, so that
       nobody waits behind somebody's search of a whole table; the service allows five seconds. */
    LIMIT_QUERY_RESULTS_MAX = 1000,
    LIMIT_QUERY_LOOKED_MAX = 100000,
    LIMIT_QUERY_US = 100000,

    /* Names of directories and files, and paths of them: counted in UTF-16 (Naming and Referencing
       Shares, Directories, Files, and Metadata; Azure Files scalability targets). */
    LIMIT_FILE_NAME_UNITS_MAX = 255,
    LIMIT_FILE_NAME_BYTES_MAX = 3 * LIMIT_FILE_NAME_UNITS_MAX, /* of UTF-8, in either case */
    LIMIT_FILE_PATH_UNITS_MAX = 2048,
    LIMIT_FILE_PATH_DEPTH = 250,

    /* Quotas of shares in GiB: 100 TiB at most, 5 TiB unless it is said otherwise (Create
       Share). */
    LIMIT_SHARE_QUOTA_GIB_MAX = 102400,
    LIMIT_SHARE_QUOTA_GIB_DEFAULT = 5120,
    /* Snapshots of a share (Overview of share snapshots). */
    LIMIT_SHARE_SNAPSHOTS_MAX = 200,
    /* File permissions: a security descriptor's lists have up to 64 KiB each as NTFS keeps them,
       and both together have to be within it here; its text is about three times as long. */
    LIMIT_PERMISSION_BYTES = 64 * 1024,
    LIMIT_PERMISSION_TEXT_BYTES = 192 * 1024,

    /* A permission in a header; longer ones go through Create Permission (Create File). */
    LIMIT_PERMISSION_HEADER_BYTES = 8 * 1024,

    /* List Ranges has no pages, and Get Page Ranges had none before 2020-10-02; one that would be
       longer is refused, and the client asks for a part.  A range takes about 50 bytes. */
    LIMIT_RANGES_BODY_BYTES = 16 * 1024 * 1024,

    /* Handles of SMB clients: on a file or directory, and on the root of a share (Azure Files
       scalability targets); of all files together, at about 300 bytes each. */
    LIMIT_FILE_HANDLES_MAX = 2000,
    LIMIT_SHARE_ROOT_HANDLES_MAX = 10000,
    LIMIT_HANDLES_MAX = 200000,
    /* Byte-range locks on a file, and requests that wait for the same file: not documented; a lock
       or a change of the file looks at all of them. */
    LIMIT_FILE_BYTE_LOCKS_MAX = 10000,
    LIMIT_FILE_WAITERS_MAX = 1000,
    /* Text that List Handles shows of a client: its address with the port, and its name. */
    LIMIT_SMB_CLIENT_TEXT_MAX = 255,
    /* A REST request waits so long, or for its timeout if that is shorter, until an SMB client has
       written back what it cached (Manage file locks).  The client itself has a little longer
       before the server takes its cache for lost (MS-SMB2, 3.3.2.1). */
    LIMIT_CACHE_FLUSH_WAIT_SEC = 30,
    LIMIT_OPLOCK_ACK_SEC = 35,
    /* An SMB request waits so long for REST requests that are being committed. */
    LIMIT_OPERATION_WAIT_SEC = 5,

    /* $filter of a table query.  The reference permits 15 comparisons (Querying Tables and
       Entities), but common clients send more: to look up a batch of 100 rows by two properties
       each takes 201, and the pairwise combination of conditions nests them as deep.  Each
       comparison costs every scanned row a little. */
    LIMIT_FILTER_COMPARISONS = 512,
    LIMIT_FILTER_DEPTH = 800, /* of parentheses and `not`s */
    /* Key ranges a filter is turned into; more are merged to fewer, longer ones. */
    LIMIT_PLAN_RANGES = 256,

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

/* A file has up to 4 TiB, and Put Range writes up to 4 MiB (Create File, Put Range). */
#define LIMIT_FILE_BYTES      (UINT64_C(4) << 40)
#define LIMIT_PUT_RANGE_BYTES (UINT64_C(4) * 1024 * 1024)

/* Copy Blob From URL. */
#define LIMIT_COPY_FROM_URL_BYTES (INT64_C(256) * 1024 * 1024)

/* Put Block: 4,000 MiB since 2019-12-12, 100 MiB since 2016-05-31, 4 MiB before. */
#define LIMIT_PUT_BLOCK_BYTES         (INT64_C(4000) * 1024 * 1024)
#define LIMIT_PUT_BLOCK_BYTES_2016    (INT64_C(100) * 1024 * 1024)
#define LIMIT_PUT_BLOCK_BYTES_EARLIER (INT64_C(4) * 1024 * 1024)

#endif
