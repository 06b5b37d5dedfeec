/*
 * copy_job.h - a copy from elsewhere that goes on after its request was answered.
 *
 *   request_run    the fetch begins
 *   headers        copy_begin; when it is durable, the request is answered: the copy is pending
 *   body           into a payload; copy_step now and then
 *   end            copy_step with the payload, or with why it failed
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

/*
 * Start a copy for a request that is running; request_done is called when the copy has begun, or
 * when it cannot.  `change` is the request's: the destination is filled in.
 */
void copy_job_start(struct http_request *request, const struct copy_source *source,
                    struct copy_change *change);

/* What the answer of a source says it is, in the arena; what is no blob counts as a block blob. */
enum blob_type copy_answer_type(const struct http_message *answer);
void copy_read_answer(struct arena *arena, const struct http_message *answer,
                      struct blob_properties *properties, struct metadata *metadata);

#endif
