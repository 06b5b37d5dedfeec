/*
 * auth_sas.h - shared access signatures: a URL that carries its own, limited permission.
 *
 * A SAS is a set of query parameters signed with an account's key.  An account SAS (`ss`, `srt`)
 * is good for services and resource types of the account, a service SAS for one queue or table or,
 * by `sr`, one container, directory, blob, snapshot or version, one share or file. The text that is
 * signed has one line per field and changed with the version `sv` ("Create a service SAS", "Create
 * an account SAS"):
 *
 *     blob, none         sp st se resource si
 *     2012-02-12         sp st se resource si sv
 *     2013-08-15         sp st se resource si sv rscc rscd rsce rscl rsct
 *     2015-04-05         sp st se resource si sip spr sv rscc rscd rsce rscl rsct
 *     2018-11-09         sp st se resource si sip spr sv sr time rscc rscd rsce rscl rsct
 *     2020-12-06         sp st se resource si sip spr sv sr time ses rscc rscd rsce rscl rsct
 *     queue 2012-02-12   sp st se resource si sv
 *     2015-04-05         sp st se resource si sip spr sv
 *     table 2012-02-12   sp st se resource si sv spk srk epk erk
 *     2015-04-05         sp st se resource si sip spr sv spk srk epk erk
 *     file 2015-02-21    sp st se resource si sv rscc rscd rsce rscl rsct
 *     2015-04-05         sp st se resource si sip spr sv rscc rscd rsce rscl rsct
 *     account 2015-04-05 account sp ss srt st se sip spr sv, and an empty line
 *     2020-12-06         account sp ss srt st se sip spr sv ses, and an empty line
 *
 * `resource` is /blob/<account>/<container>[/<blob>], /file/<account>/<share>[/<path of the file>],
 * /queue/<account>/<queue> or /table/<account>/<table in lower case>, without its first word before
 * 2015-02-21; `time` is the snapshot (sr=bs) or version id (sr=bv) asked for.
 *
 * A parameter that the text of its version does not have is not vouched for by anybody: it is
 * treated as absent.
 *
 * The caller parses, looks up the stored access policy if `si` names one, verifies, and then asks
 * whether the SAS allows the operation.  No state; any thread.
 *
 * To add a version: a row in the forms of its service in the .c, and its parameters in enum
 * sas_field.
 */
#ifndef FRONTEND_HTTP_AUTH_SAS_H
#define FRONTEND_HTTP_AUTH_SAS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "frontend/http/http_message.h"
#include "service/account.h"

/* The parameters of a SAS. */
enum sas_field {
    SAS_SV,    /* version */
    SAS_SS,    /* services: account SAS */
    SAS_SRT,   /* resource types: account SAS */
    SAS_SR,    /* resource: service SAS */
    SAS_SDD,   /* depth of the directory, with sr=d */
    SAS_SP,    /* permissions */
    SAS_ST,    /* start */
    SAS_SE,    /* expiry */
    SAS_SI,    /* id of a stored access policy */
    SAS_SIP,   /* addresses */
    SAS_SPR,   /* protocols */
    SAS_SES,   /* encryption scope */
    SAS_RSCC,  /* what a read answers instead of the stored Cache-Control, */
    SAS_RSCD,  /* Content-Disposition, */
    SAS_RSCE,  /* Content-Encoding, */
    SAS_RSCL,  /* Content-Language */
    SAS_RSCT,  /* and Content-Type */
    SAS_TN,    /* the table's name */
    SAS_SPK,   /* first partition key, */
    SAS_SRK,   /* row key in it, */
    SAS_EPK,   /* last partition key */
    SAS_ERK,   /* and row key in it: of the entities a table's SAS is for */
    SAS_SKOID, /* who asked for the user delegation key that signed, if one did */
    SAS_SIG,   /* signature */
    SAS_FIELD_COUNT,
};

enum sas_kind {
    SAS_KIND_ACCOUNT,
    SAS_KIND_SERVICE,
};

/* What a service SAS is for. */
enum sas_resource {
    SAS_RESOURCE_NONE,      /* an account SAS */
    SAS_RESOURCE_CONTAINER, /* also a queue, table or share */
    SAS_RESOURCE_DIRECTORY,
    SAS_RESOURCE_BLOB, /* also a file */
    SAS_RESOURCE_SNAPSHOT,
    SAS_RESOURCE_VERSION,
};

/* A set of the letters a to z, one bit each. */
struct sas_letters {
    uint32_t bits;
};

/* A value over the request's bytes.  Nothing in it is to be believed before auth_sas_verify. */
struct sas {
    enum sas_kind kind;
    char service; /* it was given to */
    enum sas_resource resource;
    struct slice fields[SAS_FIELD_COUNT]; /* decoded; empty when absent */
    /* Set by auth_sas_verify. */
    struct sas_letters permissions; /* of the SAS or its policy */
    struct sas_letters services;
    struct sas_letters resource_types;
};

/* The stored access policy that `si` names.  What it has, the SAS must not have. */
struct sas_policy {
    bool has_start;
    bool has_expiry;
    bool has_permission;
    int64_t start;  /* ticks */
    int64_t expiry; /* ticks */
    struct slice permission;
};

/* What the request is about, and where it comes from. */
struct sas_request {
    const struct account *account;
    char service;             /* 'b', 'q', 't' or 'f' */
    const char *service_name; /* "blob", "queue", "table", "file" */
    struct slice container;   /* or queue, table, share; decoded; empty for the account itself */
    struct slice blob;        /* or path; decoded; empty for the container itself */
    struct slice snapshot;    /* as in the query, or empty */
    struct slice version_id;
    const struct sockaddr *client; /* NULL when unknown, and then outside every `sip` */
    bool is_https;
    int64_t now; /* ticks */
};

/* Whether the request carries a SAS: it has a `sig`. */
bool auth_sas_is_present(const struct http_message *message);

/*
 * Read the parameters of a request to `service`. ERR_AUTHENTICATION_FAILED when one is missing that
 * the kind of SAS needs, is given twice or spans lines, or when the SAS is signed with a user
 * delegation key, which this server does not hand out.
 */
MUST_CHECK enum err auth_sas_parse(const struct http_message *message, char service,
                                   struct sas *sas);

/*
 * Check the signature, then time, protocol, address and service.  `policy` is the one that
 * sas->fields[SAS_SI] names, NULL if there is none.
 *
 *   ERR_AUTHENTICATION_FAILED     the signature; not yet or no longer valid; a field missing from
 *                                 both SAS and policy, or malformed; no such policy
 *   ERR_INVALID_QUERY_PARAMETER   a field in both SAS and policy
 *   ERR_AUTHORIZATION_PROTOCOL    plain HTTP when `spr` is https
 *   ERR_AUTHORIZATION_SOURCE_IP   an address outside `sip`
 *   ERR_AUTHORIZATION_SERVICE     an account SAS for other services
 */
MUST_CHECK enum err auth_sas_verify(struct arena *arena, struct sas *sas,
                                    const struct sas_request *request,
                                    const struct sas_policy *policy);

/* Whether a verified SAS has the permission, for example 'r'. */
bool sas_allows(const struct sas *sas, char permission);

/*
 * Whether a verified SAS is for operations on the service ('s'), a container ('c') or an object
 * ('o').  A service SAS never is for the service, and for the container only with sr=c.
 */
bool sas_allows_type(const struct sas *sas, char resource_type);

#endif
