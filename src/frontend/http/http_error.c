#include "frontend/http/http_error.h"

#include <assert.h>

#include "base/log.h"
#include "frontend/http/xml_write.h"

/* A row of the catalogue.  The messages are the service's, word for word. */
#define ROW(status, code, message) ((struct http_error){ (status), (code), (message) })

/* A sentence with the word for what the request is about. */
#define ABOUT(subject, before, after)                                                              \
    ((const char *const[]){                                                                        \
        [HTTP_ERROR_OF_BLOB] = before "blob" after,                                                \
        [HTTP_ERROR_OF_CONTAINER] = before "container" after,                                      \
        [HTTP_ERROR_OF_FILE] = before "file" after,                                                \
        [HTTP_ERROR_OF_SHARE] = before "file share" after,                                         \
    }[subject])

static struct http_error describe(enum err err, enum http_error_subject subject)
{
    switch (err) {
    case OK:
    case ERR_NOT_FOUND:
    case ERR_EXISTS:
    case ERR_LOCKED:
    case ERR_FORMAT_UNKNOWN:
    case ERR_MALFORMED:
    case ERR_OUT_OF_RANGE:
    case ERR_TOO_LARGE:
        /* Errors that only SMB clients can bring about. */
    case ERR_LOCK_NOT_GRANTED:
    case ERR_INVALID_LOCK_RANGE:
    case ERR_RANGE_NOT_LOCKED:
    case ERR_HANDLE_CLOSED:
    case ERR_OPLOCK_NOT_BREAKING:
    case ERR_OPLOCK_ACK_REFUSED:
    case ERR_OPLOCK_KEY_IN_USE:
        /* Errors of the layers below that a service function turns into one of its own; one that
           comes this far is a fault of the server, and so are these two. */
    case ERR_CORRUPT:
    case ERR_IO:
        return ROW(500, "InternalError",
                   "Server encountered an internal error. Please try again after "
                   "some time.");
    case ERR_NO_SPACE:
        return ROW(507, "InsufficientStorage",
                   "The server has no space left to store the request.");
    case ERR_OPEN_TABLE_FULL:
    case ERR_CANCELLED:
    case ERR_NODE_MOVED:
    case ERR_SHUTTING_DOWN:
    case ERR_BUSY:
        return ROW(503, "ServerBusy",
                   "The server is currently unable to receive requests. Please retry "
                   "your request.");

    case ERR_INVALID_URI:
        return ROW(400, "InvalidUri",
                   "The requested URI does not represent any resource on the server.");
    case ERR_INVALID_QUERY_PARAMETER:
        return ROW(
            400, "InvalidQueryParameterValue",
            "Value for one of the query parameters specified in the request URI is invalid.");
    case ERR_OUT_OF_RANGE_QUERY_PARAMETER:
        return ROW(
            400, "OutOfRangeQueryParameterValue",
            "One of the query parameters specified in the request URI is outside the permissible "
            "range.");
    case ERR_UNSUPPORTED_QUERY_PARAMETER:
        return ROW(400, "UnsupportedQueryParameter",
                   "One of the query parameters specified in the request URI is not supported.");
    case ERR_INVALID_HEADER:
        return ROW(400, "InvalidHeaderValue",
                   "The value for one of the HTTP headers is not in the correct format.");
    case ERR_MISSING_HEADER:
        return ROW(400, "MissingRequiredHeader", "A required HTTP header was not specified.");
    case ERR_UNSUPPORTED_HEADER:
        return ROW(400, "UnsupportedHeader",
                   "One of the headers specified in the request is not supported.");
    case ERR_INVALID_INPUT:
        return ROW(400, "InvalidInput", "One of the request inputs is not valid.");
    case ERR_OUT_OF_RANGE_INPUT:
        return ROW(400, "OutOfRangeInput", "One of the request inputs is out of range.");
    case ERR_UNSUPPORTED_VERB:
        return ROW(405, "UnsupportedHttpVerb",
                   "The resource doesn't support the specified HTTP verb.");
    case ERR_MISSING_CONTENT_LENGTH:
        return ROW(411, "MissingContentLengthHeader",
                   "The Content-Length header was not specified.");
    case ERR_BODY_TOO_LARGE:
        return ROW(413, "RequestBodyTooLarge",
                   "The request body is too large and exceeds the maximum permissible limit.");
    case ERR_INVALID_RESOURCE_NAME:
        /* The misspelling is the service's. */
        return ROW(400, "InvalidResourceName",
                   "The specifed resource name contains invalid characters.");
    case ERR_RESOURCE_NAME_LENGTH:
        return ROW(400, "OutOfRangeInput",
                   "The specified resource name length is not within the permissible limits.");
    case ERR_INVALID_METADATA:
        return ROW(
            400, "InvalidMetadata",
            "The specified metadata is invalid. It includes characters that are not permitted.");
    case ERR_EMPTY_METADATA_KEY:
        return ROW(400, "EmptyMetadataKey",
                   "The key for one of the metadata key-value pairs is empty.");
    case ERR_METADATA_TOO_LARGE:
        return ROW(400, "MetadataTooLarge",
                   "The size of the specified metadata exceeds the maximum size permitted.");
    case ERR_INVALID_MD5:
        return ROW(400, "InvalidMd5",
                   "The MD5 value specified in the request is invalid. The MD5 value "
                   "must be 128 bits and Base64-encoded.");
    case ERR_MD5_MISMATCH:
        return ROW(400, "Md5Mismatch",
                   "The MD5 value specified in the request did not match with the MD5 "
                   "value calculated by the server.");
    case ERR_CRC64_MISMATCH:
        return ROW(400, "Crc64Mismatch",
                   "The CRC64 value specified in the request did not match with the "
                   "CRC64 value calculated by the server.");
    case ERR_BOTH_MD5_AND_CRC64:
        return ROW(400, "BothCrc64AndMd5HeaderPresent",
                   "Both x-ms-content-crc64 header and Content-MD5 header are present.");
    case ERR_BOTH_RANGE_MD5_AND_CRC64:
        return ROW(
            400, "BothCrc64AndMd5RangeHeaderPresent",
            "Both x-ms-range-get-content-crc64 header and x-ms-range-get-content-md5 header are "
            "present.");
    case ERR_INVALID_RANGE:
        return ROW(416, "InvalidRange",
                   "The range specified is invalid for the current size of the resource.");
    case ERR_MULTIPLE_CONDITIONS:
        return ROW(400, "MultipleConditionHeadersNotSupported",
                   "Multiple condition headers are not supported.");
    case ERR_INVALID_XML:
        return ROW(400, "InvalidXmlDocument", "XML specified is not syntactically valid.");
    case ERR_INVALID_XML_VALUE:
        return ROW(400, "InvalidXmlNodeValue",
                   "The value provided for one of the XML nodes in the request body was not in the "
                   "correct format.");
    case ERR_MISSING_QUERY_PARAMETER:
        return ROW(400, "MissingRequiredQueryParameter",
                   "A required query parameter was not specified for this request.");
    case ERR_EXCLUSIVE_QUERY_PARAMETERS:
        return ROW(400, "MutuallyExclusiveQueryParameters",
                   "The request has mutually exclusive query parameters.");
    case ERR_INVALID_BLOCK_ID:
        return ROW(400, "InvalidBlockId",
                   "The specified block ID is invalid. The block ID must be Base64-encoded.");
    case ERR_INVALID_BLOCK:
        return ROW(400, "InvalidBlobOrBlock", "The specified blob or block content is invalid.");
    case ERR_INVALID_BLOCK_LIST:
        return ROW(400, "InvalidBlockList", "The specified block list is invalid.");
    case ERR_BLOCK_LIST_TOO_LONG:
        return ROW(400, "BlockListTooLong",
                   "The blocklist may not contain more than 50,000 blocks.");
    case ERR_BLOCK_COUNT:
        return ROW(409, "BlockCountExceedsLimit",
                   "The committed block count cannot exceed the maximum limit of 50,000 blocks.");
    case ERR_UNCOMMITTED_BLOCK_COUNT:
        return ROW(
            409, "BlockCountExceedsLimit",
            "The uncommitted block count cannot exceed the maximum limit of 100,000 blocks.");
    case ERR_INVALID_PAGE_RANGE:
        return ROW(416, "InvalidPageRange", "The page range specified is invalid.");
    case ERR_EMPTY_TAG_NAME:
        return ROW(400, "EmptyTagName", "The name of one of the tag key-value pairs is empty.");
    case ERR_DUPLICATE_TAG_NAMES:
        return ROW(400, "DuplicateTagNames", "The tags specified contain duplicate names.");
    case ERR_TAGS_TOO_LARGE:
        return ROW(400, "TagsTooLarge", "The tags specified exceed the maximum permissible limit.");
    case ERR_INVALID_TAG:
        return ROW(
            400, "InvalidTag",
            "The tags specified are invalid. It contains characters that are not permitted.");
    case ERR_PROPERTY_NAME_INVALID:
        return ROW(400, "PropertyNameInvalid", "The property name is invalid.");
    case ERR_PROPERTY_NAME_TOO_LONG:
        return ROW(400, "PropertyNameTooLong",
                   "The property name exceeds the maximum allowed length (255).");
    case ERR_PROPERTY_VALUE_TOO_LARGE:
        return ROW(400, "PropertyValueTooLarge",
                   "The property value exceeds the maximum allowed size (64KB). If the property "
                   "value is a string, it is UTF-16 encoded and the maximum number of characters "
                   "should be 32K or less.");
    case ERR_TOO_MANY_PROPERTIES:
        return ROW(400, "TooManyProperties",
                   "The entity contains more properties than allowed. Each entity can include up "
                   "to 252 properties to store data. Each entity also has 3 system properties.");
    case ERR_DUPLICATE_PROPERTIES:
        return ROW(400, "DuplicatePropertiesSpecified",
                   "A property is specified more than one time.");
    case ERR_PROPERTIES_NEED_VALUE:
        return ROW(400, "PropertiesNeedValue",
                   "The values are not specified for all properties in the entity.");
    case ERR_KEY_TOO_LARGE:
        return ROW(400, "KeyValueTooLarge",
                   "The key value exceeds the maximum allowed size (1KB).");
    case ERR_ENTITY_TOO_LARGE:
        return ROW(400, "EntityTooLarge",
                   "The entity is larger than the maximum allowed size (1MB).");
    case ERR_GROUP_TOO_LONG:
        return ROW(400, "InvalidInput",
                   "The batch request operation exceeds the maximum 100 changes per change set.");
    case ERR_GROUP_PARTITIONS:
        return ROW(400, "CommandsInBatchActOnDifferentPartitions",
                   "All commands in a batch must operate on same entity group.");
    case ERR_GROUP_DUPLICATE:
        return ROW(400, "InvalidDuplicateRow",
                   "The batch request contains multiple changes with same row key. An entity can "
                   "appear only once in a batch request.");
    case ERR_ENTITY_MALFORMED:
        return ROW(400, "InvalidInput", "An error occurred while processing this request.");
    case ERR_INVALID_ETAG:
        return ROW(400, "InvalidInput",
                   "The etag value specified in one of the request headers is not valid. Please "
                   "make sure only one etag value is specified and is valid.");
    case ERR_TUNNELLED_METHOD:
        return ROW(400, "XMethodIncorrectValue", "The specified X-HTTP-Method is invalid.");
    case ERR_TUNNEL_NOT_POST:
        return ROW(400, "XMethodNotUsingPost",
                   "The request uses X-HTTP-Method with an HTTP verb other than POST.");
    case ERR_MEDIA_TYPE:
        return ROW(415, "MediaTypeNotSupported", "None of the provided media types are supported");
    case ERR_ATOM:
        return ROW(415, "AtomFormatNotSupported", "Atom format is not supported.");
    case ERR_CONDITIONS_NOT_SUPPORTED:
        return ROW(400, "ConditionHeadersNotSupported", "Condition headers are not supported.");
    case ERR_NOT_IMPLEMENTED:
        return ROW(501, "NotImplemented",
                   "The requested operation is not implemented on the specified "
                   "resource.");

    case ERR_NO_AUTHENTICATION:
        return ROW(
            401, "NoAuthenticationInformation",
            "Server failed to authenticate the request. Please refer to the information in the "
            "www-authenticate header.");
    case ERR_INVALID_AUTHENTICATION:
        return ROW(
            400, "InvalidAuthenticationInfo",
            "Authentication information is not given in the correct format. Check the value of "
            "Authorization header.");
    case ERR_BEARER_REFUSED:
        return ROW(
            401, "InvalidAuthenticationInfo",
            "Server failed to authenticate the request. Please refer to the information in the "
            "www-authenticate header.");
    case ERR_AUTHENTICATION_FAILED:
        return ROW(
            403, "AuthenticationFailed",
            "Server failed to authenticate the request. Make sure the value of Authorization "
            "header is formed correctly including the signature.");
    case ERR_AUTHORIZATION_FAILED:
        return ROW(403, "AuthorizationFailure",
                   "This request is not authorized to perform this operation.");
    case ERR_AUTHORIZATION_PERMISSION:
        return ROW(
            403, "AuthorizationPermissionMismatch",
            "This request is not authorized to perform this operation using this permission.");
    case ERR_AUTHORIZATION_SERVICE:
        return ROW(403, "AuthorizationServiceMismatch",
                   "This request is not authorized to perform this operation using this service.");
    case ERR_AUTHORIZATION_RESOURCE_TYPE:
        return ROW(
            403, "AuthorizationResourceTypeMismatch",
            "This request is not authorized to perform this operation using this resource type.");
    case ERR_AUTHORIZATION_SOURCE_IP:
        return ROW(
            403, "AuthorizationSourceIPMismatch",
            "This request is not authorized to perform this operation using this source IP.");
    case ERR_AUTHORIZATION_PROTOCOL:
        return ROW(403, "AuthorizationProtocolMismatch",
                   "This request is not authorized to perform this operation using this protocol.");
    case ERR_UNAUTHORIZED_OVERWRITE:
        return ROW(403, "UnauthorizedBlobOverwrite",
                   "This request is not authorized to perform blob overwrites.");
    case ERR_SECONDARY_IS_READ_ONLY:
        return ROW(403, "WriteOperationNotSupportedOnSecondary",
                   "Write operations are not supported on the secondary endpoint.");

    case ERR_ACCOUNT_NOT_FOUND:
    case ERR_RESOURCE_NOT_FOUND:
        return ROW(404, "ResourceNotFound", "The specified resource does not exist.");
    case ERR_TABLE_NOT_FOUND:
        return ROW(404, "TableNotFound", "The table specified does not exist.");
    case ERR_TABLE_EXISTS:
        return ROW(409, "TableAlreadyExists", "The table specified already exists.");
    case ERR_ENTITY_EXISTS:
        return ROW(409, "EntityAlreadyExists", "The specified entity already exists.");
    case ERR_UPDATE_CONDITION_NOT_MET:
        return ROW(412, "UpdateConditionNotSatisfied",
                   "The update condition specified in the request was not satisfied.");
    case ERR_CONTAINER_NOT_FOUND:
        return ROW(404, "ContainerNotFound", "The specified container does not exist.");
    case ERR_QUEUE_NOT_FOUND:
        return ROW(404, "QueueNotFound", "The specified queue does not exist.");
    case ERR_QUEUE_EXISTS:
        return ROW(409, "QueueAlreadyExists", "The specified queue already exists.");
    case ERR_MESSAGE_NOT_FOUND:
        return ROW(404, "MessageNotFound", "The specified message does not exist.");
    case ERR_POP_RECEIPT_MISMATCH:
        return ROW(
            400, "PopReceiptMismatch",
            "The specified pop receipt did not match the pop receipt for a dequeued message.");
    case ERR_VISIBILITY_PAST_EXPIRY:
        return ROW(
            400, "InvalidQueryParameterValue",
            "Value for one of the query parameters specified in the request URI is invalid.");
    case ERR_CONTAINER_EXISTS:
        return ROW(409, "ContainerAlreadyExists", "The specified container already exists.");
    case ERR_BLOB_NOT_FOUND:
        return ROW(404, "BlobNotFound", "The specified blob does not exist.");
    case ERR_BLOB_EXISTS:
        return ROW(409, "BlobAlreadyExists", "The specified blob already exists.");
    case ERR_INVALID_BLOB_TYPE:
    case ERR_CANNOT_OVERWRITE_TYPE:
        return ROW(409, "InvalidBlobType", "The blob type is invalid for this operation.");
    case ERR_OPERATION_ON_SNAPSHOT:
        return ROW(400, "InvalidOperation", "Invalid operation against a blob snapshot.");
    case ERR_SNAPSHOTS_PRESENT:
        return ROW(409, "SnapshotsPresent",
                   "This operation is not permitted because the blob has snapshots.");
    case ERR_CURRENT_VERSION:
        return ROW(403, "OperationNotAllowedOnRootBlob",
                   "The specified operation is not allowed on root blob.");
    case ERR_NOT_SOFT_DELETED:
        return ROW(409, "BlobSnapshotNotSoftDeleted",
                   "The specified blob snapshot or version is not soft deleted.");
    case ERR_PERMANENT_DELETE_REFUSED:
        return ROW(409, "PermanentDeleteNotAllowed",
                   "Permanent delete is not permitted for the specified blob.");
    case ERR_BLOB_SEALED:
        return ROW(409, "BlobIsSealed", "The blob is sealed and its contents cannot be modified.");
    case ERR_BLOB_ARCHIVED:
        return ROW(409, "BlobArchived", "This operation is not permitted on an archived blob.");
    case ERR_BLOB_REHYDRATING:
        return ROW(409, "BlobBeingRehydrated",
                   "This operation is not permitted because the blob is being rehydrated.");
    case ERR_TIER_NOT_FOR_TYPE:
        return ROW(400, "AccessTierNotSupportedForBlobType",
                   "The access tier is not supported for this blob type.");
    case ERR_INVALID_TIER:
        return ROW(400, "InvalidBlobTier", "The specified blob tier is invalid.");
    case ERR_SEQUENCE_CONDITION_NOT_MET:
        return ROW(412, "SequenceNumberConditionNotMet",
                   "The sequence number condition specified was not met.");
    case ERR_SEQUENCE_INCREMENT_TOO_LARGE:
        return ROW(409, "SequenceNumberIncrementTooLarge",
                   "The sequence number increment cannot be performed because it would result in "
                   "overflow of the sequence number.");
    case ERR_APPEND_POSITION_NOT_MET:
        return ROW(412, "AppendPositionConditionNotMet",
                   "The append position condition specified was not met.");
    case ERR_MAX_SIZE_NOT_MET:
        return ROW(412, "MaxBlobSizeConditionNotMet",
                   "The max blob size condition specified was not met.");
    case ERR_PREVIOUS_SNAPSHOT_NOT_FOUND:
        return ROW(409, "PreviousSnapshotNotFound", "The previous snapshot is not found.");
    case ERR_PREVIOUS_SNAPSHOT_NEWER:
        return ROW(400, "PreviousSnapshotCannotBeNewer",
                   "The prevsnapshot query parameter value cannot be newer than snapshot query "
                   "parameter value.");
    case ERR_BLOB_OVERWRITTEN:
        return ROW(409, "BlobOverwritten",
                   "The blob has been recreated since the previous snapshot was taken.");
    case ERR_PENDING_COPY:
        return ROW(409, "PendingCopyOperation", "There is currently a pending copy operation.");
    case ERR_NO_PENDING_COPY:
        return ROW(409, "NoPendingCopyOperation", "There is currently no pending copy operation.");
    case ERR_COPY_ID_MISMATCH:
        return ROW(
            409, "CopyIdMismatch",
            "The specified copy ID did not match the copy ID for the pending copy operation.");
    case ERR_TARGET_CONDITION_NOT_MET:
        return ROW(412, "TargetConditionNotMet",
                   "The target condition specified using HTTP conditional header(s) is not met.");
    case ERR_SOURCE_CONDITION_NOT_MET:
        return ROW(412, "SourceConditionNotMet",
                   "The source condition specified using HTTP conditional header(s) is not met.");
    case ERR_COPY_SOURCE_NOT_MODIFIED:
        return ROW(304, "CannotVerifyCopySource",
                   "The condition specified using HTTP conditional header(s) is not met.");
    case ERR_COPY_SOURCE_CONDITION:
        return ROW(412, "CannotVerifyCopySource",
                   "The condition specified using HTTP conditional header(s) is not met.");
    case ERR_COPY_SOURCE_UNAUTHORIZED:
        return ROW(401, "CannotVerifyCopySource",
                   "Server failed to authenticate the request. Please refer to the information in "
                   "the www-authenticate header.");
    case ERR_COPY_SOURCE_FORBIDDEN:
        return ROW(403, "CannotVerifyCopySource",
                   "This request is not authorized to perform this operation.");
    case ERR_COPY_SOURCE_NOT_FOUND:
        return ROW(404, "CannotVerifyCopySource", "The specified resource does not exist.");
    case ERR_COPY_SOURCE_CONFLICT:
        return ROW(409, "CannotVerifyCopySource",
                   "Could not verify the copy source within the specified time.");
    case ERR_COPY_SOURCE_UNREACHABLE:
        return ROW(500, "CannotVerifyCopySource",
                   "Could not verify the copy source within the specified time. Examine the HTTP "
                   "status code and message for more information about the failure.");
    case ERR_COPY_SOURCE_TOO_LARGE:
        return ROW(413, "RequestBodyTooLarge",
                   "The request body is too large and exceeds the maximum permissible limit.");
    case ERR_INVALID_SOURCE_TYPE:
        return ROW(409, "InvalidSourceBlobType",
                   "The copy source blob type is invalid for this operation.");
    case ERR_INCREMENTAL_NEEDS_SNAPSHOT:
        return ROW(409, "IncrementalCopySourceMustBeSnapshot",
                   "The source for incremental copy request must be a snapshot.");
    case ERR_INCREMENTAL_EARLIER_SNAPSHOT:
        return ROW(409, "IncrementalCopyOfEarlierVersionSnapshotNotAllowed",
                   "The specified snapshot is earlier than the last snapshot copied into the "
                   "incremental copy blob.");
    case ERR_INCREMENTAL_OTHER_BLOB:
        return ROW(409, "IncrementalCopyBlobMismatch",
                   "The specified source blob is different than the copy source of the existing "
                   "incremental copy blob.");
    case ERR_INCREMENTAL_BLOB:
        return ROW(409, "OperationNotAllowedOnIncrementalCopyBlob",
                   "The specified operation is not allowed on an incremental copy blob.");
    case ERR_INFINITE_LEASE_REQUIRED:
        return ROW(412, "InfiniteLeaseDurationRequired",
                   "The lease ID matched, but the specified lease must be an infinite-duration "
                   "lease.");
    case ERR_CORS_HEADER_MISSING:
        return ROW(400, "InvalidHeaderValue", "A required CORS header is not present.");
    case ERR_CORS_REFUSED:
        return ROW(403, "CorsPreflightFailure",
                   "CORS not enabled or no matching rule found for this request.");
    case ERR_PUBLIC_ACCESS_REFUSED:
        return ROW(409, "PublicAccessNotPermitted",
                   "Public access is not permitted on this storage account.");
    case ERR_NOT_MODIFIED:
        return ROW(304, "ConditionNotMet",
                   "The condition specified using HTTP conditional header(s) is not met.");
    case ERR_CONDITION_NOT_MET:
        return ROW(412, "ConditionNotMet",
                   "The condition specified using HTTP conditional header(s) is not met.");
    case ERR_UNSATISFIABLE_CONDITION:
        return ROW(400, "UnsatisfiableCondition",
                   "The request includes an unsatisfiable condition for this operation.");

    case ERR_LEASE_ALREADY_PRESENT:
        return ROW(409, "LeaseAlreadyPresent", "There is already a lease present.");
    case ERR_LEASE_BREAKING_NO_ACQUIRE:
        return ROW(
            409, "LeaseIsBreakingAndCannotBeAcquired",
            "The lease ID matched, but the lease is currently in breaking state and cannot be "
            "acquired until it is broken.");
    case ERR_LEASE_BREAKING_NO_CHANGE:
        return ROW(
            409, "LeaseIsBreakingAndCannotBeChanged",
            "The lease ID matched, but the lease is currently in breaking state and cannot be "
            "changed.");
    case ERR_LEASE_BROKEN_NO_RENEW:
        return ROW(409, "LeaseIsBrokenAndCannotBeRenewed",
                   "The lease ID matched, but the lease has been broken explicitly and cannot be "
                   "renewed.");
    case ERR_LEASE_ACTION_ID_MISMATCH:
        return ROW(
            409, "LeaseIdMismatchWithLeaseOperation",
            ABOUT(subject, "The lease ID specified did not match the lease ID for the ", "."));
    case ERR_LEASE_ACTION_NOT_PRESENT:
        return ROW(409, "LeaseNotPresentWithLeaseOperation",
                   ABOUT(subject, "There is currently no lease on the ", "."));
    case ERR_LEASE_ID_MISSING:
        return ROW(412, "LeaseIdMissing",
                   ABOUT(subject, "There is currently a lease on the ",
                         " and no lease ID was specified in the request."));
    case ERR_LEASE_ID_MISMATCH_BLOB:
        return ROW(412, "LeaseIdMismatchWithBlobOperation",
                   "The lease ID specified did not match the lease ID for the blob.");
    case ERR_LEASE_ID_MISMATCH_CONTAINER:
        return ROW(
            412, "LeaseIdMismatchWithContainerOperation",
            ABOUT(subject, "The lease ID specified did not match the lease ID for the ", "."));
    case ERR_LEASE_NOT_PRESENT_BLOB:
        return ROW(412, "LeaseNotPresentWithBlobOperation",
                   "There is currently no lease on the blob.");
    case ERR_LEASE_NOT_PRESENT_CONTAINER:
        return ROW(412, "LeaseNotPresentWithContainerOperation",
                   ABOUT(subject, "There is currently no lease on the ", "."));
    case ERR_LEASE_LOST:
        return ROW(
            412, "LeaseLost",
            ABOUT(subject, "A lease ID was specified, but the lease for the ", " has expired."));
    case ERR_LEASE_ID_MISMATCH_FILE:
        /* 409 in the page on file leases, 412 in every recorded answer. */
        return ROW(412, "LeaseIdMismatchWithFileOperation",
                   "The lease ID specified did not match the lease ID for the file.");
    case ERR_LEASE_NOT_PRESENT_FILE:
        return ROW(412, "LeaseNotPresentWithFileOperation",
                   "There is currently no lease on the file.");

    case ERR_SHARE_NOT_FOUND:
        return ROW(404, "ShareNotFound", "The specified share does not exist.");
    case ERR_SHARE_EXISTS:
        return ROW(409, "ShareAlreadyExists", "The specified share already exists.");
    case ERR_SHARE_HAS_SNAPSHOTS:
        return ROW(409, "ShareHasSnapshots",
                   "The share has snapshots and the operation requires no snapshots.");
    case ERR_SHARE_SNAPSHOT_LEASED:
        return ROW(409, "DeleteShareWhenSnapshotLeased",
                   "Unable to delete share because one or more share snapshots have active leases. "
                   "Release the share snapshot leases or delete the share with the include-leased "
                   "parameter for x-ms-delete-snapshots.");
    case ERR_SHARE_SNAPSHOT_COUNT:
        return ROW(409, "ShareSnapshotCountExceeded",
                   "The total number of snapshots for the share is over the limit.");
    case ERR_SHARE_SNAPSHOT_NOT_FOUND:
        return ROW(404, "ShareSnapshotNotFound", "The specified share snapshot does not exist.");
    case ERR_FILE_PERMISSION_INVALID:
        return ROW(400, "FileInvalidPermission", "The specified file permission is not valid.");
    case ERR_PARENT_NOT_FOUND:
        return ROW(404, "ParentNotFound", "The specified parent path does not exist.");
    case ERR_RESOURCE_EXISTS:
        return ROW(409, "ResourceAlreadyExists", "The specified resource already exists.");
    case ERR_RESOURCE_TYPE_MISMATCH:
        return ROW(409, "ResourceTypeMismatch",
                   "The specified resource type does not match the type of the existing resource.");
    case ERR_DIRECTORY_NOT_EMPTY:
        return ROW(409, "DirectoryNotEmpty", "The specified directory is not empty.");
    case ERR_RENAME_INTO_ITSELF:
        /* Not documented for files; the words are those of Data Lake Storage. */
        return ROW(409, "InvalidRenameSourcePath",
                   "The source directory cannot be the same as the destination directory, nor can "
                   "the destination be a subdirectory of the source directory.");
    case ERR_SHARE_SIZE_LIMIT:
        /* Not documented. */
        return ROW(413, "ShareSizeLimitReached",
                   "The specified share size limit has been reached.");
    case ERR_FILE_NAME_INVALID:
        return ROW(400, "InvalidResourceName",
                   "The specifed resource name contains invalid characters.");
    case ERR_FILE_PATH_TOO_LONG:
        return ROW(400, "InvalidFileOrDirectoryPathName", "File or directory path is too long.");
    case ERR_FILE_PATH_TOO_DEEP:
        return ROW(400, "InvalidFileOrDirectoryPathName",
                   "File or directory path has too many subdirectories.");

    case ERR_SHARING_VIOLATION:
        return ROW(409, "SharingViolation",
                   "The specified resource may be in use by an SMB client.");
    case ERR_DELETE_PENDING:
        /* Documentation of locking calls it SMBDeletePending, answers of the service do not. */
        return ROW(409, "DeletePending",
                   "The specified resource is marked for deletion by an SMB client "
                   "(SMBDeletePending).");
    case ERR_FILE_LOCK_CONFLICT:
        return ROW(409, "FileLockConflict",
                   "A portion of the specified file is locked by an SMB client.");
    case ERR_CACHE_FLUSH_DELAY:
        /* 408 in the page on file locks, 500 in the table of error codes. */
        return ROW(500, "ClientCacheFlushDelay",
                   "The specified resource state could not be flushed from an SMB client in the "
                   "specified time.");
    case ERR_READ_ONLY_ATTRIBUTE:
        return ROW(409, "ReadOnlyAttribute",
                   "The specified resource is read-only and cannot be modified at this time.");
    }
    panic("error %d is outside the enumeration", (int)err);
}

struct http_error http_error_describe(enum err err, enum http_error_subject subject)
{
    assert(err != OK);
    return describe(err, subject);
}

struct slice http_error_body(struct arena *arena, const struct http_error *error,
                             const char *request_id, const char *time,
                             const struct http_error_detail *details, size_t detail_count)
{
    struct strbuf body;
    strbuf_init(&body, arena);
    strbuf_reserve(&body, 512);
    xml_begin_document(&body);
    strbuf_add_text(&body, "<Error><Code>");
    strbuf_add_text(&body, error->code);
    strbuf_add_text(&body, "</Code><Message>");
    xml_add_escaped(&body, slice_of(error->message));
    strbuf_add_text(&body, "\nRequestId:");
    strbuf_add_text(&body, request_id);
    strbuf_add_text(&body, "\nTime:");
    strbuf_add_text(&body, time);
    strbuf_add_text(&body, "</Message>");
    for (size_t i = 0; i < detail_count; i++)
        xml_add_element(&body, details[i].name, details[i].value);
    strbuf_add_text(&body, "</Error>");
    return strbuf_slice(&body);
}
