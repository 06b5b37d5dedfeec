#include "frontend/http/copy_job.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/encoding.h"
#include "base/log.h"
#include "base/mutex.h"
#include "service/limits.h"

enum {
    /* How often progress is stored: so that clients see it, and a commit is nothing beside it. */
    REPORT_US = 1000 * 1000,
    RETRIES_MAX = 5,
};

struct copy_job {
    /* set at start, then constant */
    struct arena arena; /* the fetcher's thread's, while the fetch is under way */
    struct service *service;
    struct http_fetcher *fetcher;

    const struct copy_job_kind *kind;

    struct http_request *request; /* until it is answered */
    void *change;                 /* the request's */
    enum err begin_err;
    struct http_fetch fetch;
    struct payload_writer *payload;
    uint64_t total_bytes;
    uint64_t copied_bytes;
    int64_t reported_us;
    struct slice etag; /* of the source */
    unsigned retries;

    struct mutex lock;
    /* under lock */
    struct copy_step *step; /* the one under way, if one is; set when the source has answered */
    bool is_stepping;
    bool is_stopped; /* there is nothing to go on with: aborted, or the container is gone */
    bool is_over;    /* the fetch is */
    enum err outcome;
};

static void job_free(struct copy_job *job)
{
    struct http_fetcher *fetcher = job->fetcher;
    mutex_release(&job->lock);
    arena_release(&job->arena);
    free(job);
    http_fetcher_let_go(fetcher);
}

/* --- the end --- */

/* Words for x-ms-copy-status-description, as the service puts them. */
static const char *describe(enum err err)
{
    switch ((int)err) {
    case ERR_COPY_SOURCE_NOT_FOUND:
        return "404 NotFound \"Copy failed when reading the source.\"";
    case ERR_COPY_SOURCE_UNAUTHORIZED:
        return "401 Unauthorized \"Copy failed when reading the source.\"";
    case ERR_COPY_SOURCE_FORBIDDEN:
        return "403 Forbidden \"Copy failed when reading the source.\"";
    case ERR_COPY_SOURCE_CONDITION:
    case ERR_COPY_SOURCE_NOT_MODIFIED:
        return "412 PreconditionFailed \"The source changed while it was copied.\"";
    case ERR_COPY_SOURCE_UNREACHABLE:
        return "500 OperationCancelled \"Copy failed when reading the source.\"";
    case ERR_NO_SPACE:
        return "507 InsufficientStorage \"The server has no space left.\"";
    case ERR_SHARE_SIZE_LIMIT:
        return "413 ShareSizeLimitReached \"The share has no space left.\"";
    case ERR_SHARING_VIOLATION:
    case ERR_DELETE_PENDING:
    case ERR_CACHE_FLUSH_DELAY:
        return "409 SharingViolation \"The destination is in use by an SMB client.\"";
    default:
        return "500 InternalError \"Copy failed.\"";
    }
}

static void end_step(struct copy_job *job, enum err err);

/* Whether an error of the last step is one of the copy, which can still be noted. */
static bool is_failure(enum err err)
{
    return err != OK && err != ERR_NO_PENDING_COPY && err != ERR_COPY_ID_MISMATCH &&
           err != ERR_SHUTTING_DOWN;
}

static void ended(void *arg, enum err err)
{
    struct copy_job *job = arg;
    const bool had_payload = job->step->payload != NULL;
    if (is_failure(err) && had_payload) {
        end_step(job, err);
        return;
    }
    if (err != OK)
        log_info("copy", "a copy ends without being noted: %s", error_text(err));
    job_free(job);
}

/* The last step: success, or why not. */
static void end_step(struct copy_job *job, enum err err)
{
    job->step->copied_bytes = job->copied_bytes;
    job->step->payload = err == OK ? job->payload : NULL;
    job->step->description = err == OK ? (struct slice){ 0 } : slice_of(describe(err));
    job->step->base.done = ended;
    job->kind->step(job->service, job->step);
}

static void end(struct copy_job *job)
{
    enum err err = job->outcome;
    if (job->is_stopped || err == ERR_SHUTTING_DOWN) {
        job_free(job);
        return;
    }
    if (err == OK)
        err = payload_writer_finish(job->payload);
    end_step(job, err);
}

/* --- progress --- */

static void stepped(void *arg, enum err err)
{
    struct copy_job *job = arg;
    mutex_lock(&job->lock);
    job->is_stepping = false;
    job->is_stopped = job->step->is_gone || (err != OK && err != ERR_NO_SPACE && err != ERR_IO);
    const bool over = job->is_over;
    mutex_unlock(&job->lock);
    if (over)
        end(job);
}

/* Whether the copy is to go on; notes how far it has come, now and then. */
static bool report(struct copy_job *job)
{
    const int64_t now_us = clock_monotonic_us();
    mutex_lock(&job->lock);
    const bool stopped = job->is_stopped;
    const bool due = !stopped && !job->is_stepping && now_us - job->reported_us >= REPORT_US;
    if (due)
        job->is_stepping = true;
    mutex_unlock(&job->lock);
    if (due) {
        job->reported_us = now_us;
        job->step->copied_bytes = job->copied_bytes;
        job->step->base.done = stepped;
        job->kind->step(job->service, job->step);
    }
    return !stopped;
}

/* --- the source's answer --- */

void copy_read_answer(struct arena *arena, const struct http_message *answer,
                      struct blob_properties *properties, struct metadata *metadata)
{
    const struct slice prefix = slice_of("x-ms-meta-");
    const struct slice md5 = http_message_header(answer, "Content-MD5");
    *properties = (struct blob_properties){
        .content_type = http_message_header(answer, "Content-Type"),
        .content_encoding = http_message_header(answer, "Content-Encoding"),
        .content_language = http_message_header(answer, "Content-Language"),
        .cache_control = http_message_header(answer, "Cache-Control"),
        .content_disposition = http_message_header(answer, "Content-Disposition"),
    };
    if (md5.len > 0 && (base64_decode(arena, md5, &properties->content_md5) != OK ||
                        properties->content_md5.len != DIGEST_MD5_BYTES))
        properties->content_md5 = (struct slice){ 0 };
    *metadata = (struct metadata){ 0 };
    for (size_t i = 0; i < answer->header_count; i++) {
        const struct http_field *field = &answer->headers[i];
        if (slice_equal_nocase(slice_head(field->name, prefix.len), prefix))
            metadata_append(
                metadata, arena,
                (struct metadata_pair){ slice_from(field->name, prefix.len), field->value });
    }
    /* Metadata that this server could not show again is left out as a whole. */
    if (metadata_check(metadata) != OK)
        *metadata = (struct metadata){ 0 };
}

static bool is_too_long(const struct blob_properties *properties)
{
    return properties->content_type.len > LIMIT_PROPERTY_BYTES_MAX ||
           properties->content_encoding.len > LIMIT_PROPERTY_BYTES_MAX ||
           properties->content_language.len > LIMIT_PROPERTY_BYTES_MAX ||
           properties->cache_control.len > LIMIT_PROPERTY_BYTES_MAX ||
           properties->content_disposition.len > LIMIT_PROPERTY_BYTES_MAX;
}

enum blob_type copy_answer_type(const struct http_message *answer)
{
    const struct slice type = http_message_header(answer, "x-ms-blob-type");
    if (slice_is(type, "PageBlob"))
        return BLOB_PAGE;
    return slice_is(type, "AppendBlob") ? BLOB_APPEND : BLOB_BLOCK;
}

enum err copy_take_answer(struct arena *arena, const struct http_message *answer,
                          struct blob_properties *properties, struct metadata *metadata)
{
    struct metadata source;
    copy_read_answer(arena, answer, properties, &source);
    if (metadata->count == 0)
        *metadata = source;
    return is_too_long(properties) ? ERR_COPY_SOURCE_UNREACHABLE : OK;
}

/* Copy Blob has words of its own for conditions. */
static enum err source_error(unsigned status)
{
    const enum err err = http_fetch_status_error(status);
    return err == ERR_COPY_SOURCE_CONDITION || err == ERR_COPY_SOURCE_NOT_MODIFIED
               ? ERR_SOURCE_CONDITION_NOT_MET
               : err;
}

/* --- the fetch's callbacks --- */

/* The copy is durable as a pending one, or refused. */
static void began(void *arg, enum err err)
{
    struct copy_job *job = arg;
    struct http_request *request = job->request;
    if (err == OK && job->kind->begun != NULL)
        job->kind->begun(job->change, job->step);
    job->begin_err = err;
    job->request = NULL;
    request_done(request, err);
    http_fetch_resume(&job->fetch);
}

static enum err prepare_begin(struct copy_job *job)
{
    const struct http_fetch *fetch = &job->fetch;
    enum err err = source_error(fetch->status);
    if (err == OK && !fetch->has_length)
        err = ERR_COPY_SOURCE_UNREACHABLE;
    if (err != OK)
        return err;
    job->total_bytes = fetch->length_bytes;
    job->etag = http_message_header(&fetch->answer, "ETag");
    err = job->kind->understand(job->request, job->change, fetch, &job->arena, &job->step);
    if (err == OK)
        err = payload_writer_new(job->service, &job->arena, job->total_bytes, &job->payload);
    if (err == OK)
        payload_writer_skip_md5(job->payload);
    return err;
}

/* The answer to a fetch that goes on where an earlier one broke off. */
static enum http_fetch_next continued(struct copy_job *job, struct http_fetch *fetch)
{
    const bool fits = fetch->status == 206 && fetch->has_length &&
                      fetch->length_bytes == job->total_bytes - job->copied_bytes;
    fetch->err = http_fetch_status_error(fetch->status);
    if (fetch->err == OK && !fits)
        fetch->err = ERR_COPY_SOURCE_CONDITION;
    return fetch->err == OK ? HTTP_FETCH_GO : HTTP_FETCH_STOP;
}

static enum http_fetch_next fetch_begun(void *arg, struct http_fetch *fetch)
{
    struct copy_job *job = arg;
    if (job->retries > 0)
        return continued(job, fetch);
    fetch->err = prepare_begin(job);
    if (fetch->err != OK)
        return HTTP_FETCH_STOP;
    job->step->base.arena = &job->arena;
    job->step->base.arg = job;
    job->kind->begin(job->service, job->change, began, job);
    return HTTP_FETCH_WAIT;
}

static enum err fetch_receive(void *arg, struct slice bytes)
{
    struct copy_job *job = arg;
    if (job->begin_err != OK)
        return job->begin_err;
    const enum err err = payload_writer_append(job->payload, bytes);
    job->copied_bytes += bytes.len;
    if (err != OK)
        return err;
    return report(job) ? OK : ERR_NO_PENDING_COPY;
}

/* Whether it makes sense to try again from where the connection was lost. */
static bool may_retry(const struct copy_job *job, enum err err)
{
    return err == ERR_COPY_SOURCE_UNREACHABLE && job->etag.len > 0 && job->retries < RETRIES_MAX &&
           !slice_starts_with(job->etag, slice_of("W/"));
}

static void retry(struct copy_job *job)
{
    struct http_fetch *fetch = &job->fetch;
    const char **headers = arena_alloc(&job->arena, 3 * sizeof(*headers));
    headers[0] =
        arena_printf(&job->arena, "If-Match: %.*s", (int)job->etag.len, job->etag.data).data;
    headers[1] =
        arena_printf(&job->arena, "Range: bytes=%llu-", (unsigned long long)job->copied_bytes).data;
    /* The version is the last header of the first attempt. */
    headers[2] = fetch->headers[fetch->header_count - 1];
    fetch->headers = headers;
    fetch->header_count = 3;
    job->retries++;
    http_fetch_start(job->fetcher, fetch);
}

static void fetch_done(void *arg, enum err err)
{
    struct copy_job *job = arg;
    if (job->request != NULL) {
        request_done(job->request, err);
        job_free(job);
        return;
    }
    if (job->begin_err != OK) {
        job_free(job);
        return;
    }
    if (may_retry(job, err)) {
        retry(job);
        return;
    }
    mutex_lock(&job->lock);
    job->is_over = true;
    job->outcome = err;
    if (err == ERR_NO_PENDING_COPY)
        job->is_stopped = true;
    const bool wait = job->is_stepping;
    mutex_unlock(&job->lock);
    if (!wait)
        end(job);
}

void copy_job_start(struct http_request *request, const struct copy_source *source,
                    const struct copy_job_kind *kind, void *change)
{
    struct copy_job *job = calloc(1, sizeof(*job));
    if (job == NULL)
        panic("no memory for a copy");
    job->service = request->context->service;
    job->fetcher = request->context->fetcher;
    job->kind = kind;
    job->request = request;
    job->change = change;
    job->reported_us = clock_monotonic_us();
    mutex_init(&job->lock, LOCK_HTTP_COPY);
    struct http_fetch *fetch = &job->fetch;
    fetch->arena = &job->arena;
    fetch->url = arena_copy(&job->arena, source->text).data;
    copy_source_headers(request, &job->arena, &fetch->headers, &fetch->header_count);
    fetch->begun = fetch_begun;
    fetch->receive = fetch_receive;
    fetch->done = fetch_done;
    fetch->arg = job;
    http_fetcher_hold(job->fetcher);
    http_fetch_start(job->fetcher, fetch);
}
