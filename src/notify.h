/*
 * notify.h - telling the service manager how we are, in the protocol of systemd's Type=notify: a
 * datagram of NAME=value lines to the socket that the environment names.
 */
#ifndef NOTIFY_H
#define NOTIFY_H

/* Send `state`, for example "READY=1".  Nothing happens when nobody asked to be told. */
void notify_manager(const char *state);

#endif
