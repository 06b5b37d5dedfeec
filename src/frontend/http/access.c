#include "frontend/http/access.h"

#include "frontend/http/api_common.h"
#include "frontend/http/auth_sharedkey.h"
#include "service/blob/container.h"

static enum err check_sharedkey(struct http_request *request)
{
    const struct auth_sharedkey_request signed_request = {
        .message = &request->message,
        .account = request->address.account,
        .addressing = request->address.path_style ? AUTH_PATH_STYLE : AUTH_HOST_STYLE,
        .dialect = request->context->kind->dialect,
        .is_secondary = request->address.secondary,
        .now = request->received_at,
    };
    return auth_sharedkey_check(&request->arena, &signed_request);
}

/* The stored access policy a SAS names, as the resource has it now. */
static enum err find_policy(struct http_request *request, struct slice id,
                            struct sas_policy *policy, bool *found)
{
    struct access_policies policies;
    const enum err err = request->context->kind->find_policies(request, &policies);
    if (err != OK)
        return err == ERR_NOT_FOUND ? OK : err;
    const struct access_policy *stored = access_policies_find(&policies, id);
    *found = stored != NULL;
    if (stored != NULL)
        *policy = (struct sas_policy){
            .has_start = stored->start != 0,
            .has_expiry = stored->expiry != 0,
            .has_permission = stored->permission.len > 0,
            .start = stored->start,
            .expiry = stored->expiry,
            .permission = arena_copy(&request->arena, stored->permission),
        };
    return OK;
}

static enum err check_sas(struct http_request *request, struct sas *sas)
{
    const struct http_service *kind = request->context->kind;
    enum err err = auth_sas_parse(&request->message, kind->letter, sas);
    if (err != OK)
        return err;
    const struct sas_request sas_request = {
        .account = request->address.account,
        .service = kind->letter,
        .service_name = kind->name,
        .container = request->address.container,
        .blob = request->address.blob,
        .snapshot = http_message_parameter(&request->message, "snapshot"),
        .version_id = http_message_parameter(&request->message, "versionid"),
        .client = request->client_address,
        .is_https = request->https,
        .now = request->received_at,
    };
    struct sas_policy policy;
    bool found = false;
    if (sas->fields[SAS_SI].len > 0)
        err = find_policy(request, sas->fields[SAS_SI], &policy, &found);
    if (err != OK)
        return err;
    return auth_sas_verify(&request->arena, sas, &sas_request, found ? &policy : NULL);
}

enum err access_authenticate(struct http_request *request, struct access_caller *caller)
{
    const struct http_message *message = &request->message;
    *caller = (struct access_caller){ 0 };
    const struct slice authorization = http_message_header(message, "authorization");
    const struct slice bearer = slice_of("Bearer ");
    if (http_method_of(message->method) == HTTP_OPTIONS) {
        caller->kind = ACCESS_ANONYMOUS; /* a preflight never carries a credential of its own */
        return OK;
    }
    if (slice_equal_nocase(slice_head(authorization, bearer.len), bearer))
        return ERR_BEARER_REFUSED;
    if (http_message_find_header(message, "authorization") != NULL)
        return check_sharedkey(request);
    if (auth_sas_is_present(message)) {
        caller->kind = ACCESS_BY_SAS;
        return check_sas(request, &caller->sas);
    }
    caller->kind = ACCESS_ANONYMOUS;
    return OK;
}

enum err access_refuse_anonymous(const struct http_request *request)
{
    return request->version >= 20191212 ? ERR_NO_AUTHENTICATION : ERR_RESOURCE_NOT_FOUND;
}

/* Without a credential: what the container shows to everybody. */
static enum err authorize_anonymous(struct http_request *request)
{
    const enum err refused = access_refuse_anonymous(request);
    const unsigned flags = request->operation->flags;
    request->access.is_anonymous = true;
    /* What is public of a blob does not include its tags. */
    request->access.no_tags = true;
    if ((flags & OP_ANYBODY) != 0)
        return OK;
    if ((flags & (OP_PUBLIC_BLOB | OP_PUBLIC_LIST)) == 0)
        return refused;
    const struct container_name name = api_container_name(request);
    struct container container;
    const enum err err =
        container_get(request->context->service, &request->arena, &name, NULL, &container);
    if (err != OK)
        return err == ERR_CONTAINER_NOT_FOUND ? refused : err;
    const bool shown = (flags & OP_PUBLIC_BLOB) != 0 ? container.public_access != PUBLIC_NOTHING
                                                     : container.public_access == PUBLIC_CONTAINER;
    return shown ? OK : refused;
}

/* One of the operation's letters is enough, or each is needed. */
static bool has_permissions(const struct sas *sas, const struct http_operation *operation)
{
    const bool every = (operation->flags & OP_EVERY_LETTER) != 0;
    for (const char *letter = operation->permissions; *letter != '\0'; letter++)
        if (sas_allows(sas, *letter) != every)
            return !every;
    return every;
}

/* Whether a SAS of a container, a blob and the like can be for the operation. */
static bool takes_service_sas(const struct http_operation *operation, const struct sas *sas)
{
    return (operation->flags & OP_SERVICE_SAS) != 0 ||
           ((operation->flags & OP_SHARE_SAS) != 0 && sas->resource == SAS_RESOURCE_CONTAINER);
}

enum err access_authorize(struct http_request *request, const struct access_caller *caller)
{
    if (caller->kind == ACCESS_ANONYMOUS)
        return authorize_anonymous(request);
    if (caller->kind == ACCESS_BY_KEY) {
        request->access.by_key = true;
        return OK;
    }
    const struct http_operation *operation = request->operation;
    const struct sas *sas = &caller->sas;
    if ((operation->flags & OP_KEY_ONLY) != 0 ||
        (sas->kind == SAS_KIND_SERVICE && !takes_service_sas(operation, sas)))
        return ERR_AUTHORIZATION_FAILED;
    if (!sas_allows_type(sas, operation->account_type))
        return ERR_AUTHORIZATION_RESOURCE_TYPE;
    if (!has_permissions(sas, operation))
        return ERR_AUTHORIZATION_PERMISSION;
    request->access = (struct http_access){
        .create_only = !sas_allows(sas, 'w'),
        .no_tags = !sas_allows(sas, 't'),
        .cache_control = sas->fields[SAS_RSCC],
        .content_disposition = sas->fields[SAS_RSCD],
        .content_encoding = sas->fields[SAS_RSCE],
        .content_language = sas->fields[SAS_RSCL],
        .content_type = sas->fields[SAS_RSCT],
        .table = sas->fields[SAS_TN],
        .first_partition_key = sas->fields[SAS_SPK],
        .first_row_key = sas->fields[SAS_SRK],
        .last_partition_key = sas->fields[SAS_EPK],
        .last_row_key = sas->fields[SAS_ERK],
        .may_read = sas_allows(sas, 'r'),
        .may_add = sas_allows(sas, 'a'),
        .may_update = sas_allows(sas, 'u'),
        .may_delete = sas_allows(sas, 'd'),
        .may_delete_version = sas_allows(sas, 'x'),
        .may_delete_for_good = sas_allows(sas, 'y'),
    };
    return OK;
}
