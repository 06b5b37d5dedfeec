#include "frontend/http/access.h"

#include "frontend/http/auth_sharedkey.h"

static enum err check_sharedkey(struct http_request *request)
{
    const struct auth_sharedkey_request signed_request = {
        .message = &request->message,
        .account = request->address.account,
        .addressing = request->address.path_style ? AUTH_PATH_STYLE : AUTH_HOST_STYLE,
        .dialect = AUTH_DIALECT_BLOB_QUEUE_FILE,
        .is_secondary = request->address.secondary,
        .now = request->received_at,
    };
    return auth_sharedkey_check(&request->arena, &signed_request);
}

static enum err check_sas(struct http_request *request, struct sas *sas)
{
    enum err err = auth_sas_parse(&request->message, sas);
    if (err != OK)
        return err;
    const struct sas_request sas_request = {
        .account = request->address.account,
        .service = 'b',
        .container = request->address.container,
        .blob = request->address.blob,
        .snapshot = http_message_parameter(&request->message, "snapshot"),
        .version_id = http_message_parameter(&request->message, "versionid"),
        .client = request->client_address,
        .is_https = request->https,
        .now = request->received_at,
    };
    /* Containers have no stored access policies yet, so none is ever found. */
    return auth_sas_verify(&request->arena, sas, &sas_request, NULL);
}

enum err access_authenticate(struct http_request *request, struct access_caller *caller)
{
    const struct http_message *message = &request->message;
    *caller = (struct access_caller){ 0 };
    const struct slice authorization = http_message_header(message, "authorization");
    const struct slice bearer = slice_of("Bearer ");
    if (slice_equal_nocase(slice_head(authorization, bearer.len), bearer))
        return ERR_BEARER_REFUSED;
    if (http_message_find_header(message, "authorization") != NULL)
        return check_sharedkey(request);
    if (auth_sas_is_present(message)) {
        caller->has_sas = true;
        return check_sas(request, &caller->sas);
    }
    return request->version >= 20191212 ? ERR_NO_AUTHENTICATION : ERR_RESOURCE_NOT_FOUND;
}

static bool allows_any(const struct sas *sas, const char *permissions)
{
    for (; *permissions != '\0'; permissions++)
        if (sas_allows(sas, *permissions))
            return true;
    return false;
}

enum err access_authorize(struct http_request *request, const struct access_caller *caller)
{
    if (!caller->has_sas)
        return OK;
    const struct http_operation *operation = request->operation;
    const struct sas *sas = &caller->sas;
    if (sas->kind == SAS_KIND_SERVICE && (operation->flags & OP_SERVICE_SAS) == 0)
        return ERR_AUTHORIZATION_FAILED;
    if (!sas_allows_type(sas, operation->account_type))
        return ERR_AUTHORIZATION_RESOURCE_TYPE;
    if (!allows_any(sas, operation->permissions))
        return ERR_AUTHORIZATION_PERMISSION;
    request->access = (struct http_access){
        .create_only = !sas_allows(sas, 'w'),
        .cache_control = sas->fields[SAS_RSCC],
        .content_disposition = sas->fields[SAS_RSCD],
        .content_encoding = sas->fields[SAS_RSCE],
        .content_language = sas->fields[SAS_RSCL],
        .content_type = sas->fields[SAS_RSCT],
    };
    return OK;
}
