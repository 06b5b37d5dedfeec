/*
 * fsck_main.h - `zaffre fsck`: check a data directory that no server uses (service/blob/fsck.h).
 *
 *   zaffre fsck [--location DIR] [--repair]
 *
 * Prints a line for each finding, then a summary.  With --repair, what can be derived again is
 * (service/repair.h), and the data is checked once more.  Exit status: 0 clean, in the end; 1 there
 * are findings, or there are some left; 2 nothing was checked (a wrong command line, no data
 * directory, or a server that uses it).
 */
#ifndef FSCK_MAIN_H
#define FSCK_MAIN_H

#include <stdint.h>

/* `argv[1]` is "fsck".  Returns the exit status. */
int fsck_main(int argc, char *argv[]);

/*
 * Check the store in a directory that nobody uses, and print findings and a summary, as `zaffre
 * fsck` does.  A store that cannot be opened is a finding.  Returns how many there are.
 */
uint64_t fsck_check_path(const char *path);

#endif
