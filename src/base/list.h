/*
 * list.h - a doubly linked list through the items themselves.
 *
 * An item embeds a `struct list_link` for each list it may be in, and comes back from it by
 * LIST_ITEM.  Nothing is allocated, and whoever holds an item takes it out at once:
 *
 *     struct open { struct list_link in_file; ... };
 *     list_add_last(&file->opens, &open->in_file);
 *     list_for_each (link, &file->opens)
 *         look_at(LIST_ITEM(link, struct open, in_file));
 *
 * Not thread-safe.  A list is set up by list_init; a link of all zero bytes is in no list.
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

struct list_link {
    struct list_link *previous; /* both NULL while it is in no list */
    struct list_link *next;
};

struct list {
    struct list_link ends; /* next is the first, previous the last; itself when empty */
};

/* The item of `type` whose `member` is `link`. */
#define LIST_ITEM(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

/* These two declare their first arguments, which cannot be in parentheses.
   NOLINTBEGIN(bugprone-macro-parentheses) */

/* `link` runs over the list; it must stay in the list until the next step. */
#define list_for_each(link, list)                                                                  \
    for (struct list_link *link = (list)->ends.next; link != &(list)->ends; link = link->next)

/* The same where `link` may be taken out, and freed, in its step. */
#define list_for_each_safe(link, after, list)                                                      \
    for (struct list_link *link = (list)->ends.next, *after = link->next; link != &(list)->ends;   \
         link = after, after = link->next)

/* NOLINTEND(bugprone-macro-parentheses) */

static inline void list_init(struct list *list)
{
    list->ends.previous = &list->ends;
    list->ends.next = &list->ends;
}

static inline bool list_is_empty(const struct list *list)
{
    return list->ends.next == &list->ends;
}

/* Whether the link is in a list. */
static inline bool list_link_is_used(const struct list_link *link)
{
    return link->next != NULL;
}

static inline void list_add_last(struct list *list, struct list_link *link)
{
    assert(link->next == NULL);
    link->next = &list->ends;
    link->previous = list->ends.previous;
    link->previous->next = link;
    list->ends.previous = link;
}

/* Out of whichever list it is in. */
static inline void list_remove(struct list_link *link)
{
    assert(link->next != NULL);
    link->previous->next = link->next;
    link->next->previous = link->previous;
    *link = (struct list_link){ 0 };
}

/* The first link, taken out; NULL when there is none. */
static inline struct list_link *list_take_first(struct list *list)
{
    if (list_is_empty(list))
        return NULL;
    struct list_link *first = list->ends.next;
    list_remove(first);
    return first;
}

#endif
