/*
 * api_node.h - what the operations on directories and files have in common: which node a request is
 * about, and what SMB knows of it, in headers.
 */
#ifndef FRONTEND_HTTP_API_NODE_H
#define FRONTEND_HTTP_API_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "frontend/http/http_request.h"
#include "frontend/http/http_response.h"
#include "service/file/node.h"
#include "service/file/share.h"

/* --- names --- */

/* The share, or snapshot of it, that the request's address names. */
struct share_name api_share_name(const struct http_request *request);

/*
 * The directory or file that the address names.  Dots at the end of names are kept if
 * x-ms-allow-trailing-dot says so.  The errors of file_path_parse; ERR_INVALID_HEADER.
 */
MUST_CHECK enum err api_node_name(struct http_request *request, struct node_name *name);

/* The same for a path, by the header that says whether dots are kept. */
MUST_CHECK enum err api_node_path(struct http_request *request, struct slice path,
                                  const char *dots_header, struct file_path *parsed);

/* --- arguments --- */

/* `timeout` of the query in milliseconds; 0 if it is not given.  ERR_INVALID_QUERY_PARAMETER. */
MUST_CHECK enum err api_timeout(struct http_request *request, int64_t *timeout_ms);

/* A header that is true or false; false if it is not given.  ERR_INVALID_HEADER. */
MUST_CHECK enum err api_bool_header(struct http_request *request, const char *header, bool *value);

/* A lease id in a header of its own.  ERR_INVALID_HEADER. */
MUST_CHECK enum err api_optional_uuid(struct http_request *request, const char *header,
                                      bool *present, struct uuid *id);

/* A new change of a node of this kind, which is request->arguments: name, metadata, lease id,
   timeout.  The errors of api_node_name and api_timeout. */
MUST_CHECK enum err api_node_change(struct http_request *request, enum node_kind kind,
                                    struct node_change **change);

/*
 * The error of a read.  A file is no directory that is there, and a directory no file: clients ask
 * for the one and then for the other to find out what a path is.
 */
enum err api_read_error(enum err err);

/* The `done` of a read: request_done, with its error as above. */
void api_read_done(void *arg, enum err err);

/* The same for a read, whose `done` is api_read_done. */
MUST_CHECK enum err api_node_get(struct http_request *request, enum node_kind kind,
                                 struct node_get *get);

enum api_smb_use {
    API_SMB_NEW,    /* a node is made: "preserve" means nothing, "inherit" does */
    API_SMB_CHANGE, /* one is there: "preserve" is to leave it */
    API_SMB_COPY,   /* "source" is to take that of the source, which is for the caller to see */
};

/*
 * x-ms-file-attributes, x-ms-file-creation-time, x-ms-file-last-write-time, x-ms-file-change-time,
 * x-ms-file-permission or x-ms-file-permission-key.
 *   ERR_INVALID_HEADER, ERR_FILE_PERMISSION_INVALID
 *   ERR_NOT_IMPLEMENTED   what only shares over NFS have
 */
MUST_CHECK enum err api_read_smb(struct http_request *request, enum api_smb_use use,
                                 struct node_smb *smb);

/* --- responses --- */

/* "ReadOnly | Archive", in the arena; "None" for none.  And back; false if it is no such text. */
struct slice api_attributes(struct arena *arena, unsigned attributes);
bool api_attributes_parse(struct slice text, unsigned *attributes);

/* An instant with seven digits. */
void api_add_instant(struct http_response *response, const char *header, int64_t ticks);

/* The headers that api_read_smb reads, and the ids. */
void api_add_smb(struct http_request *request, struct http_response *response,
                 const struct node *node);

/* The answer to a change of a node: its ETag, and what SMB knows if that is wanted. */
struct http_response *api_respond_node(struct http_request *request, unsigned status,
                                       const struct node *node, bool with_smb);

/* The permission key of a node as it is shown: that of the default of its kind if it has none. */
struct slice api_permission_key(const struct node *node);

#endif
