#include "service/file/share_mode.h"

#include <assert.h>

static bool is_within(unsigned access, unsigned share)
{
    return (access & ~share) == 0;
}

bool share_modes_conflict(struct share_mode a, struct share_mode b)
{
    assert(is_within(a.access | a.share | b.access | b.share, FILE_ACCESS_ALL));
    if (a.access == FILE_ACCESS_NONE || b.access == FILE_ACCESS_NONE)
        return false;
    return !is_within(a.access, b.share) || !is_within(b.access, a.share);
}
