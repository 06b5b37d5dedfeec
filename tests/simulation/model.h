/*
 * model.h - what the models of several services have in common: leases, conditions, bytes.
 *
 * Written from the reference and not from the service's code, and as simple as can be: a lease here
 * is a few facts and a question about an instant.
 */
#ifndef TESTS_SIMULATION_MODEL_H
#define TESTS_SIMULATION_MODEL_H

#include "service/blob/container.h"
#include "service/condition.h"
#include "service/lease.h"
#include "sim.h"

/* --- bytes: pieces that follow from a number --- */

struct model_piece {
    uint64_t seed;
    uint32_t length_bytes;
};

/* A size on either side of the limits, not 0. */
uint32_t model_size(struct sim *sim);

/* --- leases --- */

enum {
    MODEL_LEASE_IDS = 3, /* 1 to this many; 0: none */
};

struct uuid model_lease_id(unsigned number);

/* A value; all zero bytes is AVAILABLE. */
struct model_lease {
    unsigned id; /* 0: AVAILABLE */
    bool is_broken;
    int32_t duration_sec;
    int64_t ends_at_ms; /* INT64_MAX: never */
};

enum lease_state model_lease_state(const struct model_lease *lease, int64_t now_ms);
bool model_lease_is_locked(const struct model_lease *lease, int64_t now_ms);

/* A random action; `*id` and `*proposed` are the numbers of its ids. */
struct lease_request model_lease_request(struct sim *sim, unsigned *id, unsigned *proposed);

/* What the action does, in the model. */
enum err model_lease_act(struct model_lease *lease, const struct lease_request *request,
                         unsigned id, unsigned proposed, int64_t now_ms, int32_t *remaining_sec);

/* May a request with lease `id` (0: none) change or read the resource? */
enum err model_lease_write(const struct model_lease *lease, enum lease_resource resource,
                           unsigned id, int64_t now_ms);
enum err model_lease_read(const struct model_lease *lease, enum lease_resource resource,
                          unsigned id, int64_t now_ms);
void model_lease_written(struct model_lease *lease, int64_t now_ms);

/* The service says this of the lease. */
bool model_lease_is_same(const struct model_lease *lease, const struct lease *got, int64_t now_ms);

/* --- conditions --- */

enum model_condition_kind {
    MODEL_ALWAYS,
    MODEL_MATCH,
    MODEL_MATCH_ANY,
    MODEL_NONE_MATCH,
    MODEL_NONE_MATCH_ANY,
    MODEL_MODIFIED_SINCE,
    MODEL_UNMODIFIED_SINCE,
};

struct model_condition {
    enum model_condition_kind kind;
    int64_t value;
};

/* A random one, often about `etag`. */
struct model_condition model_condition(struct sim *sim, int64_t etag);
struct condition model_condition_request(const struct model_condition *condition);

/* Whether it holds.  `etag` is 0 if there is no resource. */
bool model_condition_holds(const struct model_condition *condition, int64_t etag);
enum err model_condition_write(const struct model_condition *condition, int64_t etag);
enum err model_condition_replace(const struct model_condition *condition, int64_t etag,
                                 bool holds_lease);
enum err model_condition_read(const struct model_condition *condition, int64_t etag);

/* --- metadata: a number under one name; 0: none --- */

struct metadata model_metadata(struct arena *arena, unsigned number);
bool model_metadata_is(const struct metadata *metadata, unsigned number);

#endif
