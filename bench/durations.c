#include "durations.h"

#include <stdlib.h>

#include "load_fail.h"

static void durations_add_us(struct durations *durations, uint32_t us)
{
    if (durations->count == durations->capacity) {
        durations->capacity = durations->capacity == 0 ? 4096 : 2 * durations->capacity;
        durations->us = realloc(durations->us, durations->capacity * sizeof *durations->us);
        if (durations->us == NULL)
            load_fail("no memory for the durations");
    }
    durations->us[durations->count++] = us;
}

void durations_add(struct durations *durations, uint64_t ns)
{
    durations_add_us(durations, (uint32_t)(ns / 1000));
}

void durations_move(struct durations *to, struct durations *from)
{
    for (size_t i = 0; i < from->count; i++)
        durations_add_us(to, from->us[i]);
    free(from->us);
    *from = (struct durations){ 0 };
}

static int compare_us(const void *a, const void *b)
{
    const uint32_t left = *(const uint32_t *)a;
    const uint32_t right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

void durations_sort(struct durations *durations)
{
    qsort(durations->us, durations->count, sizeof *durations->us, compare_us);
}
