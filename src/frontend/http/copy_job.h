/*
 * copy_job.h - a copy from elsewhere that goes on after its request was answered.
 *
 *   request_run    the fetch begins
 *   headers        the kind's begin; when it is durable, the request is answered: pending
 *   body           into a payload; the kind's step now and then
 *   end            the kind's step with the payload, or with why it failed
 *
 * What differs between blobs and files, the destinations, is in the functions of the kind.
 *
 * A connection that is lost is made again a few times, from where it was, if the source has an ETag
 * that tells that it is still the same.  When the server stops, the job ends and the copy stays
 * pending in the store; the next start marks it failed (service/blob/copy.h).
 */
#ifndef FRONTEND_HTTP_COPY_JOB_H
#define FRONTEND_HTTP_COPY_JOB_H

#include "base/error.h"
#include "frontend/http/copy_source.h"
#include "frontend/http/http_fetch.h"
#include "frontend/http/http_request.h"
#include "service/blob/copy.h"

/* What a copy is to.  `change` is what the request has said of its destination. */
struct copy_job_kind {
    /* The source has answered, with a length: add to the change what it is, and make the step that
       is used from then on, in the arena.  An error refuses the request. */
    enum err (*understand)(struct http_request *request, void *change,
                           const struct http_fetch *fetch, struct arena *arena,
                           struct copy_step **step);
    /* Make the destination a pending copy; `done` is called once. */
    void (*begin)(struct service *service, void *change, void (*done)(void *arg, enum err err),
                  void *arg);
    /* It is one: what is known now, for the step.  NULL: nothing. */
    void (*begun)(const void *change, struct copy_step *step);
    void (*step)(struct service *service, struct copy_step *step);
};

/*
 * Start a copy for a request that is running; request_done is called when the copy has begun, or
 * when it cannot.  `change` is the request's: the destination is filled in.
 */
void copy_job_start(struct http_request *request, const struct copy_source *source,
                    const struct copy_job_kind *kind, void *change);

/* What the answer of a source says it is, in the arena; what is no blob counts as a block blob. */
enum blob_type copy_answer_type(const struct http_message *answer);
void copy_read_answer(struct arena *arena, const struct http_message *answer,
                      struct blob_properties *properties, struct metadata *metadata);

/* The same for the destination of a job: metadata only if it has none.
   ERR_COPY_SOURCE_UNREACHABLE for properties that this server could not keep. */
MUST_CHECK enum err copy_take_answer(struct arena *arena, const struct http_message *answer,
                                     struct blob_properties *properties, struct metadata *metadata);

#endif
