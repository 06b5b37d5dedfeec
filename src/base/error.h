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
    X(ERR_BUSY, "work in the background has to come first")                                        \
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
    X(ERR_OUT_OF_RANGE_INPUT, "an input is out of range")                                          \
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
    X(ERR_INVALID_XML, "a document is not the XML it should be")                                   \
    X(ERR_INVALID_XML_VALUE, "the text of an XML element is not valid")                            \
    X(ERR_MISSING_QUERY_PARAMETER, "a required query parameter is missing")                        \
    X(ERR_EXCLUSIVE_QUERY_PARAMETERS, "two query parameters exclude each other")                   \
    X(ERR_INVALID_BLOCK_ID, "a block id is not base64 of at most 64 bytes")                        \
    X(ERR_INVALID_BLOCK, "a block does not fit the others of its blob")                            \
    X(ERR_INVALID_BLOCK_LIST, "a block list names a block that is not there")                      \
    X(ERR_BLOCK_LIST_TOO_LONG, "a block list is longer than allowed")                              \
    X(ERR_BLOCK_COUNT, "the blob has as many blocks as it may have")                               \
    X(ERR_UNCOMMITTED_BLOCK_COUNT, "the blob has as many uncommitted blocks as it may have")       \
    X(ERR_INVALID_PAGE_RANGE, "a range does not fit the pages of the blob")                        \
    X(ERR_EMPTY_TAG_NAME, "a tag has no name")                                                     \
    X(ERR_DUPLICATE_TAG_NAMES, "a tag is given twice")                                             \
    X(ERR_TAGS_TOO_LARGE, "there are too many or too long tags")                                   \
    X(ERR_INVALID_TAG, "a tag has characters it may not have")                                     \
    X(ERR_CONDITIONS_NOT_SUPPORTED, "the operation takes no conditions")                           \
    X(ERR_PROPERTY_NAME_INVALID, "a property's name is not an identifier")                         \
    X(ERR_PROPERTY_NAME_TOO_LONG, "a property's name is longer than allowed")                      \
    X(ERR_PROPERTY_VALUE_TOO_LARGE, "a property's value is longer than allowed")                   \
    X(ERR_TOO_MANY_PROPERTIES, "the entity has more properties than allowed")                      \
    X(ERR_DUPLICATE_PROPERTIES, "a property of the entity is given twice")                         \
    X(ERR_PROPERTIES_NEED_VALUE, "the entity lacks a key")                                         \
    X(ERR_KEY_TOO_LARGE, "a key of the entity is longer than allowed")                             \
    X(ERR_ENTITY_TOO_LARGE, "the entity is larger than allowed")                                   \
    X(ERR_GROUP_TOO_LONG, "a group of entity changes has more operations than allowed")            \
    X(ERR_GROUP_PARTITIONS, "a group of entity changes is about several partition keys")           \
    X(ERR_GROUP_DUPLICATE, "a group of entity changes is about an entity twice")                   \
    X(ERR_ENTITY_MALFORMED, "a body is not the entity or table it should be")                      \
    X(ERR_INVALID_ETAG, "a condition does not name the ETag of an entity")                         \
    X(ERR_TUNNELLED_METHOD, "a tunnelled method is not one that may be")                           \
    X(ERR_TUNNEL_NOT_POST, "a method is tunnelled through another than POST")                      \
    X(ERR_MEDIA_TYPE, "a body or an answer is wanted in a form that does not exist")               \
    X(ERR_ATOM, "a body or an answer is wanted as Atom")                                           \
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
    X(ERR_CANNOT_OVERWRITE_TYPE, "the blob is of another type")                                    \
    X(ERR_OPERATION_ON_SNAPSHOT, "a snapshot cannot be changed")                                   \
    X(ERR_SNAPSHOTS_PRESENT, "the blob has snapshots")                                             \
    X(ERR_CURRENT_VERSION, "the version is the current one")                                       \
    X(ERR_NOT_SOFT_DELETED, "the snapshot or version is not soft-deleted")                         \
    X(ERR_PERMANENT_DELETE_REFUSED, "the account does not allow to delete it for good")            \
    X(ERR_BLOB_SEALED, "the append blob is sealed")                                                \
    X(ERR_BLOB_ARCHIVED, "the blob is archived")                                                   \
    X(ERR_BLOB_REHYDRATING, "the blob is being rehydrated")                                        \
    X(ERR_TIER_NOT_FOR_TYPE, "the access tier is not for this type of blob")                       \
    X(ERR_INVALID_TIER, "there is no such access tier")                                            \
    X(ERR_SEQUENCE_CONDITION_NOT_MET, "a condition on the sequence number does not hold")          \
    X(ERR_SEQUENCE_INCREMENT_TOO_LARGE, "the sequence number cannot be incremented")               \
    X(ERR_APPEND_POSITION_NOT_MET, "the blob does not end where the append is to begin")           \
    X(ERR_MAX_SIZE_NOT_MET, "the blob would be longer than the request allows")                    \
    X(ERR_PREVIOUS_SNAPSHOT_NOT_FOUND, "there is no such previous snapshot")                       \
    X(ERR_PREVIOUS_SNAPSHOT_NEWER, "the previous snapshot is newer")                               \
    X(ERR_BLOB_OVERWRITTEN, "the blob was written anew since the previous snapshot")               \
    X(ERR_PENDING_COPY, "a copy to the blob is under way")                                         \
    X(ERR_NO_PENDING_COPY, "no copy to the blob is under way")                                     \
    X(ERR_COPY_ID_MISMATCH, "another copy to the blob is under way")                               \
    X(ERR_TARGET_CONDITION_NOT_MET, "a condition on the copy's destination does not hold")         \
    X(ERR_SOURCE_CONDITION_NOT_MET, "a condition on the copy's source does not hold")              \
    X(ERR_COPY_SOURCE_NOT_MODIFIED, "the copy's source is the one the client has")                 \
    X(ERR_COPY_SOURCE_CONDITION, "the copy's source does not meet a condition")                    \
    X(ERR_COPY_SOURCE_UNAUTHORIZED, "the copy's source wants another credential")                  \
    X(ERR_COPY_SOURCE_FORBIDDEN, "the copy's source may not be read")                              \
    X(ERR_COPY_SOURCE_NOT_FOUND, "the copy's source does not exist")                               \
    X(ERR_COPY_SOURCE_CONFLICT, "the copy's source is in no state to be read")                     \
    X(ERR_COPY_SOURCE_UNREACHABLE, "the copy's source does not answer")                            \
    X(ERR_COPY_SOURCE_TOO_LARGE, "the copy's source is longer than allowed")                       \
    X(ERR_INVALID_SOURCE_TYPE, "the copy's source is a blob of another type")                      \
    X(ERR_INCREMENTAL_NEEDS_SNAPSHOT, "the source of an incremental copy is not a snapshot")       \
    X(ERR_INCREMENTAL_EARLIER_SNAPSHOT, "the source snapshot is earlier than the last one copied") \
    X(ERR_INCREMENTAL_OTHER_BLOB, "the source is another blob than the one copied before")         \
    X(ERR_INCREMENTAL_BLOB, "the blob is only for incremental copies")                             \
    X(ERR_INFINITE_LEASE_REQUIRED, "the lease must be an infinite one")                            \
    X(ERR_CORS_HEADER_MISSING, "a preflight lacks a header it must have")                          \
    X(ERR_CORS_REFUSED, "no CORS rule allows the request")                                         \
    X(ERR_PUBLIC_ACCESS_REFUSED, "public access is not permitted")                                 \
    X(ERR_QUEUE_NOT_FOUND, "there is no such queue")                                               \
    X(ERR_QUEUE_EXISTS, "the queue exists already, with other metadata")                           \
    X(ERR_MESSAGE_NOT_FOUND, "there is no such message")                                           \
    X(ERR_POP_RECEIPT_MISMATCH, "the receipt is not that of the last delivery")                    \
    X(ERR_VISIBILITY_PAST_EXPIRY, "the message would expire before it can be seen")                \
    X(ERR_TABLE_NOT_FOUND, "there is no such table")                                               \
    X(ERR_TABLE_EXISTS, "the table exists already")                                                \
    X(ERR_ENTITY_EXISTS, "the entity exists already")                                              \
    X(ERR_UPDATE_CONDITION_NOT_MET, "the entity is not the one the client has")                    \
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
    X(ERR_LEASE_LOST, "the lease the request names has expired or was broken")                     \
    X(ERR_LEASE_ID_MISMATCH_FILE, "the request names a lease that is not the file's")              \
    X(ERR_LEASE_NOT_PRESENT_FILE, "the request names a lease and the file has none")               \
    /* Directories and files. */                                                                   \
    X(ERR_SHARE_NOT_FOUND, "there is no such share")                                               \
    X(ERR_SHARE_EXISTS, "there is a share of that name already")                                   \
    X(ERR_SHARE_HAS_SNAPSHOTS, "the share has snapshots")                                          \
    X(ERR_SHARE_SNAPSHOT_LEASED, "a snapshot of the share is leased")                              \
    X(ERR_SHARE_SNAPSHOT_COUNT, "the share has as many snapshots as it may have")                  \
    X(ERR_SHARE_SNAPSHOT_NOT_FOUND, "there is no such snapshot of the share")                      \
    X(ERR_FILE_PERMISSION_INVALID, "a file permission is not one")                                 \
    X(ERR_PARENT_NOT_FOUND, "a directory of the path does not exist")                              \
    X(ERR_RESOURCE_EXISTS, "there is a directory or file of that name already")                    \
    X(ERR_RESOURCE_TYPE_MISMATCH, "there is a directory where a file is meant, or a file")         \
    X(ERR_DIRECTORY_NOT_EMPTY, "the directory is not empty")                                       \
    X(ERR_RENAME_INTO_ITSELF, "a directory cannot be moved into itself")                           \
    X(ERR_SHARE_SIZE_LIMIT, "the quota of the share is used up")                                   \
    X(ERR_FILE_NAME_INVALID, "a name of a directory or file has a character it may not have")      \
    X(ERR_FILE_PATH_TOO_LONG, "a path is longer than allowed")                                     \
    X(ERR_FILE_PATH_TOO_DEEP, "a path has more directories than allowed")                          \
    X(ERR_NODE_MOVED, "the path has come to name something else meanwhile")                        \
    /* Files that SMB clients have open; the second half is for them alone. */                     \
    X(ERR_SHARING_VIOLATION, "an open handle does not share what is asked for")                    \
    X(ERR_DELETE_PENDING, "an SMB client has marked the file for deletion")                        \
    X(ERR_FILE_LOCK_CONFLICT, "a byte-range lock is in the way of a read or write")                \
    X(ERR_CACHE_FLUSH_DELAY, "an SMB client did not give up its cache in time")                    \
    X(ERR_READ_ONLY_ATTRIBUTE, "the file has the read-only attribute")                             \
    X(ERR_OPEN_TABLE_FULL, "there are as many handles, locks or waiters as may be")                \
    X(ERR_LOCK_NOT_GRANTED, "a byte-range lock is in the way of another")                          \
    X(ERR_INVALID_LOCK_RANGE, "a byte-range lock ends beyond the last offset")                     \
    X(ERR_RANGE_NOT_LOCKED, "there is no such byte-range lock to remove")                          \
    X(ERR_HANDLE_CLOSED, "there is no such handle")                                                \
    X(ERR_OPLOCK_NOT_BREAKING, "nothing was to be acknowledged")                                   \
    X(ERR_OPLOCK_ACK_REFUSED, "an acknowledgement keeps more than was asked for")                  \
    X(ERR_OPLOCK_KEY_IN_USE, "the key of a caching lease belongs to another file")                 \
    X(ERR_CANCELLED, "the request was given up while it waited")

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
