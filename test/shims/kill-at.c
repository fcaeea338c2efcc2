/* Preloaded into a process: ends it with SIGKILL right before its $KILL_AT-th change of a file whose path contains $KILL_PATH, which
   is a write, a sync, a truncation, a rename, a link, a removal or a new folder. Changes of -shm files and lock files are not counted:
   their content does not outlive a process. With $KILL_LOG, each change is appended there as a line "NUMBER CALL PATH". With
   $KILL_FROM, counting begins once that file exists. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_int seen;

static int ends_with(const char *path, const char *ending) {
  size_t length = strlen(path), end = strlen(ending);
  return length >= end && !strcmp(path + length - end, ending);
}

static void log_change(const char *file, int number, const char *call, const char *path) {
  static ssize_t (*real)(int, const void *, size_t);
  if (!real) real = dlsym(RTLD_NEXT, "write");
  char line[4400];
  int size = snprintf(line, sizeof line, "%d %s %s\n", number, call, path);
  int log = open(file, O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (log < 0 || real(log, line, size) < 0) abort();
  close(log);
}

static void before(const char *call, const char *path) {
  const char *match = getenv("KILL_PATH"), *from = getenv("KILL_FROM"), *log = getenv("KILL_LOG"), *at = getenv("KILL_AT");
  if (!match || !strstr(path, match) || ends_with(path, "-shm") || ends_with(path, ".lock")) return;
  if (from && access(from, F_OK)) return;
  int number = atomic_fetch_add(&seen, 1) + 1;
  if (log) log_change(log, number, call, path);
  if (at && atoi(at) == number) kill(getpid(), SIGKILL);
}

static void before_on(const char *call, int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return;
  path[length] = 0;
  before(call, path);
}

#define CHANGE(result, name, parameters, arguments, notice) \
  result name parameters {                                  \
    static result(*real) parameters;                        \
    if (!real) real = dlsym(RTLD_NEXT, #name);              \
    notice;                                                 \
    return real arguments;                                  \
  }
CHANGE(ssize_t, write, (int fd, const void *b, size_t n), (fd, b, n), before_on("write", fd))
CHANGE(ssize_t, writev, (int fd, const struct iovec *v, int n), (fd, v, n), before_on("write", fd))
CHANGE(ssize_t, pwrite, (int fd, const void *b, size_t n, off_t o), (fd, b, n, o), before_on("write", fd))
CHANGE(ssize_t, pwrite64, (int fd, const void *b, size_t n, off64_t o), (fd, b, n, o), before_on("write", fd))
CHANGE(int, fsync, (int fd), (fd), before_on("sync", fd))
CHANGE(int, fdatasync, (int fd), (fd), before_on("sync", fd))
CHANGE(int, ftruncate, (int fd, off_t l), (fd, l), before_on("truncate", fd))
CHANGE(int, ftruncate64, (int fd, off64_t l), (fd, l), before_on("truncate", fd))
CHANGE(int, unlink, (const char *p), (p), before("remove", p))
CHANGE(int, rename, (const char *a, const char *b), (a, b), before("rename", b))
CHANGE(int, link, (const char *a, const char *b), (a, b), before("link", b))
CHANGE(int, mkdir, (const char *p, mode_t m), (p, m), before("mkdir", p))
