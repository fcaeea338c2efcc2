/* Preloaded into a service: writes a line "THREAD PATH" into $SYNC_LOG for every sync, and fails those of files whose path
   ends in $FAIL_SUFFIX while the file $FAIL_WHEN exists, with the error number $FAIL_ERRNO or EIO. With $FAIL_ONCE only the
   first of them, as Linux reports a failed write-back. With $HANG they wait until that file is gone, for at least 10 ms, and
   then sync. The line is written once it is decided what becomes of the sync. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int has_fault(const char *path, size_t length) {
  const char *suffix = getenv("FAIL_SUFFIX"), *when = getenv("FAIL_WHEN");
  if (!suffix || !when || access(when, F_OK)) return 0;
  size_t end = strlen(suffix);
  if (length < end || strcmp(path + length - end, suffix)) return 0;
  return !getenv("FAIL_ONCE") || !unlink(when);
}

static int watched(int fd) {
  char link[64], path[4096], line[4224];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  int fault = has_fault(path, length);
  const char *log = getenv("SYNC_LOG");
  if (log) {
    int file = open(log, O_WRONLY | O_APPEND | O_CREAT, 0600);
    int size = snprintf(line, sizeof line, "%ld %s\n", (long)syscall(SYS_gettid), path);
    if (file >= 0 && write(file, line, size) < 0) abort();
    close(file);
  }
  return fault;
}

static int fail(void) {
  const char *number = getenv("FAIL_ERRNO");
  errno = number ? atoi(number) : EIO;
  return -1;
}

#define SYNC(name)                                       \
  int name(int fd) {                                     \
    static int (*real)(int);                             \
    if (!real) real = dlsym(RTLD_NEXT, #name);           \
    if (watched(fd)) {                                   \
      if (!getenv("HANG")) return fail();                \
      do usleep(10000);                                  \
      while (!access(getenv("FAIL_WHEN"), F_OK));        \
    }                                                    \
    return real(fd);                                     \
  }
SYNC(fsync)
SYNC(fdatasync)
