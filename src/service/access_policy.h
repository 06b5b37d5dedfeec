/*
 * access_policy.h - stored access policies: conditions of service SAS that live with the resource,
 * so that changing or removing them changes or revokes every SAS that names them, at once.
 *
 * A value that owns nothing.
 */
#ifndef SERVICE_ACCESS_POLICY_H
#define SERVICE_ACCESS_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "base/strbuf.h"

enum {
    ACCESS_POLICIES_MAX = 5,       /* of a container, queue, table or share */
    ACCESS_POLICY_ID_LEN_MAX = 64, /* characters */
};

struct access_policy {
    struct slice id;
    int64_t start;           /* ticks; 0: not set */
    int64_t expiry;          /* ticks; 0: not set */
    struct slice permission; /* letters; empty: not set */
};

/* All zero bytes is "none". */
struct access_policies {
    size_t count;
    struct access_policy policies[ACCESS_POLICIES_MAX];
};

/* The policy of that id, or NULL. */
const struct access_policy *access_policies_find(const struct access_policies *policies,
                                                 struct slice id);

/* The stored form: one field of a row (service/row.h) per policy, under the given tag. */
void access_policies_encode(const struct access_policies *policies, struct strbuf *row,
                            uint64_t tag);

/* Add the policy in one such field's value; slices point into it.  ERR_CORRUPT. */
MUST_CHECK enum err access_policies_decode(struct access_policies *policies, struct slice value);

#endif
