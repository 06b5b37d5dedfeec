/*
 * api.h - the functions of the rows of operations_*.def: they turn headers and parameters into
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
enum err undelete_blob_prepare(struct http_request *request);
enum err undelete_blob_run(struct http_request *request);
void undelete_blob_respond(struct http_request *request);
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

/* api_table.c */
enum err table_change_prepare(struct http_request *request);
enum err create_table_prepare(struct http_request *request);
enum err create_table_run(struct http_request *request);
void create_table_respond(struct http_request *request);
enum err delete_table_run(struct http_request *request);
void delete_table_respond(struct http_request *request);
enum err query_tables_run(struct http_request *request);
enum err query_table_run(struct http_request *request);
enum err get_table_acl_run(struct http_request *request);
enum err set_table_acl_run(struct http_request *request);
void set_table_acl_respond(struct http_request *request);

/* api_entity.c */
enum err change_entity_prepare(struct http_request *request);
enum err change_entity_run(struct http_request *request);
void change_entity_respond(struct http_request *request);

/* api_query.c */
enum err get_entity_run(struct http_request *request);
enum err query_entities_run(struct http_request *request);

/* api_group.c */
enum err group_prepare(struct http_request *request);
enum err group_run(struct http_request *request);
void group_respond(struct http_request *request);

/* api_queue.c */
enum err list_queues_prepare(struct http_request *request);
enum err list_queues_run(struct http_request *request);
enum err get_queue_metadata_run(struct http_request *request);
enum err get_queue_acl_run(struct http_request *request);
enum err queue_change_prepare(struct http_request *request);
enum err create_queue_run(struct http_request *request);
void create_queue_respond(struct http_request *request);
enum err set_queue_metadata_run(struct http_request *request);
enum err set_queue_acl_run(struct http_request *request);
enum err delete_queue_run(struct http_request *request);
void queue_changed_respond(struct http_request *request);

/* api_message.c */
enum err put_message_prepare(struct http_request *request);
enum err put_message_run(struct http_request *request);
void put_message_respond(struct http_request *request);
enum err get_messages_prepare(struct http_request *request);
enum err get_messages_run(struct http_request *request);
void get_messages_respond(struct http_request *request);
enum err peek_messages_run(struct http_request *request);
enum err delete_message_prepare(struct http_request *request);
enum err delete_message_run(struct http_request *request);
enum err update_message_prepare(struct http_request *request);
enum err update_message_run(struct http_request *request);
void update_message_respond(struct http_request *request);
enum err clear_messages_prepare(struct http_request *request);
enum err clear_messages_run(struct http_request *request);

/* api_share.c */
enum err list_shares_prepare(struct http_request *request);
enum err list_shares_run(struct http_request *request);
enum err get_share_properties_run(struct http_request *request);
enum err get_share_metadata_run(struct http_request *request);
enum err get_share_acl_run(struct http_request *request);
enum err get_share_stats_run(struct http_request *request);
enum err share_change_prepare(struct http_request *request);
enum err share_properties_prepare(struct http_request *request);
enum err create_share_run(struct http_request *request);
void create_share_respond(struct http_request *request);
enum err set_share_properties_run(struct http_request *request);
enum err set_share_metadata_run(struct http_request *request);
enum err set_share_acl_run(struct http_request *request);
void share_changed_respond(struct http_request *request);
enum err snapshot_share_run(struct http_request *request);
void snapshot_share_respond(struct http_request *request);
enum err delete_share_prepare(struct http_request *request);
enum err delete_share_run(struct http_request *request);
void delete_share_respond(struct http_request *request);
enum err restore_share_prepare(struct http_request *request);
enum err restore_share_run(struct http_request *request);
enum err share_lease_prepare(struct http_request *request);
enum err share_lease_run(struct http_request *request);
void share_lease_respond(struct http_request *request);

/* api_permission.c */
enum err create_permission_prepare(struct http_request *request);
enum err create_permission_run(struct http_request *request);
void create_permission_respond(struct http_request *request);
enum err get_permission_run(struct http_request *request);

/* api_directory.c; those of a node are for files too */
enum err directory_change_prepare(struct http_request *request);
enum err create_directory_prepare(struct http_request *request);
enum err create_node_run(struct http_request *request);
void create_node_respond(struct http_request *request);
enum err set_directory_properties_prepare(struct http_request *request);
enum err set_node_properties_run(struct http_request *request);
void set_node_properties_respond(struct http_request *request);
enum err set_node_metadata_run(struct http_request *request);
void set_node_metadata_respond(struct http_request *request);
enum err delete_node_run(struct http_request *request);
void delete_node_respond(struct http_request *request);
enum err get_directory_prepare(struct http_request *request);
enum err get_node_run(struct http_request *request);
void get_directory_properties_respond(struct http_request *request);
void get_node_metadata_respond(struct http_request *request);
enum err list_nodes_prepare(struct http_request *request);
enum err list_nodes_run(struct http_request *request);

/* api_file.c */
enum err create_file_prepare(struct http_request *request);
enum err file_change_prepare(struct http_request *request);
enum err set_file_properties_prepare(struct http_request *request);
enum err get_file_prepare(struct http_request *request);
void get_file_respond(struct http_request *request);
enum err get_file_properties_prepare(struct http_request *request);
void get_file_properties_respond(struct http_request *request);
enum err file_lease_prepare(struct http_request *request);
enum err file_lease_run(struct http_request *request);
void file_lease_respond(struct http_request *request);
enum err rename_file_prepare(struct http_request *request);
enum err rename_directory_prepare(struct http_request *request);
enum err rename_node_run(struct http_request *request);

/* api_range.c */
enum err put_range_prepare(struct http_request *request);
enum err put_range_from_url_prepare(struct http_request *request);
enum err put_range_run(struct http_request *request);
void put_range_respond(struct http_request *request);
void put_range_from_url_respond(struct http_request *request);
enum err clear_range_prepare(struct http_request *request);
enum err clear_range_run(struct http_request *request);
void clear_range_respond(struct http_request *request);
enum err list_ranges_prepare(struct http_request *request);
enum err list_ranges_run(struct http_request *request);
void list_ranges_respond(struct http_request *request);

/* api_file_copy.c */
enum err copy_file_prepare(struct http_request *request);
enum err copy_file_run(struct http_request *request);
void copy_file_respond(struct http_request *request);
enum err abort_copy_file_prepare(struct http_request *request);
enum err abort_copy_file_run(struct http_request *request);
void abort_copy_file_respond(struct http_request *request);

/* api_handle.c */
enum err list_handles_prepare(struct http_request *request);
enum err list_handles_run(struct http_request *request);
enum err force_close_prepare(struct http_request *request);
enum err force_close_run(struct http_request *request);
void force_close_respond(struct http_request *request);

#endif
