/*
 * api.h - the functions of the rows of http_operations.def: they turn headers and parameters into
 * arguments of the service, and results into responses.  Nothing is decided here.
 */
#ifndef FRONTEND_HTTP_API_H
#define FRONTEND_HTTP_API_H

#include "base/error.h"
#include "frontend/http/http_request.h"

/* api_container.c */
enum err list_containers_prepare(struct http_request *request);
enum err list_containers_run(struct http_request *request);
enum err container_change_prepare(struct http_request *request);
enum err create_container_run(struct http_request *request);
void create_container_respond(struct http_request *request);
enum err get_container_properties_run(struct http_request *request);
enum err get_container_metadata_run(struct http_request *request);
enum err set_container_metadata_run(struct http_request *request);
void set_container_metadata_respond(struct http_request *request);
enum err delete_container_run(struct http_request *request);
void delete_container_respond(struct http_request *request);
enum err container_lease_prepare(struct http_request *request);
enum err container_lease_run(struct http_request *request);
void container_lease_respond(struct http_request *request);

/* api_blob.c */
enum err put_blob_prepare(struct http_request *request);
enum err put_blob_run(struct http_request *request);
void put_blob_respond(struct http_request *request);
enum err get_blob_prepare(struct http_request *request);
enum err get_blob_run(struct http_request *request);
enum err get_blob_properties_run(struct http_request *request);
enum err get_blob_metadata_run(struct http_request *request);
enum err set_blob_properties_prepare(struct http_request *request);
enum err set_blob_properties_run(struct http_request *request);
enum err set_blob_metadata_prepare(struct http_request *request);
enum err set_blob_metadata_run(struct http_request *request);
void set_blob_metadata_respond(struct http_request *request);
enum err delete_blob_prepare(struct http_request *request);
enum err delete_blob_run(struct http_request *request);
void delete_blob_respond(struct http_request *request);
void blob_changed_respond(struct http_request *request);
enum err blob_lease_prepare(struct http_request *request);
enum err blob_lease_run(struct http_request *request);
void blob_lease_respond(struct http_request *request);

/* api_list.c */
enum err list_blobs_prepare(struct http_request *request);
enum err list_blobs_run(struct http_request *request);

#endif
