/*
 * load_fail.h - how the load generator fails: at once, with a message.  Half a measurement is none.
 */
#ifndef BENCH_LOAD_FAIL_H
#define BENCH_LOAD_FAIL_H

/* End the process with a message. */
void load_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
