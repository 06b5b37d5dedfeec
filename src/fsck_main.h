/*
 * fsck_main.h - `zaffre fsck`: check a data directory that no server uses (service/blob/fsck.h).
 *
 *   zaffre fsck [--location DIR]
 *
 * Prints a line for each finding, then a summary.  Exit status: 0 clean, 1 there are findings, 2
 * nothing was checked (a wrong command line, no data directory, or a server that uses it).
 */
#ifndef FSCK_MAIN_H
#define FSCK_MAIN_H

/* `argv[1]` is "fsck".  Returns the exit status. */
int fsck_main(int argc, char *argv[]);

#endif
