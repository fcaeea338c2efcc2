/* Preloaded into a service by the soak of power losses. Each fsync starts $SYNC_DELAY_US later, as on a slow disk. With
   $SKIP_BACKGROUND those of the WAL on other threads than the main one do nothing and report success, as if they were acknowledged
   before they are done. With $SKIP_UNTIL all of them do nothing until that file exists, as in a start that skips them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int isWal(int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  return length >= 4 && !memcmp(path + length - 4, "-wal", 4);
}

static int skips(int fd) {
  const char *until = getenv("SKIP_UNTIL");
  if (until && access(until, F_OK)) return 1;
  return getenv("SKIP_BACKGROUND") && syscall(SYS_gettid) != getpid() && isWal(fd);
}

#define SYNC(name)                                   \
  int name(int fd) {                                 \
    static int (*real)(int);                         \
    if (!real) real = dlsym(RTLD_NEXT, #name);       \
    if (skips(fd)) return 0;                         \
    const char *delay = getenv("SYNC_DELAY_US");     \
    if (delay) usleep(atoi(delay));                  \
    return real(fd);                                 \
  }
SYNC(fsync)
SYNC(fdatasync)
