/*
 * tree.h - a persistent ordered map: changing it makes a new tree that shares what it can with
 * the old one, which stays as it was for whoever holds it.
 *
 * A tree is named by its root node, NULL when it is empty.  Roots are REFCOUNTED; any thread may
 * read a tree it holds, and take or drop references, without a lock.  Nodes and entries are never
 * changed once they are made.
 *
 * It is a treap whose priorities are hashes of the keys, so the shape depends on the set of keys
 * alone and is about log n deep whatever the order they came in.
 */
#ifndef PARTITION_MEMORY_TREE_H
#define PARTITION_MEMORY_TREE_H

#include <stdint.h>

#include "base/slice.h"

struct tree;

/* A key and its value; immutable.  An entry without value stands for a removal. */
struct tree_entry;

/* Copies both; the caller holds one reference. */
struct tree_entry *tree_entry_new(struct slice key, struct slice value);
struct tree_entry *tree_entry_ref(struct tree_entry *entry);
void tree_entry_unref(struct tree_entry *entry);
struct slice tree_entry_key(const struct tree_entry *entry);
struct slice tree_entry_value(const struct tree_entry *entry);

/* NULL is fine for both. */
struct tree *tree_ref(struct tree *tree);
void tree_unref(struct tree *tree);

/*
 * A tree like `tree` with the entry's key set to its value, or removed if it has none.  The
 * caller holds a reference to the result; `tree` and `entry` are borrowed.
 */
struct tree *tree_apply(struct tree *tree, struct tree_entry *entry);

/* Borrowed from the tree; NULL if there is none. */
struct tree_entry *tree_find(const struct tree *tree, struct slice key);

/* The first entry whose key is not before `key`; borrowed; NULL past the last. */
struct tree_entry *tree_find_from(const struct tree *tree, struct slice key);

/* The order of keys and priorities holds in the whole tree; walks all of it. */
void tree_assert(const struct tree *tree);

#endif
