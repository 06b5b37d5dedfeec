/*
 * account.h - the storage accounts this server serves, and their keys.
 *
 * Set up by main before threads start, constant afterwards; any thread may read.
 */
#ifndef SERVICE_ACCOUNT_H
#define SERVICE_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/slice.h"
#include "service/limits.h"

/* What every emulator of these services has, and every client knows. */
#define ACCOUNT_WELL_KNOWN_NAME "devstoreaccount1"
#define ACCOUNT_WELL_KNOWN_KEY                                                                     \
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

enum {
    ACCOUNT_KEYS_MAX = 2,
};

struct account {
    char name[LIMIT_ACCOUNT_NAME_MAX + 1];
    size_t key_count; /* 1 or 2 */
    struct digest_hmac_key keys[ACCOUNT_KEYS_MAX];
    bool has_well_known_key;
};

struct account_list;

/*
 * Read `name:key1[:key2];...`, the form of AZURITE_ACCOUNTS; keys are base64.  NULL or empty gives
 * the well-known account alone.  On ERR_MALFORMED `*fault` is a static sentence saying what is
 * wrong, without the key.
 */
MUST_CHECK enum err account_list_new(const char *spec, struct account_list **list,
                                     const char **fault);
void account_list_free(struct account_list *list);

/* The account of that name, or NULL; names are compared in any case. */
const struct account *account_find(const struct account_list *list, struct slice name);

/* Whether some account has the well-known key, which everybody knows. */
bool account_list_has_well_known_key(const struct account_list *list);

size_t account_list_count(const struct account_list *list);
const struct account *account_list_get(const struct account_list *list, size_t index);

#endif
