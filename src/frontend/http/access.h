/*
 * access.h - who is calling, and may they.
 *
 * Two steps, both before the body is read.  Authentication checks the credential the request
 * carries (Shared Key, SAS) against the account it addresses; authorization checks what the
 * credential permits against the operation's row of operations_*.def.
 */
#ifndef FRONTEND_HTTP_ACCESS_H
#define FRONTEND_HTTP_ACCESS_H

#include <stdbool.h>

#include "base/error.h"
#include "frontend/http/auth_sas.h"
#include "frontend/http/http_request.h"

/* What authentication found. */
enum access_kind {
    ACCESS_BY_KEY, /* the caller has the account's key and may do everything */
    ACCESS_BY_SAS,
    ACCESS_ANONYMOUS,
};

struct access_caller {
    enum access_kind kind;
    struct sas sas; /* ACCESS_BY_SAS: verified */
};

/*
 * The errors of auth_sharedkey_check and auth_sas_verify, and
 *   ERR_BEARER_REFUSED   a bearer token; this server issues and accepts none
 */
MUST_CHECK enum err access_authenticate(struct http_request *request, struct access_caller *caller);

/*
 * Sets request->access.
 *   ERR_AUTHORIZATION_FAILED, ERR_AUTHORIZATION_RESOURCE_TYPE, ERR_AUTHORIZATION_PERMISSION
 *   ERR_NO_AUTHENTICATION    no credential, and the container is not public
 *   ERR_RESOURCE_NOT_FOUND   the same, in the words of versions before 2019-12-12
 */
MUST_CHECK enum err access_authorize(struct http_request *request,
                                     const struct access_caller *caller);

/*
 * What a caller without a credential is answered where there is nothing for everybody, for an
 * operation that shows a part of what it could.
 *   ERR_NO_AUTHENTICATION, ERR_RESOURCE_NOT_FOUND: as access_authorize
 */
MUST_CHECK enum err access_refuse_anonymous(const struct http_request *request);

#endif
