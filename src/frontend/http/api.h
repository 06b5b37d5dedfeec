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

/* api_acl.c */
enum err get_container_acl_run(struct http_request *request);
enum err set_container_acl_prepare(struct http_request *request);
enum err set_container_acl_run(struct http_request *request);
enum err get_account_information_run(struct http_request *request);

/* api_batch.c */
enum err batch_prepare(struct http_request *request);
enum err batch_run(struct http_request *request);
void batch_respond(struct http_request *request);

/* api_service.c */
enum err get_service_properties_run(struct http_request *request);
enum err set_service_properties_prepare(struct http_request *request);
enum err set_service_properties_run(struct http_request *request);
void set_service_properties_respond(struct http_request *request);
enum err get_service_stats_run(struct http_request *request);
enum err preflight_run(struct http_request *request);

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
void set_blob_properties_respond(struct http_request *request);
enum err blob_lease_prepare(struct http_request *request);
enum err blob_lease_run(struct http_request *request);
void blob_lease_respond(struct http_request *request);

/* api_block.c */
enum err put_block_prepare(struct http_request *request);
enum err put_block_run(struct http_request *request);
void put_block_respond(struct http_request *request);
enum err put_block_list_prepare(struct http_request *request);
enum err put_block_list_run(struct http_request *request);
void put_block_list_respond(struct http_request *request);
enum err get_block_list_prepare(struct http_request *request);
enum err get_block_list_run(struct http_request *request);

/* api_snapshot.c */
enum err snapshot_blob_prepare(struct http_request *request);
enum err snapshot_blob_run(struct http_request *request);
void snapshot_blob_respond(struct http_request *request);
enum err set_blob_tier_prepare(struct http_request *request);
enum err set_blob_tier_run(struct http_request *request);
void set_blob_tier_respond(struct http_request *request);

/* api_tag.c */
enum err get_blob_tags_run(struct http_request *request);
enum err set_blob_tags_prepare(struct http_request *request);
enum err set_blob_tags_run(struct http_request *request);
void set_blob_tags_respond(struct http_request *request);
enum err find_blobs_prepare(struct http_request *request);
enum err find_blobs_run(struct http_request *request);

/* api_append.c */
enum err create_append_blob_prepare(struct http_request *request);
enum err create_append_blob_run(struct http_request *request);
void create_append_blob_respond(struct http_request *request);
enum err append_block_prepare(struct http_request *request);
enum err append_block_run(struct http_request *request);
void append_block_respond(struct http_request *request);
enum err seal_append_blob_prepare(struct http_request *request);
enum err seal_append_blob_run(struct http_request *request);
void seal_append_blob_respond(struct http_request *request);

/* api_page.c */
enum err create_page_blob_prepare(struct http_request *request);
enum err create_page_blob_run(struct http_request *request);
void create_page_blob_respond(struct http_request *request);
enum err put_page_prepare(struct http_request *request);
enum err put_page_run(struct http_request *request);
void put_page_respond(struct http_request *request);
enum err clear_page_prepare(struct http_request *request);
enum err clear_page_run(struct http_request *request);
void clear_page_respond(struct http_request *request);
enum err get_page_ranges_prepare(struct http_request *request);
enum err get_page_ranges_run(struct http_request *request);

/* api_list.c */
enum err list_blobs_prepare(struct http_request *request);
enum err list_blobs_run(struct http_request *request);

/* api_copy.c; from_url.h */
enum err copy_blob_prepare(struct http_request *request);
enum err copy_blob_run(struct http_request *request);
void copy_blob_respond(struct http_request *request);
enum err incremental_copy_prepare(struct http_request *request);
enum err abort_copy_prepare(struct http_request *request);
enum err abort_copy_run(struct http_request *request);
void abort_copy_respond(struct http_request *request);
enum err copy_from_url_prepare(struct http_request *request);
void copy_from_url_respond(struct http_request *request);
enum err put_blob_from_url_prepare(struct http_request *request);
void put_blob_from_url_respond(struct http_request *request);
enum err put_block_from_url_prepare(struct http_request *request);
enum err append_block_from_url_prepare(struct http_request *request);
enum err put_page_from_url_prepare(struct http_request *request);
enum err from_url_run(struct http_request *request);

#endif
