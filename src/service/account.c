/*
 * account.c - reading the list of accounts, and finding one of them.
 *
 * Accounts stay in the order they were given; `by_name` is an index over them for the search that
 * every request makes.
 */
#include "service/account.h"

#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/encoding.h"
#include "base/log.h"

struct account_list {
    size_t count;
    struct account *accounts;       /* `count` of them, in the order given */
    const struct account **by_name; /* the same, sorted by name in any case */
};

/* --- reading --- */

/* Cut the part before the first `separator` off `*rest`, trimmed; `*rest` is what follows it. */
static struct slice account_cut(struct slice *rest, char separator)
{
    const size_t len = slice_find_byte(*rest, separator);
    const struct slice part = slice_trim(slice_head(*rest, len));
    *rest = slice_from(*rest, len + 1);
    return part;
}

static bool account_name_is_valid(struct slice name)
{
    if (name.len == 0 || name.len > LIMIT_ACCOUNT_NAME_MAX)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        const char c = name.data[i];
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        const bool digit = c >= '0' && c <= '9';
        if (!letter && !digit && c != '-' && c != '_' && c != '.')
            return false;
    }
    return true;
}

/* Such a name would be taken for the secondary endpoint of another account. */
static bool account_name_looks_secondary(struct slice name)
{
    static const struct slice suffix = SLICE_LITERAL("-secondary");
    return name.len >= suffix.len &&
           slice_equal_nocase(slice_from(name, name.len - suffix.len), suffix);
}

static enum err account_add_key(struct account *account, struct slice text, const char **fault)
{
    if (account->key_count == ACCOUNT_KEYS_MAX) {
        *fault = "an account has more than two keys";
        return ERR_MALFORMED;
    }
    struct arena arena = { 0 };
    struct slice secret = { 0 };
    const enum err err = base64_decode(&arena, text, &secret);
    if (err == OK && secret.len > 0) {
        digest_hmac_key_init(&account->keys[account->key_count++], secret);
        /* Base64 is canonical, so equal texts are equal keys. */
        if (slice_is(text, ACCOUNT_WELL_KNOWN_KEY))
            account->has_well_known_key = true;
    }
    arena_release(&arena);
    if (err != OK || secret.len == 0) {
        *fault = "an account's key is not in base64";
        return ERR_MALFORMED;
    }
    return OK;
}

/* One `name:key1[:key2]`. */
static enum err account_read(struct slice text, struct account *account, const char **fault)
{
    const struct slice name = account_cut(&text, ':');
    if (!account_name_is_valid(name)) {
        *fault = "an account's name is empty, too long, or has characters it may not have";
        return ERR_MALFORMED;
    }
    if (account_name_looks_secondary(name)) {
        *fault = "an account's name ends in -secondary, which names a secondary endpoint";
        return ERR_MALFORMED;
    }
    if (text.len == 0) {
        *fault = "an account has no key";
        return ERR_MALFORMED;
    }
    memcpy(account->name, name.data, name.len);
    account->name[name.len] = '\0';
    while (text.len > 0) {
        const enum err err = account_add_key(account, account_cut(&text, ':'), fault);
        if (err != OK)
            return err;
    }
    return OK;
}

static int account_compare(const void *a, const void *b)
{
    const struct account *const *left = a;
    const struct account *const *right = b;
    return strcasecmp((*left)->name, (*right)->name);
}

static enum err account_list_index(struct account_list *list, const char **fault)
{
    for (size_t i = 0; i < list->count; i++)
        list->by_name[i] = &list->accounts[i];
    qsort(list->by_name, list->count, sizeof(list->by_name[0]), account_compare);
    for (size_t i = 1; i < list->count; i++) {
        if (account_compare(&list->by_name[i - 1], &list->by_name[i]) == 0) {
            *fault = "two accounts have the same name";
            return ERR_MALFORMED;
        }
    }
    return OK;
}

static enum err account_list_read(struct account_list *list, struct slice spec, const char **fault)
{
    while (spec.len > 0) {
        const struct slice entry = account_cut(&spec, ';');
        /* A semicolon at the end is common and harmless. */
        if (entry.len == 0)
            continue;
        if (list->count == LIMIT_ACCOUNTS_MAX) {
            *fault = "there are more accounts than the server serves";
            return ERR_MALFORMED;
        }
        const enum err err = account_read(entry, &list->accounts[list->count], fault);
        if (err != OK)
            return err;
        list->count++;
    }
    if (list->count == 0) {
        *fault = "the list names no account";
        return ERR_MALFORMED;
    }
    return account_list_index(list, fault);
}

static void *account_list_alloc(size_t count, size_t size_bytes)
{
    void *memory = calloc(count, size_bytes);
    if (memory == NULL)
        panic("no memory for %zu accounts", count);
    return memory;
}

/* An upper bound on the accounts in the list: one more than its semicolons. */
static size_t account_list_bound(struct slice spec)
{
    size_t bound = 1;
    for (size_t i = 0; i < spec.len && bound < LIMIT_ACCOUNTS_MAX; i++)
        bound += spec.data[i] == ';';
    return bound;
}

enum err account_list_new(const char *spec, struct account_list **list, const char **fault)
{
    assert(list != NULL);
    assert(fault != NULL);
    struct slice text = slice_trim(slice_of(spec));
    if (text.len == 0)
        text = slice_of(ACCOUNT_WELL_KNOWN_NAME ":" ACCOUNT_WELL_KNOWN_KEY);
    const size_t bound = account_list_bound(text);
    struct account_list *result = account_list_alloc(1, sizeof(*result));
    result->accounts = account_list_alloc(bound, sizeof(result->accounts[0]));
    result->by_name = account_list_alloc(bound, sizeof(result->by_name[0]));
    const enum err err = account_list_read(result, text, fault);
    if (err != OK) {
        account_list_free(result);
        return err;
    }
    *list = result;
    return OK;
}

void account_list_free(struct account_list *list)
{
    if (list == NULL)
        return;
    free(list->accounts);
    free(list->by_name);
    free(list);
}

/* --- using --- */

/* The order of strcasecmp between a slice and a name. */
static int account_compare_name(struct slice name, const char *other)
{
    const size_t other_len = strlen(other);
    const size_t shorter = name.len < other_len ? name.len : other_len;
    const int order = shorter == 0 ? 0 : strncasecmp(name.data, other, shorter);
    return order != 0 ? order : (name.len > other_len) - (name.len < other_len);
}

const struct account *account_find(const struct account_list *list, struct slice name)
{
    /* strncasecmp would take two NUL bytes for the end of equal names. */
    if (slice_find_byte(name, '\0') < name.len)
        return NULL;
    size_t low = 0;
    size_t high = list->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = account_compare_name(name, list->by_name[middle]->name);
        if (order == 0)
            return list->by_name[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

bool account_list_has_well_known_key(const struct account_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->accounts[i].has_well_known_key)
            return true;
    }
    return false;
}

size_t account_list_count(const struct account_list *list)
{
    return list->count;
}

const struct account *account_list_get(const struct account_list *list, size_t index)
{
    assert(index < list->count);
    return &list->accounts[index];
}
