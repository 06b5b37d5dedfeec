/*
 * error.h - the one list of things that can go wrong.
 *
 * Errors are named by what happened, never by how a protocol says it.  Each front
 * end translates the whole list in one total switch (frontend/http/http_error.c),
 * so adding an error here is a build failure until every protocol has an answer.
 *
 * The enum is for branching.  Words for people (which header, which value) are
 * added once, by the code that finds the fault.
 *
 * Three grades of failure are kept apart:
 *   1. expected: anything a client or a disk may present.  Returned as `enum err`.
 *   2. our bug: assert(), enabled in every build.
 *   3. durable state unknown (a failed sync): panic(), recovery is a restart.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#define ERR_LIST(X)                                                                                \
    X(OK, "success")                                                                               \
    /* The machine under us. */                                                                    \
    X(ERR_CORRUPT, "stored bytes fail their checksum or their format")                             \
    X(ERR_IO, "the operating system reported an input/output error")                               \
    X(ERR_NO_SPACE, "the disk is full")                                                            \
    X(ERR_NOT_FOUND, "no such key, file or object")                                                \
    X(ERR_EXISTS, "the key, file or object exists already")                                        \
    X(ERR_LOCKED, "another process holds the data directory")                                      \
    X(ERR_FORMAT_UNKNOWN, "the data directory has a format this program does not know")            \
    X(ERR_SHUTTING_DOWN, "the server is stopping")                                                 \
    X(ERR_MALFORMED, "an encoded value does not follow its format")                                \
    X(ERR_OUT_OF_RANGE, "a numeric argument is outside its documented range")                      \
    X(ERR_TOO_LARGE, "a value is longer than its documented limit")                                \
    /* What was asked cannot be understood. */                                                     \
    X(ERR_INVALID_URI, "the request URI is not valid")                                             \
    X(ERR_INVALID_QUERY_PARAMETER, "a query parameter's value is not valid")                       \
    X(ERR_OUT_OF_RANGE_QUERY_PARAMETER, "a query parameter's value is out of range")               \
    X(ERR_UNSUPPORTED_QUERY_PARAMETER, "a query parameter is not supported here")                  \
    X(ERR_INVALID_HEADER, "a header's value is not valid")                                         \
    X(ERR_MISSING_HEADER, "a required header is missing")                                          \
    X(ERR_UNSUPPORTED_HEADER, "a header is not supported here")                                    \
    X(ERR_INVALID_INPUT, "an input is not valid")                                                  \
    X(ERR_UNSUPPORTED_VERB, "the resource does not support the method")                            \
    X(ERR_MISSING_CONTENT_LENGTH, "the body's length was not announced")                           \
    X(ERR_BODY_TOO_LARGE, "the body is longer than the operation allows")                          \
    X(ERR_INVALID_RESOURCE_NAME, "a resource name has characters it may not have")                 \
    X(ERR_RESOURCE_NAME_LENGTH, "a resource name is too short or too long")                        \
    X(ERR_INVALID_METADATA, "a metadata name is not an identifier")                                \
    X(ERR_EMPTY_METADATA_KEY, "a metadata name is empty")                                          \
    X(ERR_METADATA_TOO_LARGE, "the metadata is longer than allowed")                               \
    X(ERR_INVALID_MD5, "a given MD5 is not 128 bits in base64")                                    \
    X(ERR_MD5_MISMATCH, "the body's MD5 is not the one given")                                     \
    X(ERR_CRC64_MISMATCH, "the body's CRC64 is not the one given")                                 \
    X(ERR_BOTH_MD5_AND_CRC64, "both an MD5 and a CRC64 were given")                                \
    X(ERR_BOTH_RANGE_MD5_AND_CRC64, "both hashes of a range were asked for")                       \
    X(ERR_INVALID_RANGE, "the range does not overlap the resource")                                \
    X(ERR_MULTIPLE_CONDITIONS, "conditions were combined that may not be")                         \
    X(ERR_CONDITIONS_NOT_SUPPORTED, "the operation takes no conditions")                           \
    X(ERR_NOT_IMPLEMENTED, "the operation does not exist in this server")                          \
    /* Who is asking, and may they. */                                                             \
    X(ERR_NO_AUTHENTICATION, "no credential, and none is not enough")                              \
    X(ERR_INVALID_AUTHENTICATION, "a credential is not in its format")                             \
    X(ERR_BEARER_REFUSED, "a bearer token is not accepted")                                        \
    X(ERR_AUTHENTICATION_FAILED, "a credential is not valid")                                      \
    X(ERR_AUTHORIZATION_FAILED, "the credential may never do this")                                \
    X(ERR_AUTHORIZATION_PERMISSION, "the credential lacks the permission")                         \
    X(ERR_AUTHORIZATION_SERVICE, "the credential is for other services")                           \
    X(ERR_AUTHORIZATION_RESOURCE_TYPE, "the credential is for other resource types")               \
    X(ERR_AUTHORIZATION_SOURCE_IP, "the credential is for other addresses")                        \
    X(ERR_AUTHORIZATION_PROTOCOL, "the credential is for other protocols")                         \
    X(ERR_UNAUTHORIZED_OVERWRITE, "the credential may create but not overwrite")                   \
    X(ERR_SECONDARY_IS_READ_ONLY, "the secondary endpoint takes no writes")                        \
    /* The state of what was asked for. */                                                         \
    X(ERR_ACCOUNT_NOT_FOUND, "there is no such account")                                           \
    X(ERR_RESOURCE_NOT_FOUND, "there is no such resource, or it may not be known")                 \
    X(ERR_CONTAINER_NOT_FOUND, "there is no such container")                                       \
    X(ERR_CONTAINER_EXISTS, "the container exists already")                                        \
    X(ERR_BLOB_NOT_FOUND, "there is no such blob")                                                 \
    X(ERR_BLOB_EXISTS, "the blob exists already")                                                  \
    X(ERR_INVALID_BLOB_TYPE, "the operation is not for this type of blob")                         \
    X(ERR_NOT_MODIFIED, "the resource is the one the reader has")                                  \
    X(ERR_CONDITION_NOT_MET, "a condition of the request does not hold")                           \
    X(ERR_UNSATISFIABLE_CONDITION, "a condition of the request can never hold")                    \
    /* Leases. */                                                                                  \
    X(ERR_LEASE_ALREADY_PRESENT, "another lease holds the resource")                               \
    X(ERR_LEASE_BREAKING_NO_ACQUIRE, "the lease is breaking and cannot be acquired")               \
    X(ERR_LEASE_BREAKING_NO_CHANGE, "the lease is breaking and cannot be changed")                 \
    X(ERR_LEASE_BROKEN_NO_RENEW, "the lease is broken and cannot be renewed")                      \
    X(ERR_LEASE_ACTION_ID_MISMATCH, "a lease action names an id that is not the lease's")          \
    X(ERR_LEASE_ACTION_NOT_PRESENT, "there is no lease to act on")                                 \
    X(ERR_LEASE_ID_MISSING, "the resource is leased and the request names no lease")               \
    X(ERR_LEASE_ID_MISMATCH_BLOB, "the request names a lease that is not the blob's")              \
    X(ERR_LEASE_ID_MISMATCH_CONTAINER, "the request names a lease that is not the container's")    \
    X(ERR_LEASE_NOT_PRESENT_BLOB, "the request names a lease and the blob has none")               \
    X(ERR_LEASE_NOT_PRESENT_CONTAINER, "the request names a lease and the container has none")     \
    X(ERR_LEASE_LOST, "the lease the request names has expired or was broken")

enum err {
#define X(name, text) name,
    ERR_LIST(X)
#undef X
};

/* Attribute for every function whose result must not be dropped. */
#define MUST_CHECK __attribute__((warn_unused_result))

/* The name ("ERR_LEASE_LOST") and the sentence of an error; static strings. */
const char *error_name(enum err err);
const char *error_text(enum err err);

#endif
