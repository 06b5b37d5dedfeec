#include "service/file/byte_lock.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "partition/heap.h"

bool byte_range_is_valid(struct byte_range range)
{
    return range.length == 0 || range.offset <= UINT64_MAX - (range.length - 1);
}

bool byte_ranges_overlap(struct byte_range a, struct byte_range b)
{
    assert(byte_range_is_valid(a));
    assert(byte_range_is_valid(b));
    /* A range of length zero at 0 has no byte before it, so nothing has it inside. */
    if ((a.offset == 0 && a.length == 0) || (b.offset == 0 && b.length == 0))
        return false;
    /* For length zero the last byte is the one before the range. */
    const uint64_t a_last = a.offset + (a.length - 1);
    const uint64_t b_last = b.offset + (b.length - 1);
    return a.offset <= b_last && b.offset <= a_last;
}

/* Reading and writing no bytes is no use of the file, unlike a lock of length zero. */
static bool is_vain(struct byte_range range, enum byte_use use)
{
    return use == BYTE_USE_NONE ||
           (range.length == 0 && (use == BYTE_USE_READ || use == BYTE_USE_WRITE));
}

bool byte_lock_blocks(const struct byte_lock *lock, uint64_t owner, struct byte_range range,
                      enum byte_use use)
{
    assert(lock->owner != BYTE_LOCK_OWNER_NONE);
    if (is_vain(range, use) || !byte_ranges_overlap(lock->range, range))
        return false;
    if (lock->exclusive)
        return lock->owner != owner || use == BYTE_USE_LOCK_EXCLUSIVE;
    return use == BYTE_USE_WRITE || use == BYTE_USE_LOCK_EXCLUSIVE;
}

bool byte_lock_awaits(uint64_t owner, struct byte_range range, enum byte_use lock_use,
                      uint64_t user, struct byte_range used, enum byte_use use)
{
    assert(lock_use == BYTE_USE_LOCK_SHARED || lock_use == BYTE_USE_LOCK_EXCLUSIVE);
    const struct byte_lock lock = { range, owner, lock_use == BYTE_USE_LOCK_EXCLUSIVE };
    return byte_lock_blocks(&lock, user, used, use);
}

bool byte_lock_list_blocks(const struct byte_lock_list *list, uint64_t owner,
                           struct byte_range range, enum byte_use use)
{
    for (size_t i = 0; i < list->count; i++)
        if (byte_lock_blocks(&list->items[i], owner, range, use))
            return true;
    return false;
}

void byte_lock_list_add(struct byte_lock_list *list, const struct byte_lock *lock)
{
    assert(lock->owner != BYTE_LOCK_OWNER_NONE);
    assert(byte_range_is_valid(lock->range));
    if (list->count == list->capacity) {
        list->capacity = list->capacity == 0 ? 8 : list->capacity * 2;
        list->items = heap_resize(list->items, list->capacity, sizeof(*list->items));
    }
    list->items[list->count++] = *lock;
}

static bool is_on(const struct byte_lock *lock, uint64_t owner, struct byte_range range)
{
    return lock->owner == owner && lock->range.offset == range.offset &&
           lock->range.length == range.length;
}

enum err byte_lock_list_remove(struct byte_lock_list *list, uint64_t owner, struct byte_range range)
{
    size_t found = list->count;
    for (size_t i = 0; i < list->count; i++) {
        if (!is_on(&list->items[i], owner, range))
            continue;
        if (found == list->count || (list->items[i].exclusive && !list->items[found].exclusive))
            found = i;
    }
    if (found == list->count)
        return ERR_RANGE_NOT_LOCKED;
    list->count--;
    memmove(&list->items[found], &list->items[found + 1],
            (list->count - found) * sizeof(*list->items));
    return OK;
}

size_t byte_lock_list_remove_owner(struct byte_lock_list *list, uint64_t owner)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].owner != owner)
            list->items[kept++] = list->items[i];
    const size_t removed = list->count - kept;
    list->count = kept;
    return removed;
}

void byte_lock_list_release(struct byte_lock_list *list)
{
    free(list->items);
    *list = (struct byte_lock_list){ 0 };
}
