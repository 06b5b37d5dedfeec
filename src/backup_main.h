/*
 * backup_main.h - `zaffre backup` and `zaffre restore`.
 *
 *   zaffre backup  --to DIR [--location DIR] [--previous DIR] [--noCheck]
 *   zaffre restore --from DIR [--location DIR] [--noCheck] [--evenDamaged]
 *
 * A backup is made beside its place, in DIR.partial, checked as fsck does, and renamed when it is
 * whole and durable: DIR is a backup or not there.  A restored directory has its FORMAT last:
 * before that no server takes it.
 *
 * Exit status: 0 done; 1 done, but there are findings in the data; 2 not done.
 */
#ifndef BACKUP_MAIN_H
#define BACKUP_MAIN_H

/* `argv[1]` is "backup" or "restore".  Both return the exit status. */
int backup_main(int argc, char *argv[]);
int restore_main(int argc, char *argv[]);

#endif
