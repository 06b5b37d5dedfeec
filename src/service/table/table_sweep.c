#include "service/table/table_sweep.h"

#include "base/arena.h"
#include "service/table/table_name.h"

enum err table_sweep_incarnation(const struct sweep *sweep, uint64_t incarnation)
{
    struct arena arena = { 0 };
    const struct slice partition = table_partition(&arena, incarnation);
    enum err err = sweep_close(sweep, partition);
    if (err == OK)
        err = sweep_rows(sweep, partition, "e");
    arena_release(&arena);
    return err;
}

enum err table_sweep_marked(const struct sweep *sweep, struct slice partition)
{
    (void)sweep;
    (void)partition;
    return OK;
}
