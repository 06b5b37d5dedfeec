#include "partition/memory/tree.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "partition/heap.h"

/*
 * Reference counts: taking one is relaxed, since whoever takes it holds one already.  Dropping
 * releases, and the thread that drops the last acquires, so every use by others happens before
 * the free.
 */
struct tree_entry {
    atomic_uint refs;
    uint32_t priority;
    size_t key_len;
    size_t value_len;
    char bytes[]; /* the key, then the value */
};

struct tree {
    atomic_uint refs;
    struct tree_entry *entry; /* a reference */
    struct tree *left;        /* keys before, priorities not higher; a reference or NULL */
    struct tree *right;       /* keys after, priorities not higher; a reference or NULL */
};

/* FNV-1a with a final mix: neighbouring keys get unrelated priorities. */
static uint32_t priority_of(struct slice key)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < key.len; i++)
        hash = (hash ^ (uint8_t)key.data[i]) * UINT64_C(1099511628211);
    hash ^= hash >> 32;
    hash *= UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)(hash >> 32);
}

struct tree_entry *tree_entry_new(struct slice key, struct slice value)
{
    assert(key.len > 0);
    struct tree_entry *entry = heap_new(sizeof(*entry) + key.len + value.len);
    atomic_init(&entry->refs, 1);
    entry->priority = priority_of(key);
    entry->key_len = key.len;
    entry->value_len = value.len;
    memcpy(entry->bytes, key.data, key.len);
    if (value.len > 0)
        memcpy(entry->bytes + key.len, value.data, value.len);
    return entry;
}

struct tree_entry *tree_entry_ref(struct tree_entry *entry)
{
    atomic_fetch_add_explicit(&entry->refs, 1, memory_order_relaxed);
    return entry;
}

void tree_entry_unref(struct tree_entry *entry)
{
    if (atomic_fetch_sub_explicit(&entry->refs, 1, memory_order_acq_rel) == 1)
        free(entry);
}

struct slice tree_entry_key(const struct tree_entry *entry)
{
    return slice_make(entry->bytes, entry->key_len);
}

struct slice tree_entry_value(const struct tree_entry *entry)
{
    return slice_make(entry->bytes + entry->key_len, entry->value_len);
}

/* Takes over the references `left` and `right`, and takes one of its own to `entry`. */
static struct tree *tree_new(struct tree *left, struct tree_entry *entry, struct tree *right)
{
    struct tree *tree = heap_new(sizeof(*tree));
    atomic_init(&tree->refs, 1);
    tree->entry = tree_entry_ref(entry);
    tree->left = left;
    tree->right = right;
    return tree;
}

struct tree *tree_ref(struct tree *tree)
{
    if (tree != NULL)
        atomic_fetch_add_explicit(&tree->refs, 1, memory_order_relaxed);
    return tree;
}

void tree_unref(struct tree *tree)
{
    /* Recursion is as deep as the tree on the left and a loop on the right. */
    while (tree != NULL && atomic_fetch_sub_explicit(&tree->refs, 1, memory_order_acq_rel) == 1) {
        struct tree *right = tree->right;
        tree_unref(tree->left);
        tree_entry_unref(tree->entry);
        free(tree);
        tree = right;
    }
}

static int compare_key(struct slice key, const struct tree *tree)
{
    return slice_compare(key, tree_entry_key(tree->entry));
}

/* What lies before `key` and what lies after; `key` itself is not in the tree. */
static void tree_split(struct tree *tree, struct slice key, struct tree **before,
                       struct tree **after)
{
    if (tree == NULL) {
        *before = NULL;
        *after = NULL;
        return;
    }
    const int order = compare_key(key, tree);
    assert(order != 0);
    struct tree *middle;
    if (order < 0) {
        tree_split(tree->left, key, before, &middle);
        *after = tree_new(middle, tree->entry, tree_ref(tree->right));
    } else {
        tree_split(tree->right, key, &middle, after);
        *before = tree_new(tree_ref(tree->left), tree->entry, middle);
    }
}

/* One tree of two, where all keys of `before` come before those of `after`. */
static struct tree *tree_join(struct tree *before, struct tree *after)
{
    if (before == NULL)
        return tree_ref(after);
    if (after == NULL)
        return tree_ref(before);
    if (before->entry->priority >= after->entry->priority)
        return tree_new(tree_ref(before->left), before->entry, tree_join(before->right, after));
    return tree_new(tree_join(before, after->left), after->entry, tree_ref(after->right));
}

static struct tree *tree_put(struct tree *tree, struct tree_entry *entry)
{
    if (tree == NULL)
        return tree_new(NULL, entry, NULL);
    /* Equal keys have equal priorities, so a key of higher priority is not in this subtree. */
    if (entry->priority > tree->entry->priority) {
        struct tree *before;
        struct tree *after;
        tree_split(tree, tree_entry_key(entry), &before, &after);
        return tree_new(before, entry, after);
    }
    const int order = compare_key(tree_entry_key(entry), tree);
    if (order == 0)
        return tree_new(tree_ref(tree->left), entry, tree_ref(tree->right));
    if (order < 0)
        return tree_new(tree_put(tree->left, entry), tree->entry, tree_ref(tree->right));
    return tree_new(tree_ref(tree->left), tree->entry, tree_put(tree->right, entry));
}

/* `key` is in the tree. */
static struct tree *tree_remove(struct tree *tree, struct slice key)
{
    assert(tree != NULL);
    const int order = compare_key(key, tree);
    if (order == 0)
        return tree_join(tree->left, tree->right);
    if (order < 0)
        return tree_new(tree_remove(tree->left, key), tree->entry, tree_ref(tree->right));
    return tree_new(tree_ref(tree->left), tree->entry, tree_remove(tree->right, key));
}

struct tree *tree_apply(struct tree *tree, struct tree_entry *entry)
{
    if (entry->value_len > 0)
        return tree_put(tree, entry);
    const struct slice key = tree_entry_key(entry);
    return tree_find(tree, key) == NULL ? tree_ref(tree) : tree_remove(tree, key);
}

struct tree_entry *tree_find(const struct tree *tree, struct slice key)
{
    while (tree != NULL) {
        const int order = compare_key(key, tree);
        if (order == 0)
            return tree->entry;
        tree = order < 0 ? tree->left : tree->right;
    }
    return NULL;
}

struct tree_entry *tree_find_from(const struct tree *tree, struct slice key)
{
    struct tree_entry *found = NULL;
    while (tree != NULL) {
        if (compare_key(key, tree) <= 0) {
            found = tree->entry;
            tree = tree->left;
        } else {
            tree = tree->right;
        }
    }
    return found;
}

/* The keys of the subtree lie between `low` and `high`, both exclusive; NULL is no bound. */
static void subtree_assert(const struct tree *tree, const struct tree_entry *low,
                           const struct tree_entry *high)
{
    if (tree == NULL)
        return;
    assert(atomic_load(&tree->refs) > 0);
    assert(tree->entry->value_len > 0);
    assert(low == NULL || compare_key(tree_entry_key(low), tree) < 0);
    assert(high == NULL || compare_key(tree_entry_key(high), tree) > 0);
    assert(tree->left == NULL || tree->left->entry->priority <= tree->entry->priority);
    assert(tree->right == NULL || tree->right->entry->priority <= tree->entry->priority);
    subtree_assert(tree->left, low, tree->entry);
    subtree_assert(tree->right, tree->entry, high);
}

void tree_assert(const struct tree *tree)
{
    subtree_assert(tree, NULL, NULL);
}
