/*
 * open_timer.h - lets time pass for the table of opens.
 *
 * Nobody sleeps in the table: that a client did not acknowledge a break in time is noticed when
 * open_table_expire is called.  This is the thread of a server that calls it, several times a
 * second; what is waited for is seconds away, so it does not matter when exactly.  A request that
 * gives up is thus answered on this thread.
 */
#ifndef SERVICE_FILE_OPEN_TIMER_H
#define SERVICE_FILE_OPEN_TIMER_H

#include "base/error.h"
#include "service/file/open_table.h"

struct open_timer;

/* Start the thread; the table is kept.  ERR_IO if there can be no thread. */
MUST_CHECK enum err open_timer_new(struct open_table *table, struct open_timer **timer);

/* End the thread, and wait for it.  NULL is fine. */
void open_timer_free(struct open_timer *timer);

#endif
