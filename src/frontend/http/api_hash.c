#include "frontend/http/api_hash.h"

#include "base/encoding.h"

enum err api_read_md5(struct http_request *request, const char *header, struct slice *md5)
{
    *md5 = (struct slice){ 0 };
    const struct slice text = http_message_header(&request->message, header);
    if (text.len == 0)
        return OK;
    if (base64_decode(&request->arena, text, md5) != OK || md5->len != DIGEST_MD5_BYTES)
        return ERR_INVALID_MD5;
    return OK;
}

enum err api_read_hashes(struct http_request *request, struct api_hashes *hashes)
{
    const char *const header = "x-ms-content-crc64";
    *hashes = (struct api_hashes){ 0 };
    const enum err err = api_read_md5(request, "Content-MD5", &hashes->md5);
    if (err != OK)
        return err;
    const struct slice crc64 = http_message_header(&request->message, header);
    if (crc64.len == 0)
        return OK;
    if (hashes->md5.len > 0)
        return ERR_BOTH_MD5_AND_CRC64;
    if (base64_decode(&request->arena, crc64, &hashes->crc64) != OK ||
        hashes->crc64.len != DIGEST_CRC64_BYTES)
        return request_fault_header(request, ERR_INVALID_HEADER, header);
    return OK;
}

static struct slice base64_text(struct arena *arena, struct slice bytes)
{
    char *text = arena_bytes(arena, BASE64_LEN(bytes.len) + 1);
    base64_encode(bytes, text);
    return slice_make(text, BASE64_LEN(bytes.len));
}

/* Both, for the error's body. */
static void add_details(struct http_request *request, const char *given_name, struct slice given,
                        const char *found_name, struct slice found)
{
    request_add_detail(request, given_name, base64_text(&request->arena, given));
    request_add_detail(request, found_name, base64_text(&request->arena, found));
}

enum err api_check_hashes(struct http_request *request, const struct api_hashes *hashes,
                          const uint8_t md5[DIGEST_MD5_BYTES], uint64_t crc64)
{
    if (hashes->md5.len > 0) {
        const struct slice found_md5 = slice_make(md5, DIGEST_MD5_BYTES);
        if (!slice_equal(hashes->md5, found_md5)) {
            add_details(request, "UserSpecifiedMd5", hashes->md5, "ServerCalculatedMd5", found_md5);
            return ERR_MD5_MISMATCH;
        }
    }
    uint8_t bytes[DIGEST_CRC64_BYTES];
    digest_crc64_bytes(crc64, bytes);
    const struct slice found_crc64 = slice_make(bytes, sizeof(bytes));
    if (hashes->crc64.len > 0 && !slice_equal(hashes->crc64, found_crc64)) {
        add_details(request, "UserSpecifiedCrc", hashes->crc64, "ServerCalculatedCrc", found_crc64);
        return ERR_CRC64_MISMATCH;
    }
    return OK;
}

enum err api_check_body(struct http_request *request, const struct api_hashes *hashes)
{
    return api_check_hashes(request, hashes,
                            hashes->md5.len > 0 ? payload_writer_md5(request->body) : NULL,
                            payload_writer_crc64(request->body));
}

enum err api_begin_part(struct http_request *request, const struct api_hashes *hashes)
{
    const enum err err = payload_writer_new(request->context->service, &request->arena,
                                            request->content_length, &request->body);
    if (err == OK && hashes->md5.len == 0)
        payload_writer_skip_md5(request->body);
    return err;
}

void api_add_hashes(struct http_request *request, const struct api_hashes *hashes, uint64_t crc64)
{
    struct http_response *response = &request->response;
    if (hashes->md5.len > 0) {
        http_response_add_base64(response, "Content-MD5", hashes->md5);
    } else if (request->version >= 20190202) {
        uint8_t bytes[DIGEST_CRC64_BYTES];
        digest_crc64_bytes(crc64, bytes);
        http_response_add_base64(response, "x-ms-content-crc64", slice_make(bytes, sizeof(bytes)));
    }
}
