/*
 * clock.c - a clock that a test holds in its hand.
 *
 * Preloaded into the server (LD_PRELOAD), this answers for the system's wall clock.  The file that
 * ZAFFRE_TEST_CLOCK names holds one number of 8 bytes, in the machine's order: nanoseconds since
 * 1970, at which the clock stands until the test writes another, or 0 for the real time.  The file
 * is mapped, so what the test writes holds at once and for every thread.
 *
 * Clocks that measure spans are left alone: waiting is real.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_SEC INT64_C(1000000000)

typedef int clock_gettime_fn(clockid_t clock_id, struct timespec *tp);

static clock_gettime_fn *system_clock; /* set before main, then constant */
static const _Atomic int64_t *standing_ns;

static _Noreturn void die(const char *what)
{
    perror(what);
    _exit(70);
}

__attribute__((constructor)) static void clock_open(void)
{
    /* The form that POSIX gives for turning dlsym's pointer into a function. */
    *(void **)&system_clock = dlsym(RTLD_NEXT, "clock_gettime");
    const char *path = getenv("ZAFFRE_TEST_CLOCK");
    if (path == NULL)
        return;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        die(path);
    void *mapped = mmap(NULL, sizeof *standing_ns, PROT_READ, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED)
        die(path);
    close(file);
    standing_ns = mapped;
}

int clock_gettime(clockid_t clock_id, struct timespec *tp)
{
    if (system_clock == NULL) /* another library's constructor came first */
        *(void **)&system_clock = dlsym(RTLD_NEXT, "clock_gettime");
    const int64_t now = standing_ns == NULL ? 0 : atomic_load(standing_ns);
    if (clock_id != CLOCK_REALTIME || now == 0)
        return system_clock(clock_id, tp);
    *tp = (struct timespec){ .tv_sec = now / NS_PER_SEC, .tv_nsec = now % NS_PER_SEC };
    return 0;
}
