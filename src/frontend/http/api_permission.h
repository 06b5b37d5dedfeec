/*
 * api_permission.h - security descriptors in headers and bodies (service/file/permission.h has what
 * they are).
 */
#ifndef FRONTEND_HTTP_API_PERMISSION_H
#define FRONTEND_HTTP_API_PERMISSION_H

#include "base/error.h"
#include "frontend/http/api_node.h"
#include "frontend/http/http_request.h"
#include "service/file/node.h"

/*
 * x-ms-file-permission, in the form that x-ms-file-permission-format says, or
 * x-ms-file-permission-key.  ERR_INVALID_HEADER, ERR_FILE_PERMISSION_INVALID
 */
MUST_CHECK enum err api_read_permission(struct http_request *request, enum api_smb_use use,
                                        struct node_smb *smb);

#endif
